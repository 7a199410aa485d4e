"""Which parts of live ranges leave the registers, so that no program point needs more than there are.

A *region* is a connected part of a value's live range in which nothing accesses the value: from one access to the next,
over block borders too, up to chosen borders such as those of loops. At an access a value is in a register; in a region
it is in a register or in memory. Coming back costs a reload or a recomputation at each access behind the region and on
each border to a region in a register. Before it leaves, memory must hold what is reloaded: a store costs what the
access or border weighs where it stands, and stands where that is cheapest (`stores`). So a value may be in memory
around a loop and in a register inside it, or the other way round, or away only between two distant uses.

Needs regions in numbers (`Regions`), and pressure and capacity by point. Leaves the regions that go to memory
(`choose`): greedy, most relieved points per cost first, single regions against families of regions of one value; then
what later choices made needless is taken back, dearest first. Linear in regions but for a logarithm, times the points
that each spans.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.stores import DEFINED, Way, valid_regions
from binalloc.models.allocation.terms import Interval


@dataclass(frozen=True, slots=True)
class Border:
    """Where a region meets another of the same value. out: cost of coming back on the way from this region to the
    other; back: on the way from the other to this one."""

    region: int
    out: float
    back: float


@dataclass
class Regions:
    """The regions of all values that may leave the registers.

    By region: value; points, as half-open intervals; exits, the cost of coming back at the accesses behind it; stored,
    whether something has to be in memory for that (else all is recomputed); borders; ways, by which control comes into
    it, each with the cost of a store there; together, other values' regions and what more it costs if both are away,
    where a recomputation reads what lies in the other. families: sets of regions of one value that may be worth
    leaving together.
    """

    value: list[int] = field(default_factory=list)
    points: list[list[Interval]] = field(default_factory=list)
    exits: list[float] = field(default_factory=list)
    stored: list[bool] = field(default_factory=list)
    borders: list[list[Border]] = field(default_factory=list)
    ways: list[list[Way]] = field(default_factory=list)
    together: list[list[tuple[int, float]]] = field(default_factory=list)
    families: list[Sequence[int]] = field(default_factory=list)

    def of_values(self) -> dict[int, list[int]]:
        """The regions of each value."""
        out: dict[int, list[int]] = {}
        for r, v in enumerate(self.value):
            out.setdefault(v, []).append(r)
        return out

    def stores(self, mine: Sequence[int], away: Collection[int], needed: Collection[int]) -> tuple[set[int], float]:
        """Of a value's regions `mine`, those in which memory holds it if some are `away` and it is `needed` in some,
        and what its stores cost."""
        return valid_regions({r: self.ways[r] for r in mine}, needed, away)

    def pressure_without(self, away: Iterable[int], pressure: NDArray[np.int32]) -> NDArray[np.int32]:
        """The pressure that is left with the regions `away` in memory."""
        left = pressure.copy()
        for r in away:
            for start, end in self.points[r]:
                left[start:end] -= 1
        return left

    def cost(self, away: Iterable[int]) -> float:
        """What it costs to have exactly the regions `away` in memory."""
        gone = set(away)
        total = 0.0
        for r in sorted(gone):
            total += self.exits[r] + sum(b.out for b in self.borders[r] if b.region not in gone)
            total += sum(cost for other, cost in self.together[r] if r < other and other in gone)
        of_values = self.of_values()
        for v in sorted({self.value[r] for r in gone if self.stored[r]}):
            mine = of_values[v]
            out = [r for r in mine if r in gone]
            total += self.stores(mine, out, [r for r in out if self.stored[r]])[1]
        return total


@dataclass
class Choice:
    """away: regions that go to memory, ascending. pressure: what is left at each point. cost: see `Regions.cost`."""

    away: list[int]
    pressure: NDArray[np.int32]
    cost: float


def choose(regions: Regions, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> Choice:
    """Regions to send to memory. Where even all together do not do, some points of `Choice.pressure` stay above
    capacity: more registers are needed there than all accesses leave."""
    work = _Greedy(regions, pressure, capacity)
    work.relieve()
    work.take_back()
    away = [r for r, gone in enumerate(work.away) if gone]
    return Choice(away, (capacity - work.room).astype(np.int32), regions.cost(away))


class _Greedy:
    """room: registers free at each point, negative where too many values are live. of_value: families by value.

    stores: per value, an upper bound of what its stores cost: one for each definition, or one for each way into what is
    away and comes from memory; (the first, the second as it is now).
    """

    def __init__(self, regions: Regions, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> None:
        self.regions = regions
        self.room = (capacity - pressure).astype(np.int32)
        self.over = self.room < 0
        self.left = int(np.count_nonzero(self.over))
        self.away = bytearray(len(regions.value))
        self.at_ways = [
            sum(cost for _, cost in ways) if kept else 0.0
            for ways, kept in zip(regions.ways, regions.stored, strict=True)
        ]
        self.define: dict[int, float] = {}
        for r, ways in enumerate(regions.ways):
            for source, cost in ways:
                if source == DEFINED:
                    self.define[regions.value[r]] = self.define.get(regions.value[r], 0.0) + cost
        self.leave: dict[int, float] = {}
        self.of_value: dict[int, list[int]] = {}
        for f, family in enumerate(regions.families):
            self.of_value.setdefault(regions.value[family[0]], []).append(f)

    def relieve(self) -> None:
        families = self.regions.families
        queue = [found for f in range(len(families)) if (found := self._score(f)) is not None]
        heapq.heapify(queue)
        while queue and self.left:
            score, cost, f = heapq.heappop(queue)
            now = self._score(f)
            if now is None:
                continue
            if now > (score, cost, f):
                heapq.heappush(queue, now)
                continue
            self._leave(families[f])
            for other in self.of_value[self.regions.value[families[f][0]]]:
                found = self._score(other)
                if found is not None:
                    heapq.heappush(queue, found)

    def _score(self, f: int) -> tuple[float, float, int] | None:
        """(cost by point relieved, cost, family); None where it relieves nothing."""
        family = self.regions.families[f]
        gain = self._gain(family)
        if not gain:
            return None
        cost = self._cost(family)
        return cost / gain, cost, f

    def _gain(self, family: Sequence[int]) -> int:
        over, away, points = self.over, self.away, self.regions.points
        gain = 0
        for r in family:
            if not away[r]:
                for start, end in points[r]:
                    if end - start == 1:
                        gain += bool(over[start])
                    else:
                        gain += int(np.count_nonzero(over[start:end]))
        return gain

    def _cost(self, family: Sequence[int]) -> float:
        """What it costs more to send the regions of a family away, too."""
        regions, away = self.regions, self.away
        total = 0.0
        ways = 0.0
        for r in family:
            if away[r]:
                continue
            total += regions.exits[r]
            ways += self.at_ways[r]
            for other, cost in regions.together[r]:
                if away[other]:
                    total += cost
            for border in regions.borders[r]:
                if away[border.region]:
                    total -= border.back
                elif len(family) == 1 or border.region not in family:
                    total += border.out
        value = regions.value[family[0]]
        return total + self._stores(value, ways) - self._stores(value, 0.0)

    def _stores(self, value: int, more: float) -> float:
        return min(self.define.get(value, 0.0), self.leave.get(value, 0.0) + more)

    def _leave(self, family: Sequence[int]) -> None:
        regions, room, over = self.regions, self.room, self.over
        for r in family:
            if self.away[r]:
                continue
            self.away[r] = 1
            self.leave[regions.value[r]] = self.leave.get(regions.value[r], 0.0) + self.at_ways[r]
            for start, end in regions.points[r]:
                part = room[start:end]
                part += 1
                before = over[start:end]
                fits = before & (part >= 0)
                count = int(np.count_nonzero(fits))
                if count:
                    self.left -= count
                    before ^= fits

    def take_back(self) -> None:
        """Bring back what is not needed away, by what that saves: whole families first, then single regions."""
        regions = self.regions
        families = [[r for r in family if self.away[r]] for family in regions.families if len(family) > 1]
        singles = [[r] for r in range(len(regions.value)) if self.away[r]]
        for sets in (families, singles):
            order = sorted((-self._saved(mine), k) for k, mine in enumerate(sets) if mine)
            for _, k in order:
                mine = [r for r in sets[k] if self.away[r]]
                if mine and self._saved(mine) > 0 and self._fits(mine):
                    self._return(mine)

    def _saved(self, family: Sequence[int]) -> float:
        regions, away = self.regions, self.away
        total = 0.0
        ways = 0.0
        for r in family:
            total += regions.exits[r]
            ways += self.at_ways[r]
            total += sum(cost for other, cost in regions.together[r] if away[other])
            for border in regions.borders[r]:
                if border.region in family:
                    continue
                if away[border.region]:
                    total -= border.back
                else:
                    total += border.out
        value = regions.value[family[0]]
        return total + self._stores(value, 0.0) - self._stores(value, -ways)

    def _fits(self, family: Sequence[int]) -> bool:
        """Is there room everywhere? (Regions of one value never overlap.)"""
        room, points = self.room, self.regions.points
        return all(bool(np.all(room[start:end] > 0)) for r in family for start, end in points[r])

    def _return(self, family: Sequence[int]) -> None:
        regions = self.regions
        for r in family:
            self.away[r] = 0
            self.leave[regions.value[r]] -= self.at_ways[r]
            for start, end in regions.points[r]:
                self.room[start:end] -= 1
