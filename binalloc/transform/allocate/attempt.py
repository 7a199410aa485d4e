"""This module allocates registers for every function of a call graph, callees first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import WebNumber
from binalloc.bitset import bits, mask_from
from binalloc.transform.allocate.functions.function import OneFunction, allocate_function
from binalloc.transform.allocate.functions.registers import (
    Infeasible,
    NeedsMemory,
    RegisterAllocation,
    SpillOptions,
    allocate_registers,
)
from binalloc.transform.allocate.functions.scratch import scratch_registers
from binalloc.transform.allocate.known import Callees, ResultStore, by_content, by_interface
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.spill.prices import LOCAL_COST, SLOT_COST, WISH, Prices
from binalloc.transform.virtual.analysed import Analysed, without_dead_copies
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.unwritten import unwritten
from binalloc.transform.virtual.virtualise import virtualise

MORE_THAN_BEFORE = 4
"""So many register counts, from the input's own upwards, are tried before the whole budget, since more registers than
needed only cost occupancy. Each try costs an allocation. Chosen by hand."""

Improve = Callable[["Attempt", str, RegisterAllocation], RegisterAllocation]
"""An improvement gets a function's allocation before its callers see it, and returns the one to take."""
Spill = Callable[["Attempt", str], RegisterAllocation]
"""A spiller allocates registers, with spill code, to a function whose callees have contracts."""


@dataclass
class Attempt:
    """An attempt holds registers for all functions of `program`, as far as they are allocated."""

    program: ProgramAnalysis
    known: ResultStore  #: results for single functions that other attempts at the same budget may use as well
    unwritten: dict[str, set[WebNumber]]  #: webs that may be read without having been written, by function
    available: int  #: registers, as bits
    pointer: int  #: the slot pointer's register, -1 for none
    clock: LatencyClock | None = None  #: latencies that the order of instructions should hide; None keeps the order
    limits: dict[str, int] = field(default_factory=dict)  #: by function, upper limit of its registers
    #: by function, arguments that are passed in memory
    stored: dict[str, frozenset[Location]] = field(default_factory=dict)
    #: functions that leave callers' arguments in place even where that costs them something
    modest: frozenset[str] = frozenset()
    contracts: dict[str, Contract] = field(default_factory=dict)  #: by function, what callers see
    allocations: dict[str, RegisterAllocation] = field(default_factory=dict)  #: by function
    #: by function, registers free around each call: (before, after)
    scratch: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    shuffle: int = -1  #: a register set aside for moves at calls, -1 where these take any free one
    slots: int = 0  #: number of slots, if there is a pointer
    far: float = LOCAL_COST  #: cost of an access to local memory, in accesses to a slot
    below: float = inf  #: upper bound of the cost of all spill code (exclusive), in accesses to a slot

    def virtual(self, name: str) -> Analysed:
        """Return the virtual code of a function whose callees have contracts."""

        def make() -> Analysed:
            stored = self.stored.get(name, ())
            return without_dead_copies(virtualise(self.program, name, self.contracts, self.unwritten[name], stored))

        return self.known.code(name, self._key(name, by_interface), make)

    def function(self, name: str) -> OneFunction:
        """Return the function with the registers that it may use. Its callees must have contracts."""
        given, available = self.virtual(name), self.registers_of(name)
        return self.known.function(given, self._key(name, by_content), available, self.contracts)

    def _key(self, name: str, callees: Callable[[set[str], Mapping[str, Contract]], Callees]) -> Callees:
        """Return a key of all that the function's code depends on: its arguments in memory and its callees."""
        return (*sorted(self.stored.get(name, ())), *callees(self._callees(name), self.contracts))

    def _callees(self, name: str) -> set[str]:
        return {site.callee for site in self.program.graph.sites[name]}

    def registers_of(self, name: str) -> int:
        """Return the registers that a function may use, as bits. If it has a limit, these are the lowest ones and those
        of its callees."""
        limit = self.limits.get(name)
        if limit is None:
            return self.available
        used = mask_from(bits(self.available)[:limit])
        for site in self.program.graph.sites[name]:
            used |= self.contracts[site.callee].registers
        return used

    def above(self, name: str) -> list[str]:
        """List the direct and indirect callers of a function, callees first."""
        found = [name]
        for caller in self.program.graph.bottom_up:
            if any(site.callee in found for site in self.program.graph.sites[caller]):
                found.append(caller)
        return found[1:]

    def with_limit(self, name: str, limit: int) -> Attempt:
        """Return another attempt in which the function has a limit. The function and its callers still have to be
        allocated there."""
        return replace(self._anew(name), limits={**self.limits, name: limit})

    def with_stored(self, name: str, more: frozenset[Location]) -> Attempt:
        """Return another attempt in which these arguments of the function are passed in memory, too; otherwise as
        `with_limit`."""
        return replace(self._anew(name), stored={**self.stored, name: self.stored.get(name, frozenset()) | more})

    def with_modest(self, name: str) -> Attempt:
        """Return another attempt in which the function leaves its callers' arguments in place wherever moving them
        would cost callers without room a spill; otherwise as `with_limit`."""
        return replace(self._anew(name), modest=self.modest | {name})

    def _anew(self, name: str) -> Attempt:
        """Return another attempt in which the function and its callers still have to be allocated."""
        again = {name, *self.above(name)}
        settled = [n for n in self.allocations if n not in again]
        return replace(
            self,
            contracts={n: self.contracts[n] for n in settled},
            allocations={n: self.allocations[n] for n in settled},
            scratch={n: self.scratch[n] for n in settled},
        )

    @property
    def prices(self) -> Prices:
        """Return the prices of reloads and stores, on the assumption that all have slots (if there are any)."""
        return Prices(self.far if self.pointer < 0 else SLOT_COST, far=self.far, wish=WISH)

    def prices_in(self, name: str) -> Prices:
        """Return the prices that apply to a function."""
        prices = self.prices
        return replace(prices, wish=2 * prices.usual) if name in self.modest else prices

    @property
    def cost(self) -> float:
        """Estimate the cost of all spill code so far in one run of the kernel, in accesses to a slot."""
        often = self.program.runs
        return sum(
            often[name] * self.costs(name)
            for name in self.program.graph.top_down
            if name in self.allocations
        )

    @property
    def copies(self) -> float:
        """Estimate the number of added copies between registers, likewise."""
        often = self.program.runs
        return sum(often[name] * self.allocations[name].copy_cost() for name in self.allocations)

    def limit(self, name: str) -> float:
        """Return the upper bound (exclusive) of the spill cost of a function still to be allocated, per run of it."""
        often = self.program.runs[name] if self.below < inf else 0.0
        return (self.below - self.cost) / often if often else inf

    @property
    def spilled(self) -> bool:
        """Say whether there is spill code."""
        return any(self.costs(name) for name in self.allocations)

    def costs(self, name: str) -> float:
        """Return the cost of the spill code of an allocated function, in one run of it."""
        return self.allocations[name].spill_cost(self.prices)


def by_regions(attempt: Attempt, name: str) -> RegisterAllocation:
    """Allocate a function in the order that suits it, and spill values region by region. Raises TooDear, see
    `Attempt.below`."""
    return _allocated(attempt, name, may_spill=True)


def in_registers(attempt: Attempt, name: str) -> RegisterAllocation:
    """Allocate a function in the order that suits it. Raises NeedsMemory where not all values find registers."""
    return _allocated(attempt, name, may_spill=False)


def _allocated(attempt: Attempt, name: str, *, may_spill: bool) -> RegisterAllocation:
    how = SpillOptions(attempt.prices_in(name), slots=attempt.slots)
    function, below = attempt.function(name), attempt.limit(name)
    return allocate_function(function, how, attempt.clock, may_spill=may_spill, below=below)


def as_it_stands(attempt: Attempt, name: str) -> RegisterAllocation:
    """Allocate a function in its present order. Raises NeedsMemory where not all values find registers."""
    return allocate_registers(attempt.virtual(name), attempt.available, attempt.contracts, may_spill=False)


def colour_functions(attempt: Attempt, spill: Spill = by_regions, *, improve: Improve | None = None) -> None:
    """Allocate registers to every function that has none yet, callees first. Raises what `spill` does."""
    for name in attempt.program.graph.bottom_up:
        if name in attempt.contracts:
            continue
        allocation = spill(attempt, name)
        if improve is not None:
            allocation = improve(attempt, name, allocation)
        free = 1 << attempt.shuffle if attempt.shuffle >= 0 else attempt.available
        attempt.scratch[name] = scratch_registers(allocation, free)
        moves = attempt.pointer >= 0 and allocation.memory
        taken = mask_from(r for pair in attempt.scratch[name] for r in pair if r >= 0) if moves else 0
        # other attempts may have the same allocation, with other registers around calls
        contract = replace(allocation.contract, clobbers=allocation.contract.clobbers | taken)
        attempt.allocations[name] = replace(allocation, contract=contract)
        attempt.contracts[name] = contract


def allocate(
    program: ProgramAnalysis,
    registers: int,
    slots: int,
    spill: Spill = by_regions,
    *,
    fits: Spill = in_registers,
    clock: LatencyClock | None = None,
    known: ResultStore | None = None,
    stored: Mapping[str, Collection[Location]] | None = None,
    far: float = LOCAL_COST,
) -> Attempt:
    """Allocate the call graph without memory values if possible (by `fits`), else with the slot pointer set aside.
    known: of other attempts at the same budget. stored: arguments that are passed in memory, by function. far: see
    `Attempt`."""
    isa = program.isa
    known = known or ResultStore()
    doubt = unwritten(program)
    demand = max(isa.highest_register(program[name].fn.instrs) + 1 for name in program.functions)
    # the input's count is enough: more registers would only cost occupancy
    counts = {*range(max(demand, 1), min(registers, demand + MORE_THAN_BEFORE)), registers}
    passed = {name: frozenset(found) for name, found in (stored or {}).items()}
    for count in sorted(counts) if not passed else ():
        attempt = Attempt(program, known, doubt, isa.limits.allocatable(count), -1, clock, far=far)
        try:
            colour_functions(attempt, fits)
        except NeedsMemory:
            continue
        return attempt
    if slots and registers > 1:
        last = registers - 1
        attempt = Attempt(
            program, known, doubt, isa.limits.allocatable(last), last, clock, stored=passed, slots=slots, far=far
        )
        try:
            colour_functions(attempt, spill)
        except Infeasible:
            pass  # without the slot pointer there is one register more
        else:
            return attempt
    attempt = Attempt(program, known, doubt, isa.limits.allocatable(registers), -1, clock, stored=passed, far=far)
    colour_functions(attempt, spill)
    return attempt
