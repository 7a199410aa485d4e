"""The exact placement problem of one function, its solutions and a validity check.

A group of values (a pair, a quad, a single) sits at one aligned base register, or in memory: all of its values in
slots, or all in local memory. Needs: live and accessed values per program point as bitsets. Leaves: `Placement`s that
`violations` finds nothing wrong with. Nothing here needs a solver; `cpsat` solves the same problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from binalloc.bitset import bits
from binalloc.models.allocation.colouring import base_positions
from binalloc.models.allocation.terms import Value


@dataclass(frozen=True, slots=True)
class PlacementGroup:
    """members: (value, offset) pairs within `units` consecutive registers from a base that is a multiple of `align`.

    cost_slot, cost_local: loop-weighted cost of having the whole group in slots or local memory; a register costs 0.
    spillable: may be in memory at all. fixed: the base it must have, or None.
    """

    members: tuple[tuple[Value, int], ...]
    units: int = 1
    align: int = 1
    spillable: bool = True
    cost_slot: float = 1.0
    cost_local: float = 10.0
    fixed: int | None = None


@dataclass(frozen=True)
class PlacementProblem:
    """Values 0..len(forbidden)-1, each in exactly one group; every program point has one entry in three lists.

    live: values live at the point. accessed: values that an instruction there reads or writes; one that is in memory
    needs a temporary register there. capacity: registers there are for values and temporaries together. available:
    bitset of registers. forbidden: per value the registers it may not take. slots: per thread.
    """

    groups: Sequence[PlacementGroup]
    live: Sequence[int]
    accessed: Sequence[int]
    capacity: Sequence[int]
    available: int
    forbidden: Sequence[int]
    slots: int

    def group_of(self) -> list[int]:
        """Group number per value."""
        found = [-1] * len(self.forbidden)
        for number, group in enumerate(self.groups):
            for value, _ in group.members:
                found[value] = number
        return found

    def bases(self, number: int) -> list[int]:
        """Base registers that group `number` may take, ascending."""
        group = self.groups[number]
        free = base_positions(self.available, group.units, group.align)
        for value, offset in group.members:
            free &= ~(self.forbidden[value] >> offset)
        if group.fixed is not None:
            free &= 1 << group.fixed
        return bits(free)

    def points(self) -> list[tuple[int, int, int]]:
        """(present, accessed, capacity) of the points that can matter; present = live or accessed. Sorted.

        A point is left out where another one holds as many values, accesses as many and has no more room.
        """
        tightest: dict[tuple[int, int], int] = {}
        for live, accessed, capacity in zip(self.live, self.accessed, self.capacity, strict=True):
            key = (live | accessed, accessed)
            tightest[key] = min(capacity, tightest.get(key, capacity))
        every = sorted(((p, a, c) for (p, a), c in tightest.items()), key=lambda t: (-t[0].bit_count(), t))
        kept: list[tuple[int, int, int]] = []
        for present, accessed, capacity in every:
            if not any(not present & ~p and not accessed & ~a and c <= capacity for p, a, c in kept):
                kept.append((present, accessed, capacity))
        return kept


@dataclass(frozen=True)
class Placement:
    """base: group -> base register. slot_of: value -> slot. local: groups in local memory."""

    base: dict[int, int] = field(default_factory=dict)
    slot_of: dict[int, int] = field(default_factory=dict)
    local: frozenset[int] = frozenset()


def cost_of(problem: PlacementProblem, placement: Placement) -> float:
    """Loop-weighted cost of a placement."""
    total = 0.0
    for number, group in enumerate(problem.groups):
        if number in placement.local:
            total += group.cost_local
        elif number not in placement.base:
            total += group.cost_slot
    return total


def violations(problem: PlacementProblem, placement: Placement) -> list[str]:
    """What is wrong with a placement, one sentence each; empty if it is valid."""
    wrong: list[str] = []
    group_of = problem.group_of()
    register: dict[int, int] = {}
    for number, group in enumerate(problem.groups):
        in_slots = [value in placement.slot_of for value, _ in group.members]
        places = (number in placement.base) + (number in placement.local) + any(in_slots)
        if places != 1 or (any(in_slots) and not all(in_slots)):
            wrong.append(f"group {number} has {places} places")
        if number in placement.base:
            base = placement.base[number]
            if base not in problem.bases(number):
                wrong.append(f"group {number} may not start at register {base}")
            register.update({value: base + offset for value, offset in group.members})
        elif not group.spillable or group.fixed is not None:
            wrong.append(f"group {number} may not be in memory")
    for value, slot in sorted(placement.slot_of.items()):
        if not 0 <= slot < problem.slots:
            wrong.append(f"value {value} in slot {slot} of {problem.slots}")
    for point, (live, accessed, capacity) in enumerate(
        zip(problem.live, problem.accessed, problem.capacity, strict=True)
    ):
        present = bits(live | accessed)
        held = [register[v] for v in present if v in register]
        slots = [placement.slot_of[v] for v in present if v in placement.slot_of]
        temporaries = sum(group_of[v] not in placement.base for v in bits(accessed))
        if len(set(held)) < len(held):
            wrong.append(f"point {point}: a register holds two values")
        if len(set(slots)) < len(slots):
            wrong.append(f"point {point}: a slot holds two values")
        if len(held) + temporaries > capacity:
            wrong.append(f"point {point}: {len(held)} values and {temporaries} temporaries in {capacity} registers")
    return wrong
