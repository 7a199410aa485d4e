"""This module finds homes. A home is one register for the whole of a value's live range; as many values as possible get
one.

It needs bundles, the available registers, the points at which each is taken, and the registers that values prefer. It
leaves a base per bundle. Bundles whose points meet never share a register. The cheapest found are left without a home.

Bundles are placed one after the other where nothing overlaps. Per point, the registers in use are one row of bits, so
that the registers taken in a range are found at once. In order of the start of ranges, straight-line code needs no more
registers than are live at once. Groups, loops and calls can leave some bundles without one. Then these go
first in another attempt, and the best attempt counts.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from binalloc.bitset import bits, lowest
from binalloc.models.allocation.colouring import base_positions
from binalloc.models.allocation.terms import Interval
from binalloc.transform.assign.bundles import Bundle, Bundles
from binalloc.transform.assign.colour_homes import colour_homes
from binalloc.transform.assign.intervals import meet
from binalloc.transform.assign.wishes import NO_HOME, BundleHomes, Wishes

_LOOK_AHEAD = 8
"""Registers beyond the first free one among which one with a taken pair mate is preferred. This keeps whole pairs free
for wide values. Chosen by hand."""
_ATTEMPTS = 6  # orders that are tried; more of them cost time, chosen by hand
_BUDGET = 12_000
"""Upper limit of bundles placed in all attempts together. Large code has only one attempt, since its time is linear but
not small. Chosen by hand."""

_TRIES = 3  # places at which other bundles are evicted for one; more cost time, chosen by hand
_SMALL = 1500
"""Upper limit of bundles for colouring where some find no home otherwise: its time and memory grow with their
square."""
_MOST_PUSHED = 2  # upper limit of bundles that are evicted to make room for one; more cost time, chosen by hand


def find_homes(
    bundles: Bundles, wishes: Wishes, points: list[list[Interval]], available: int, end: int
) -> BundleHomes:
    """Return homes for the bundles. points: by value. available: registers, as bits. end: one past the last point."""
    placing = _Placing(bundles, wishes, available, end)
    first = _used(bundles)
    cost = {b: sum(wishes.cost[v] for v, _ in bundles.all[b].members) for b in first}
    keys = _keys(bundles, first)
    best: BundleHomes | None = None
    urgent: dict[int, int] = {}
    attempts = max(1, min(_ATTEMPTS, _BUDGET // max(1, len(first))))
    for attempt in range(attempts):
        key = keys[attempt % len(keys)]
        order = sorted(first, key=lambda b, key=key: (-urgent.get(b, 0), *key(b)))  # type: ignore[misc]
        base = placing.run(order)
        missing = [b for b in order if base[b] == NO_HOME]
        homes = BundleHomes(base, sum(cost[b] for b in missing))
        if best is None or homes.lost < best.lost:
            best = homes
        if not missing:
            break
        for b in missing:
            urgent[b] = urgent.get(b, 0) + 1
    assert best is not None
    if best.lost and len(first) <= _SMALL:
        coloured = colour_homes(bundles, wishes, points, available, best.lost)
        best = min(best, coloured, key=lambda homes: homes.lost)
    return best


def find_all_homes(bundles: Bundles, wishes: Wishes, available: int, end: int) -> BundleHomes | None:
    """Return homes as `find_homes` does, but None once some bundle has no home in any of the simple orders."""
    placing = _Placing(bundles, wishes, available, end)
    first = _used(bundles)
    length = {b: sum(end - start for piece in bundles.all[b].points for start, end in piece) for b in first}
    width = {b: len(bundles.all[b].points) for b in first}
    keys = [*_keys(bundles, first), lambda b: (-length[b], b), lambda b: (-width[b], -length[b], b)]
    for key in keys:
        base = placing.run(sorted(first, key=key), whole=True)
        if all(base[b] != NO_HOME for b in first):
            return BundleHomes(base, 0.0)
    return None


def _used(bundles: Bundles) -> list[int]:
    """List the bundles that need a home."""
    return [b for b, bundle in enumerate(bundles.all) if bundle.members and any(bundle.points)]


def _keys(bundles: Bundles, used: list[int]) -> list[Callable[[int], tuple[int, ...]]]:
    """List the sort keys of the simple orders: start of range, or width first."""
    starts = {b: min(piece[0][0] for piece in bundles.all[b].points if piece) for b in used}
    width = {b: len(bundles.all[b].points) for b in used}
    return [lambda b: (starts[b], -width[b], b), lambda b: (-width[b], starts[b], b)]


class _Placing:
    """A placing gives bundles their bases in a given order."""

    def __init__(self, bundles: Bundles, wishes: Wishes, available: int, points: int) -> None:
        self.bundles, self.wishes, self.available = bundles, wishes, available
        self.words = max(1, -(-available.bit_length() // 64))
        self.nothing = np.zeros((self.words, points), np.uint64)
        for register, where in sorted(wishes.busy.items()):
            if register < 64 * self.words:
                self.nothing[register // 64, where] |= np.uint64(1 << register % 64)
        shapes = {(len(bundle.points), bundle.align) for bundle in bundles.all}
        self.bases = {(n, a): base_positions(available, n, a) for n, a in sorted(shapes)}
        self.owned: dict[int, set[int]] = {}  # by value, registers that it owns at some point
        for (register, _), v in wishes.owner.items():
            self.owned.setdefault(v, set()).add(register)

    def run(self, order: list[int], *, whole: bool = False) -> list[int]:
        """Return bases by bundle. whole: stop at the first bundle without one."""
        self.held = self.nothing.copy()
        self.base = [NO_HOME] * len(self.bundles.all)
        self.here: dict[int, list[tuple[int, int, int]]] = {}
        for b in order:
            base = self._place(self.bundles.all[b])
            if base != NO_HOME:
                self._give(b, base)
            elif not self._push(b) and whole:
                break
        return self.base

    def _give(self, b: int, base: int) -> None:
        """Put a bundle at `base`, where nothing is in its way."""
        self.base[b] = base
        for k, pieces in enumerate(self.bundles.all[b].points):
            register = base + k
            row, bit = self.held[register // 64], np.uint64(1 << register % 64)
            here = self.here.setdefault(register, [])
            for start, end in pieces:
                row[start:end] |= bit
                insort(here, (start, end, b))

    def _remove(self, b: int) -> None:
        base, self.base[b] = self.base[b], NO_HOME
        for k, pieces in enumerate(self.bundles.all[b].points):
            register = base + k
            row, kept = self.held[register // 64], ~np.uint64(1 << register % 64)
            here = self.here[register]
            for start, end in pieces:
                row[start:end] &= kept
                del here[bisect_left(here, (start, end, b))]

    def _push(self, b: int) -> bool:
        """Place a bundle where a few others are in the way and can go elsewhere. Say whether that is possible."""
        bundle = self.bundles.all[b]
        choices: list[tuple[int, int, list[int]]] = []
        for base in bits(self.bases[len(bundle.points), bundle.align]):
            blockers = self._blockers(bundle, base)
            if blockers is not None:
                choices.append((len(blockers), base, blockers))
        return any(
            not self._stuck(bundle, base, blockers) and self._displace(b, base, blockers)
            for _, base, blockers in sorted(choices)[:_TRIES]
        )

    def _stuck(self, bundle: Bundle, base: int, blockers: list[int]) -> bool:
        """Say whether one of the blockers surely finds no other place once `bundle` is at `base`, even if all their
        present registers were free. Nothing is moved to find out."""
        left = 0
        for g in blockers:
            left |= (1 << len(self.bundles.all[g].points)) - 1 << self.base[g]
        for other in (self.bundles.all[g] for g in blockers):
            blocked = 0
            for k, pieces in enumerate(other.points):
                taken = self._taken(pieces) & ~left
                for register, mine in enumerate(bundle.points, base):
                    if meet(mine, pieces):
                        taken |= 1 << register
                blocked |= taken >> k
            if not self.bases[len(other.points), other.align] & ~blocked and not self._own(other):
                return True
        return False

    def _blockers(self, bundle: Bundle, base: int) -> list[int] | None:
        """List the bundles that hold a register of `bundle` at `base` when it needs the register. Return None if they
        are too many, or something else is in the way."""
        found: set[int] = set()
        for k, pieces in enumerate(bundle.points):
            register = base + k
            fixed, bit = self.nothing[register // 64], np.uint64(1 << register % 64)
            busy = register in self.wishes.busy
            here = self.here.get(register, [])
            for start, end in pieces:
                if busy and bool(np.any(fixed[start:end] & bit)):
                    return None
                at = bisect_left(here, (start,))
                if at and here[at - 1][1] > start:
                    at -= 1
                while at < len(here) and here[at][0] < end:
                    found.add(here[at][2])
                    at += 1
                if len(found) > _MOST_PUSHED:
                    return None
        return sorted(found)

    def _displace(self, b: int, base: int, blockers: list[int]) -> bool:
        """Put bundle b at `base` and move the blockers elsewhere. Undo this and return False if one finds no place."""
        before = {g: self.base[g] for g in blockers}
        for g in blockers:
            self._remove(g)
        self._give(b, base)
        moved: list[int] = []
        for g in blockers:
            place = self._place(self.bundles.all[g])
            if place == NO_HOME:
                break
            self._give(g, place)
            moved.append(g)
        else:
            return True
        for g in (*moved, b):
            self._remove(g)
        for g in blockers:
            self._give(g, before[g])
        return False

    def _taken(self, pieces: list[Interval]) -> int:
        """Return the registers taken somewhere in `pieces`, as bits."""
        if self.words == 1:
            row = self.held[0]
            mask = 0
            for start, end in pieces:
                if end - start == 1:
                    mask |= int(row[start])
                else:
                    mask |= int(np.bitwise_or.reduce(row[start:end]))
            return mask
        words: NDArray[np.uint64] = np.zeros(self.words, np.uint64)
        for start, end in pieces:
            words |= np.bitwise_or.reduce(self.held[:, start:end], axis=1)
        return int.from_bytes(words.tobytes(), "little")

    def _place(self, bundle: Bundle) -> int:
        """Choose a base for a bundle: a preferred one that is free, else the first free one. Return NO_HOME if there is
        none."""
        blocked = 0  # bases at which some part meets a taken register
        singles = len(bundle.points) == 1
        taken = 0
        for k, pieces in enumerate(bundle.points):
            taken = self._taken(pieces)
            blocked |= taken >> k
        free = self.bases[len(bundle.points), bundle.align] & ~blocked
        own = self._own(bundle)
        liked = self._liked(bundle)
        for base in sorted(liked, key=lambda r: (-liked[r], r)):
            if base >= 0 and (free >> base & 1 or (base in own and self._fits_own(bundle, base))):
                return base
        if not free:
            return NO_HOME
        if not singles:
            return lowest(free)
        first = lowest(free)
        near = free & ((1 << first + _LOOK_AHEAD + 1) - 1)
        mates = near & _swapped(taken | ~self.available)
        return lowest(mates) if mates else first

    def _liked(self, bundle: Bundle) -> dict[int, float]:
        """Return the bases that members prefer, with their weights."""
        found: dict[int, float] = {}
        for v, offset in bundle.members:
            for register, weight in self.wishes.likes.get(v, {}).items():
                base = register - offset
                if base >= 0 and base % bundle.align == 0:
                    found[base] = found.get(base, 0.0) + weight
        return found

    def _own(self, bundle: Bundle) -> set[int]:
        """Return the bases that are taken at some points by the bundle's own fixed operands."""
        return {r - offset for v, offset in bundle.members for r in self.owned.get(v, ())}

    def _fits_own(self, bundle: Bundle, base: int) -> bool:
        """Say whether only points taken by fixed operands of its own members are in the way at `base`."""
        owner = self.wishes.owner
        for k, pieces in enumerate(bundle.points):
            register = base + k
            bit = 1 << register % 64
            if not self.available >> register & 1:
                return False
            members = {v for v, offset in bundle.members if offset == k}
            for start, end in pieces:
                row = self.held[register // 64, start:end]
                for at in np.flatnonzero(row & np.uint64(bit)).tolist():
                    if owner.get((register, start + at)) not in members:
                        return False
        return True


def _swapped(registers: int) -> int:
    """Return the pair mates of a set of registers."""
    registers &= (1 << 256) - 1
    even = ((1 << 256) - 1) // 3
    return (registers & even) << 1 | registers >> 1 & even
