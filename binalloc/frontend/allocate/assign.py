"""Registers without limit: as few as a greedy assignment over live ranges finds.

Needs ranges of all units. Leaves a register per unit such that two units with overlapping ranges never share one, and
units of one group stand in consecutive registers at a multiple of its width.

1. Units that copies connect join one group where their ranges are disjoint and their places in pairs and quads agree
   (`coalesce`), so that the copy disappears.
2. Groups take, in order, the first place where nothing overlaps: per register the union of the ranges it holds is one
   bitset. By start of range this is optimal for straight-line code of single registers; other orders are tried, and
   the one that needs the fewest registers wins. Only pairs and quads, loops and calls can make it need more than the
   greatest pressure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from binalloc.frontend.allocate.liveness import Ranges
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Routine

_LOOK_AHEAD = 8
"""Registers beyond the first free one among which one with a taken pair mate is looked for."""
_MANY = 255
"""Above this pressure values go to memory whatever the order, so one is enough."""


@dataclass
class Group:
    """Units that move together. ranges[k]: points at which the register at offset k is held. members: (index, offset).

    align: the base is a multiple of it. wishes: register of offset 0 -> weight (places that save copies).
    """

    ranges: list[int]
    align: int
    members: list[tuple[int, int]]
    wishes: dict[int, float] = field(default_factory=dict)

    @property
    def start(self) -> int:
        bits = 0
        for piece in self.ranges:
            bits |= piece
        return (bits & -bits).bit_length() - 1 if bits else 0

    @property
    def length(self) -> int:
        return sum(piece.bit_count() for piece in self.ranges)


def build_groups(routine: Routine, ranges: Ranges) -> tuple[list[Group], list[int]]:
    """One group per pair, quad or single unit, and for each unit's index the number of its group."""
    base, width = routine.registers.base, routine.registers.width
    groups: list[Group] = []
    group_of: list[int] = []
    for index in range(len(base)):
        if base[index] == FIRST_REGISTER + index:
            groups.append(Group([0] * width[index], width[index], []))
        group = groups[-1]
        offset = FIRST_REGISTER + index - base[index]
        group.ranges[offset] = ranges.range[index]
        group.members.append((index, offset))
        group_of.append(len(groups) - 1)
    return groups, group_of


def copies(routine: Routine) -> list[tuple[int, int]]:
    """(target, source) indices of the unguarded register copies, in code order."""
    out = []
    for block in routine.blocks:
        for node in block.nodes:
            view = node.view
            if view.copy:
                out.append((view.defs[0].index - FIRST_REGISTER, view.uses[0].index - FIRST_REGISTER))
    return out


def coalesce(groups: list[Group], group_of: list[int], pairs: list[tuple[int, int]]) -> None:
    """Join the groups of copied units where that is possible; `groups` keeps emptied ones in place."""
    offset_of = {index: offset for group in groups for index, offset in group.members}
    for target, source in pairs:
        a, b = group_of[target], group_of[source]
        if a == b:
            continue
        shift = offset_of[target] - offset_of[source]
        if groups[a].align < groups[b].align or len(groups[a].ranges) < len(groups[b].ranges):
            a, b, shift = b, a, -shift
        big, small = groups[a], groups[b]
        if shift < 0 or shift + len(small.ranges) > len(big.ranges) or shift % small.align:
            continue
        if any(big.ranges[shift + k] & piece for k, piece in enumerate(small.ranges)):
            continue
        for k, piece in enumerate(small.ranges):
            big.ranges[shift + k] |= piece
        for index, offset in small.members:
            big.members.append((index, offset + shift))
            group_of[index] = a
            offset_of[index] = offset + shift
        small.members, small.ranges = [], []


class Assignment:
    """Registers handed out. occupied[r]: points at which register r is taken."""

    def __init__(self, groups: list[Group], busy: Mapping[int, int]) -> None:
        self.groups = groups
        self.occupied: list[int] = []
        for register, points in busy.items():
            self._grow(register + 1)
            self.occupied[register] |= points
        self.base: dict[int, int] = {}
        self.used = 0

    def _grow(self, count: int) -> None:
        if len(self.occupied) < count:
            self.occupied += [0] * (count - len(self.occupied))

    def run(self, order: list[int]) -> int:
        """Place all groups; the number of registers used."""
        for number in order:
            group = self.groups[number]
            base = self._place(group)
            self.base[number] = base
            self._grow(base + len(group.ranges))
            for k, piece in enumerate(group.ranges):
                self.occupied[base + k] |= piece
                if piece:
                    self.used = max(self.used, base + k + 1)
            if not any(group.ranges):
                self.used = max(self.used, 1)
        return self.used

    def _place(self, group: Group) -> int:
        for base in sorted(group.wishes, key=lambda r: (-group.wishes[r], r)):
            if base % group.align == 0 and base + len(group.ranges) <= max(self.used, 1) and self._free(group, base):
                return base
        if len(group.ranges) == 1:
            return self._place_single(group)
        base = 0
        while not self._free(group, base):
            base += group.align
        return base

    def _free(self, group: Group, base: int) -> bool:
        occupied = self.occupied
        self._grow(base + len(group.ranges))
        return not any(occupied[base + k] & piece for k, piece in enumerate(group.ranges))

    def _place_single(self, group: Group) -> int:
        """The first free register whose pair mate is taken somewhere in the range, so that whole pairs stay free; else
        the first free one."""
        piece = group.ranges[0]
        occupied = self.occupied
        first = -1
        for register in range(self.used):
            if not occupied[register] & piece:
                mate = register ^ 1
                if mate < len(occupied) and occupied[mate] & piece:
                    return register
                if first < 0:
                    first = register
            if first >= 0 and register - first >= _LOOK_AHEAD:
                break
        if first >= 0:
            return first
        register = self.used
        self._grow(register + 1)
        while occupied[register] & piece:
            register += 1
            self._grow(register + 1)
        return register


def _orders(groups: list[Group]) -> list[Callable[[int], tuple[int, ...]]]:
    starts = [group.start for group in groups]
    lengths = [group.length for group in groups]
    widths = [len(group.ranges) for group in groups]
    return [
        lambda g: (starts[g], -widths[g], g),
        lambda g: (-widths[g], starts[g], g),
        lambda g: (-lengths[g], g),
        lambda g: (-widths[g], -lengths[g], g),
    ]


@dataclass
class Registered:
    """register[i]: of unit i + FIRST_REGISTER. count: registers used."""

    register: list[int]
    count: int

    def of(self, unit: int) -> int:
        return RZ if unit == RZ else self.register[unit - FIRST_REGISTER]


def assign(groups: list[Group], units: int, busy: Mapping[int, int], bound: int) -> Registered:
    """Registers for all groups. busy: register -> points at which it is not to be had (calls). bound: the greatest
    pressure; an order that meets it ends the search."""
    best: Assignment | None = None
    everything = [g for g in range(len(groups)) if groups[g].members]
    orders = _orders(groups)
    for key in orders if bound <= _MANY else orders[:1]:
        attempt = Assignment(groups, busy)
        attempt.run(sorted(everything, key=key))
        if best is None or attempt.used < best.used:
            best = attempt
        if best.used <= bound:
            break
    register = [0] * units
    assert best is not None
    for number in everything:
        for index, offset in groups[number].members:
            register[index] = best.base[number] + offset
    return Registered(register, best.used)
