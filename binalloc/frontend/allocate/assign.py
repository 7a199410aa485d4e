"""Registers without limit: as few as a greedy assignment over live ranges finds.

Needs ranges of all units. Leaves a register per unit such that two units with overlapping ranges never share one, and
units of one group stand in consecutive registers at a multiple of its width.

1. Units that copies connect join one group where their ranges are disjoint and their places in pairs and quads agree
   (`coalesce`), so that the copy disappears.
2. Groups take, in order, the first place where nothing overlaps: per point the registers in use are one row of bits,
   so that one look at a range tells them all. By start of range this is optimal for straight-line code of single
   registers; other orders are tried, and the one that needs the fewest registers wins. Only pairs and quads, loops and
   calls can make it need more than the greatest pressure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.bitset import lowest
from binalloc.frontend.allocate.live_ranges import Ranges
from binalloc.frontend.allocate.runs import Runs
from binalloc.frontend.ir import FIRST_REGISTER, RZ, Routine
from binalloc.isa.interface.places import MOST_REGISTERS

_LOOK_AHEAD = 8
"""Registers beyond the first free one among which one with a taken pair mate is looked for."""
_WORDS = 4
"""Words of 64 registers to start with."""


@dataclass
class Group:
    """Units that move together. ranges[k]: points at which the register at offset k is held. members: (index, offset).

    align: the base is a multiple of it. wishes: register of offset 0 -> weight (places that save copies).
    """

    ranges: list[Runs]
    align: int
    members: list[tuple[int, int]]
    wishes: dict[int, float] = field(default_factory=dict)

    @property
    def start(self) -> int:
        return min((piece.start for piece in self.ranges if piece), default=0)

    @property
    def length(self) -> int:
        return sum(len(piece) for piece in self.ranges)


def build_groups(routine: Routine, ranges: Ranges) -> tuple[list[Group], list[int]]:
    """One group per pair, quad or single unit, and for each unit's index the number of its group."""
    base, width = routine.registers.base, routine.registers.width
    groups: list[Group] = []
    group_of: list[int] = []
    for index in range(len(base)):
        if base[index] == FIRST_REGISTER + index:
            groups.append(Group([Runs()] * width[index], width[index], []))
        group = groups[-1]
        offset = FIRST_REGISTER + index - base[index]
        group.ranges[offset] = ranges.range[index].copy()  # `coalesce` joins them
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
        if any(big.ranges[shift + k].meets(piece) for k, piece in enumerate(small.ranges)):
            continue
        for k, piece in enumerate(small.ranges):
            big.ranges[shift + k].join(piece)
        for index, offset in small.members:
            big.members.append((index, offset + shift))
            group_of[index] = a
            offset_of[index] = offset + shift
        small.members, small.ranges = [], []


class Assignment:
    """Registers handed out. busy: register -> points at which it is not to be had. held[w, p]: bit b says that
    register 64 * w + b is taken at point p."""

    def __init__(self, groups: list[Group], busy: Mapping[int, list[int]], points: int) -> None:
        self.groups = groups
        self.held = np.zeros((_WORDS, points), np.uint64)
        for register, where in busy.items():
            self._take(register, np.array(where))
        self.base: dict[int, int] = {}
        self.used = 0

    def run(self, order: list[int]) -> int:
        """Place all groups; the number of registers used."""
        for number in order:
            group = self.groups[number]
            base = self._place(group)
            self.base[number] = base
            for k, piece in enumerate(group.ranges):
                for first, end in piece:
                    self._take(base + k, slice(first, end))
                if piece:
                    self.used = max(self.used, base + k + 1)
            if not any(group.ranges):
                self.used = max(self.used, 1)
        return self.used

    def _take(self, register: int, where: slice | NDArray[np.int64]) -> None:
        while register >= 64 * len(self.held):
            self.held = np.concatenate([self.held, np.zeros_like(self.held)])
        self.held[register // 64, where] |= np.uint64(1 << register % 64)

    def _taken(self, piece: Runs) -> int:
        """Bitset of the registers taken somewhere in `piece`."""
        words = np.zeros(len(self.held), np.uint64)
        for first, end in piece:
            words |= np.bitwise_or.reduce(self.held[:, first:end], axis=1)
        return int.from_bytes(words.tobytes(), "little")

    def _place(self, group: Group) -> int:
        taken = [self._taken(piece) for piece in group.ranges]
        blocked = 0  # bases at which some unit meets a taken register
        for k, registers in enumerate(taken):
            blocked |= registers >> k
        for base in sorted(group.wishes, key=lambda r: (-group.wishes[r], r)):
            fits = base % group.align == 0 and base + len(group.ranges) <= max(self.used, 1)
            if fits and not blocked >> base & 1:
                return base
        if len(group.ranges) == 1:
            return self._place_single(blocked)
        base = 0
        while blocked >> base & 1:
            base += group.align
        return base

    def _place_single(self, taken: int) -> int:
        """The first free register whose pair mate is taken somewhere in the range, so that whole pairs stay free; else
        the first free one."""
        free = ~taken & ((1 << self.used) - 1)
        if not free:
            return lowest(~taken >> self.used << self.used)
        first = lowest(free)
        near = free & ((1 << first + _LOOK_AHEAD + 1) - 1)
        mates = near & _swapped(taken)
        return lowest(mates) if mates else first


def _swapped(registers: int) -> int:
    """The pair mates of a set of registers."""
    pairs = -(-registers.bit_length() // 2)
    even = ((1 << 2 * pairs) - 1) // 3
    return (registers & even) << 1 | registers >> 1 & even


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


def assign(groups: list[Group], units: int, busy: Mapping[int, list[int]], pressure: list[int]) -> Registered:
    """Registers for all groups. busy: register -> points at which it is not to be had (calls). pressure: units live at
    each point; an order that needs no more than the greatest ends the search."""
    best: Assignment | None = None
    everything = [g for g in range(len(groups)) if groups[g].members]
    bound = max(pressure, default=0)
    orders = _orders(groups)
    # where more live at once than there are registers, values go to memory whatever the order: one is enough
    for key in orders if bound <= MOST_REGISTERS else orders[:1]:
        attempt = Assignment(groups, busy, len(pressure))
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
