"""This module supports allocators of one's own. They only decide which values to spill, and how to use the slots.

The rest is done here: virtual code, arguments and calls, stores behind definitions and reloads before uses, registers
for the other values, the slot pointer, slots and local words. The result is a plan like any other, and the checker
proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem

if TYPE_CHECKING:
    from binalloc.models.allocation.terms import Value
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.functions.registers import RegisterAllocation
    from binalloc.transform.spill.spill import Round
    from binalloc.transform.virtual.analysed import Analysed
    from binalloc.transform.virtual.contract import Contract
    from binalloc.transform.virtual.flat import Flat
    from binalloc.transform.virtual.room import Room


@dataclass(frozen=True)
class Crowd:
    """A crowd is a place in a function's code where more values live than there are registers."""

    item: int  #: the line of the code
    missing: int  #: registers that are missing there
    values: tuple[int, ...]  #: values that live there and would make room if spilled, ascending; never empty
    _flat: Flat = field(repr=False)

    def next_read(self, value: int) -> int:
        """Count the lines to the next one that reads a value, in the order of the code; behind the last line comes the
        first."""
        uses = self._flat.uses
        lines = (*range(self.item, len(uses)), *range(self.item))
        return next((distance for distance, k in enumerate(lines) if value in uses[k]), len(uses))


class DraftFunction:
    """A draft function is one function whose values need room in registers. Values are numbers; each is one register
    wide.

    name: of the function. registers: how many it may use.
    """

    def __init__(self, given: Analysed, available: int, contracts: Mapping[str, Contract]) -> None:
        self.name = given.code.function.name
        self.registers = available.bit_count()
        self._available, self._contracts = available, contracts
        self._given = self._now = given
        self._own = len(given.code.names)
        self._spilled: set[int] = set()
        self._slack = 0
        self._rounds: list[Round] = []

    def accesses(self, value: int) -> float:
        """Return how often a value is read and written in one run of the function, by its loops or a profile."""
        flat = self._given.flat
        lines = zip(flat.items, flat.defs, flat.uses, strict=True)
        return sum(item.weight * ((value in defs) + (value in uses)) for item, defs, uses in lines)

    def crowd(self) -> Crowd | None:
        """Return the first place with more values than registers, as the code now is. Return None if there is no such
        place where anything can be spilled."""
        from binalloc.transform.spill.find_regions import find_regions
        from binalloc.transform.virtual.room import call_sites

        flat, live = self._now.flat, self._now.live
        there = self._room()
        missing = there.pressure - (there.capacity - self._slack).clip(0)
        crowded = [point for point in range(len(missing)) if missing[point] > 0]
        if not crowded:
            return None
        sites = call_sites(flat, live, self._contracts)
        leave = [v < self._own and v not in self._spilled for v in range(len(self._now.code.names))]
        found = find_regions(flat, live, sites, leave)
        inside = {site.point: site.item for site in sites}
        for point in crowded:
            values = {
                found.value[r]
                for r, pieces in enumerate(found.points)
                if any(start <= point < end for start, end in pieces)
            }
            if values:
                return Crowd(inside.get(point, point // 2), int(missing[point]), tuple(sorted(values)), flat)
        return None

    def to_memory(self, *values: int) -> None:
        """Spill these values in all of the function: each is stored behind its definitions and loaded before its uses.
        Raises ValueError for a number that is no value, or is in memory already."""
        from binalloc.transform.allocate.functions.whole import round_to_memory

        wrong = [v for v in values if not (isinstance(v, int) and 0 <= v < self._own) or v in self._spilled]
        if wrong or not values:
            raise ValueError(f"{wrong[0] if wrong else 'nothing'}: no value of {self.name} that is in a register")
        self._now, done = round_to_memory(self._now, self._room(), self._contracts, values)
        self._rounds.append(done)
        self._spilled.update(values)

    def _room(self) -> Room:
        from binalloc.transform.virtual.room import call_sites, room

        flat, live = self._now.flat, self._now.live
        return room(flat, live, call_sites(flat, live, self._contracts), self._available)

    def _settled(self, make_room: Callable[[DraftFunction], None]) -> RegisterAllocation:
        """Return registers for the other values. If groups find no consecutive registers, more are left free.
        If even that does not help, parts of other values are spilled."""
        from binalloc.transform.allocate.functions.registers import SLACKS, NeedsMemory, allocate_registers

        for self._slack in SLACKS:
            make_room(self)
            try:
                found = allocate_registers(self._now, self._available, self._contracts, may_spill=False)
            except NeedsMemory:
                continue
            return replace(found, given=self._given, rounds=self._rounds)
        found = allocate_registers(self._now, self._available, self._contracts)
        return replace(found, given=self._given, rounds=self._rounds + found.rounds)


def draft_plan(
    problem: Problem,
    make_room: Callable[[DraftFunction], None],
    wants_slot: Callable[[DraftFunction, int], bool] | None = None,
) -> Plan:
    """Return the plan that follows from an allocator's decisions.

    Args:
        make_room: is called with every function that does not fit its registers, callees first, and sends values to
            memory until `crowd()` is None. It may be called again with the same function, where groups of registers
            want more room.
        wants_slot: says whether a value in memory may have a slot. Other values are in local memory, and so are values
            for which there is no slot. If it is None, all may have one.

    Raises:
        Infeasible: where the registers do not hold one instruction's operands.
    """
    from binalloc.transform.allocate.attempt import as_it_stands
    from binalloc.transform.allocate.memory_values import plan_memory
    from binalloc.transform.allocate.passing import allocate_passing

    drafts: dict[str, DraftFunction] = {}

    def spill(attempt: Attempt, name: str) -> RegisterAllocation:
        work = DraftFunction(attempt.virtual(name), attempt.registers_of(name), attempt.contracts)
        drafts[name] = work
        return work._settled(make_room)

    def candidate(name: str, value: Value) -> bool:
        return wants_slot is None or name not in drafts or bool(wants_slot(drafts[name], value))

    asked = problem.program, problem.registers, problem.slots
    attempt = allocate_passing(*asked, spill, fits=as_it_stands, far=problem.far)
    slots = problem.slots if attempt.pointer >= 0 else 0
    return Plan(attempt, plan_memory(attempt, problem.kernel, slots, "cost", candidate, layout=problem.layout))
