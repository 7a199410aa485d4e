"""This module seeks a cheaper choice of spilled regions, starting from the greedy one, whose first steps may have been
wrong.

Needs `Homes`, pressure and capacity at each point, and a choice that fits. Leaves a choice that fits and costs less, or
the given one. It improves the choice in two ways. First, all is chosen anew with more families. Each two regions that
meet on a border form one, because alone either would come back on the border for the other. All regions that meet where
nothing reads the value form one as well. Second, the value with the most expensive spill code comes back and has to
stay, and other values relieve the points that this leaves over capacity. That is a step of large neighbourhood search
(Shaw, "Using Constraint Programming and Local Search Methods to Solve Vehicle Routing Problems", 1998). It is done a
few times, most expensive value first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.webs import UnionFind
from binalloc.models.allocation.homes import Homes
from binalloc.models.allocation.regions import NOBODY, RegionChoice, Regions, chosen

MISSES = 3
"""Values that come back without gain, one after the other, before the search ends. Chosen by hand: a larger number
costs time, since all is chosen anew for each value."""
TRIES = 8
"""Values that come back in all. Chosen by hand, as MISSES: it bounds the time where each try gains a little."""


def search(
    homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32], first: RegionChoice
) -> RegionChoice:
    """Return the cheapest choice found; `first` where none costs less."""
    return _Search(homes, pressure, capacity, first).run()


class _Search:
    """A search tries to make one choice of spilled regions cheaper.

    regions: priced for the memory (slot or local) that the first choice gave each value.
    """

    def __init__(
        self, homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32], first: RegionChoice
    ) -> None:
        self.homes, self.pressure, self.capacity, self.best = homes, pressure, capacity, first
        self.regions = homes.slot
        if first.local:
            stored = {self.regions.value[r] for r in first.spilled if self.regions.stored[r]}
            self.regions = homes.holding(stored - first.local)

    def run(self) -> RegionChoice:
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
            others = [r for r in self.best.spilled if self.regions.value[r] != v]
            misses = 0 if self._take(self.regions, others, v) else misses + 1
        return self.best

    def _take(self, regions: Regions, begin: Iterable[int] = (), stays: int = NOBODY) -> bool:
        """Choose anew, and keep the choice if it is cheaper; return whether it is."""
        spilled, left = chosen(regions, self.pressure, self.capacity, begin, stays)
        if np.any(left > self.capacity):
            return False
        homes = self.homes
        local = homes.without_slot(spilled) if homes.slots and not homes.enough(spilled) else frozenset()
        cost = homes.cost(spilled, local)
        if cost >= self.best.cost:
            return False
        self.best = RegionChoice(spilled, left, cost, local)
        return True

    def _dearest(self, tried: set[int]) -> int:
        """Return the value whose spilled regions cost most, among those not tried yet."""
        regions = self.regions
        mine: dict[int, list[int]] = {}
        for r in self.best.spilled:
            if regions.value[r] not in tried:
                mine.setdefault(regions.value[r], []).append(r)
        return min(mine, key=lambda v: (-regions.alone(mine[v]), v), default=NOBODY)


def _quiet(regions: Regions) -> list[tuple[int, ...]]:
    """Return the sets of regions of one value that meet on borders and have no comeback except on borders.

    They lie around loops in which nothing accesses the value, and inside such loops.
    """
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
    """Return the pairs of regions that meet on a border and are no family yet."""
    known = set(map(tuple, regions.families))
    pairs = {(min(r, b.region), max(r, b.region)) for r, mine in enumerate(regions.borders) for b in mine}
    return sorted(pairs - known)
