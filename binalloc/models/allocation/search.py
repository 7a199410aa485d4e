"""A cheaper choice of what leaves the registers, sought from the greedy one: what went first may have been wrong.

Needs `Homes`, pressure and capacity by point, and a choice that fits. Leaves a choice that fits and costs less, or the
one given. Two ways lead on. All is chosen anew, with two regions that meet on a border as one more thing to send: alone
each of them would come back on the border for the other; and likewise all that meet where nothing reads the value.
Then the value that costs most away returns and has to stay, and what that leaves too tight is relieved by others (a
step of large neighbourhood search: Shaw, "Using Constraint Programming and Local Search Methods to Solve Vehicle
Routing Problems", 1998), dearest first, a few times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.webs import UnionFind
from binalloc.models.allocation.homes import Homes
from binalloc.models.allocation.regions import NOBODY, Choice, Regions, chosen

MISSES = 3
"""Values that return in vain, one after the other, before the search ends."""
TRIES = 8
"""Values that return, in all."""


def search(
    homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32], first: Choice
) -> Choice:
    """The cheapest choice found; `first` where none costs less."""
    return _Search(homes, pressure, capacity, first).run()


class _Search:
    """regions: at the prices of the homes that the first choice gave the values."""

    def __init__(
        self, homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32], first: Choice
    ) -> None:
        self.homes, self.pressure, self.capacity, self.best = homes, pressure, capacity, first
        self.regions = homes.slot
        if first.local:
            stored = {self.regions.value[r] for r in first.away if self.regions.stored[r]}
            self.regions = homes.holding(stored - first.local)

    def run(self) -> Choice:
        more = _met(self.regions) + _quiet(self.regions)
        if more:
            self._take(replace(self.regions, families=[*self.regions.families, *more]))
        tried: set[int] = set()
        misses = 0
        while misses < MISSES and len(tried) < TRIES:
            v = self._dearest(tried)
            if v == NOBODY:
                break
            tried.add(v)
            others = [r for r in self.best.away if self.regions.value[r] != v]
            misses = 0 if self._take(self.regions, others, v) else misses + 1
        return self.best

    def _take(self, regions: Regions, begin: Iterable[int] = (), stays: int = NOBODY) -> bool:
        """Choose, and keep that if it is cheaper."""
        away, left = chosen(regions, self.pressure, self.capacity, begin, stays)
        if np.any(left > self.capacity):
            return False
        homes = self.homes
        local = homes.without_slot(away) if homes.slots and not homes.enough(away) else frozenset()
        cost = homes.cost(away, local)
        if cost >= self.best.cost:
            return False
        self.best = Choice(away, left, cost, local)
        return True

    def _dearest(self, tried: set[int]) -> int:
        """The value that costs most away, of those that were not tried yet."""
        regions = self.regions
        mine: dict[int, list[int]] = {}
        for r in self.best.away:
            if regions.value[r] not in tried:
                mine.setdefault(regions.value[r], []).append(r)
        return min(mine, key=lambda v: (-regions.alone(mine[v]), v), default=NOBODY)


def _quiet(regions: Regions) -> list[tuple[int, ...]]:
    """Regions of a value that meet on borders, one after the other, with no comeback but on borders: around loops in
    which nothing accesses the value, and in them."""
    sets = UnionFind(len(regions.value))
    for r, mine in enumerate(regions.borders):
        for border in mine:
            if not regions.exits[r] and not regions.exits[border.region]:
                sets.union(r, border.region)
    found: dict[int, list[int]] = {}
    for r in range(len(regions.value)):
        found.setdefault(sets.find(r), []).append(r)
    return [tuple(mine) for mine in found.values() if len(mine) > 1]


def _met(regions: Regions) -> list[tuple[int, int]]:
    """Regions that meet on a border, two and two, that are no family yet."""
    known = set(map(tuple, regions.families))
    pairs = {(min(r, b.region), max(r, b.region)) for r, mine in enumerate(regions.borders) for b in mine}
    return sorted(pairs - known)
