"""This module chooses the parts of live ranges that leave the registers, so that the rest fits at every program point.

A *region* is a connected part of a value's live range in which nothing accesses the value. It extends from one access
to the next, over block borders too, up to chosen borders such as loop borders. At an access a value is in a register.
In a region it is in a register, or the region is spilled. To come back costs a reload or a recomputation at each access
behind the region and on each border to a region in a register. Before a value leaves, memory must hold what is
reloaded. A store costs the weight of its access or border, and is placed where that is cheapest (`stores`). So a value
may be in memory around a loop and in a register inside it, or the other way round. Or it is in memory only between two
distant uses.

Before: regions in numbers (`Regions`), and pressure and capacity at each point. After: the regions that go to memory
(`choose`). The choice is greedy, most relieved points per cost first; single regions compete with families of regions
of one value. Then regions between spilled regions are spilled, too, if that is cheaper. Regions that later choices made
needless are brought back, most expensive first. Time is linear in regions but for a logarithm, times the points that
each one spans.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.stores import DEFINED, Way, valid_regions
from binalloc.models.allocation.terms import Interval

NOBODY = -1
"""Stands for no value; values are numbered from 0."""


class Border(NamedTuple):
    """A border is where a region meets another of the same value. Both regions have theirs."""

    region: int  #: the other region
    out: float  #: cost of coming back on the way from this region to the other
    back: float  #: cost of coming back on the way from the other region to this one


class Crossing(NamedTuple):
    """A crossing is an extra cost of coming back on a border by recomputation, if `leaf` is spilled, too."""

    region: int  #: region that is spilled
    other: int  #: region that is in a register
    leaf: int  #: region of a value that the recomputation reads
    cost: float  #: additional cost of the comeback


@dataclass
class Regions:
    """The regions of a function are the parts of live ranges that may leave the registers, with the costs of spilling
    them."""

    value: list[int] = field(default_factory=list)  #: value of each region
    points: list[list[Interval]] = field(default_factory=list)  #: points of each region, as half-open intervals
    exits: list[float] = field(default_factory=list)  #: cost of coming back at the accesses behind each region
    stored: list[bool] = field(default_factory=list)  #: memory must hold something for that; else all is recomputed
    borders: list[Sequence[Border]] = field(default_factory=list)  #: borders of each region
    ways: list[Sequence[Way]] = field(default_factory=list)  #: ways into each region, each with the cost of a store
    #: regions of other values, with the extra cost if both are spilled: a recomputation reads the other value
    together: list[Sequence[tuple[int, float]]] = field(default_factory=list)
    families: list[Sequence[int]] = field(default_factory=list)  #: regions of one value, worth spilling together
    #: as `together`, where the recomputation is placed on a border
    crossings: list[Crossing] = field(default_factory=list)
    free: list[bool] = field(default_factory=list)  #: whether something comes back from the region without memory
    #: for a value, the regions with its prices here; None where these regions have their own
    of: Callable[[int], Regions] | None = None
    _stores: dict[tuple[int, ...], float] = field(default_factory=dict, repr=False)

    @cached_property
    def terms(self) -> _Terms:
        """Return sums over the regions. They are made at the first search; the regions do not change afterwards."""
        return _Terms(self)

    @cached_property
    def of_values(self) -> dict[int, list[int]]:
        """Return the regions of each value. As `terms`, it is made once all regions are there."""
        out: dict[int, list[int]] = {}
        for r, v in enumerate(self.value):
            out.setdefault(v, []).append(r)
        return out

    def stores(self, mine: Sequence[int], spilled: Collection[int], needed: Collection[int]) -> tuple[set[int], float]:
        """Return where memory holds a value, and the cost of its stores. mine: its regions. needed: regions in which it
        must."""
        return valid_regions({r: self.ways[r] for r in mine}, needed, spilled)

    def _stored(self, gone: Sequence[int]) -> float:
        """Return the cost of the stores of a value whose regions `gone` are spilled. Results are kept for similar
        choices."""
        value = self.value[gone[0]]
        if self.of is not None:
            return self.of(value)._stored(gone)
        key = tuple(gone)
        cost = self._stores.get(key)
        if cost is None:
            needed = [r for r in gone if self.stored[r]]
            cost = self._stores[key] = self.stores(self.of_values[value], gone, needed)[1] if needed else 0.0
        return cost

    def pressure_without(self, spilled: Iterable[int], pressure: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the pressure that is left with the regions `spilled` in memory."""
        left = pressure.copy()
        for r in spilled:
            for start, end in self.points[r]:
                left[start:end] -= 1
        return left

    def alone(self, gone: Sequence[int]) -> float:
        """Return the cost of the regions `gone` of one value in memory, and nothing else."""
        total = sum(self.exits[r] + sum(b.out for b in self.borders[r] if b.region not in gone) for r in gone)
        return total + self._stored(gone)

    def cost(self, spilled: Iterable[int]) -> float:
        """Return the cost of exactly the regions `spilled` in memory."""
        gone = set(spilled)
        total = 0.0
        mine: dict[int, list[int]] = {}
        for r in sorted(gone):
            total += self.exits[r] + sum([out for other, out, _ in self.borders[r] if other not in gone])
            total += sum([cost for other, cost in self.together[r] if r < other and other in gone])
            mine.setdefault(self.value[r], []).append(r)
        total += sum([c.cost for c in self.crossings if c.region in gone and c.leaf in gone and c.other not in gone])
        for v in sorted({self.value[r] for r in gone if self.stored[r]}):
            total += self._stored(mine[v])
        return total


class _Terms:
    """The terms are sums that every search in the same regions needs.

    at_ways: for each region, stores at all ways into it, if memory has to hold something in it. define: for each value,
    a store for each definition. of_region: families of each region. crossings: crossings of each region that takes
    part.
    """

    def __init__(self, regions: Regions) -> None:
        self.families = regions.families
        self.at_ways = [
            sum([cost for _, cost in ways]) if kept else 0.0
            for ways, kept in zip(regions.ways, regions.stored, strict=True)
        ]
        self.define: dict[int, float] = {}
        for r, ways in enumerate(regions.ways):
            for source, cost in ways:
                if source == DEFINED:
                    self.define[regions.value[r]] = self.define.get(regions.value[r], 0.0) + cost
        self.of_region: list[list[int]] = [[] for _ in regions.value]
        self._of_value: dict[int, list[int]] = {}
        self._dear: dict[int, list[tuple[float, int]]] = {}
        self.crossings: dict[int, list[Crossing]] = {}
        for crossing in regions.crossings:
            for r in {crossing.region, crossing.other, crossing.leaf}:
                self.crossings.setdefault(r, []).append(crossing)
        for f, family in enumerate(regions.families):
            for r in family:
                self.of_region[r].append(f)
            self._of_value.setdefault(regions.value[family[0]], []).append(f)

    def dear(self, value: int) -> list[tuple[float, int]]:
        """Return the families of a value with the cost of stores at all ways into them, most expensive first."""
        known = self._dear.get(value)
        if known is None:
            totals = [(sum([self.at_ways[r] for r in self.families[f]]), f) for f in self._of_value[value]]
            known = self._dear[value] = sorted(totals, reverse=True)
        return known


@dataclass
class RegionChoice:
    """A choice names the regions to spill, with the cost and the pressure that is left."""

    spilled: list[int]  #: regions that go to memory, ascending
    pressure: NDArray[np.int32]  #: pressure that is left at each point
    cost: float  #: see `Regions.cost` and `homes.Homes.cost`
    local: frozenset[int] = frozenset()  #: values for local memory where others have slots
    #: values to be kept in memory, others being recomputed; None where that is still to be decided
    kept: frozenset[int] | None = None


def choose(regions: Regions, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> RegionChoice:
    """Choose the regions to spill. If even all of them are not enough, some points of `RegionChoice.pressure` stay
    above capacity, because the accesses alone need more registers there."""
    spilled, left = chosen(regions, pressure, capacity)
    return RegionChoice(spilled, left, regions.cost(spilled))


def chosen(
    regions: Regions,
    pressure: NDArray[np.int32],
    capacity: NDArray[np.int32],
    begin: Iterable[int] = (),
    stays: int = NOBODY,
) -> tuple[list[int], NDArray[np.int32]]:
    """Return the regions as `choose` finds them, ascending, and the pressure that is left. begin: regions that are
    spilled from the start. stays: a value that is not spilled."""
    work = _Greedy(regions, pressure, capacity, stays)
    for r in begin:
        work.go((r,))
    work.relieve()
    work.improve()
    return [r for r, gone in enumerate(work.spilled) if gone], (capacity - work.room).astype(np.int32)


_PASSES = 4
"""Upper limit on rounds of `improve`. Two rounds nearly always suffice."""


class _Greedy:
    """The greedy search spills what costs least per relieved point. Attributes that are not listed: see `_Terms`.

    room: registers free at each point, negative where too many values are live. over: for each point, whether its room
    is negative. left: number of such points. leave: for each value, the cost of stores at all ways into spilled regions
    that come back from memory; its stores cost no more, and no more than `define`. costs: known parts of each family's
    cost.
    """

    def __init__(
        self, regions: Regions, pressure: NDArray[np.int32], capacity: NDArray[np.int32], stays: int
    ) -> None:
        self.regions, self.stays = regions, stays
        self.room = (capacity - pressure).astype(np.int32)
        self.over = bytearray((self.room < 0).tobytes())
        self.over_view = np.frombuffer(self.over, np.bool_)
        self.left = self.over.count(1)
        self.spilled = bytearray(len(regions.value))
        terms = regions.terms
        self.at_ways, self.define, self.of_region = terms.at_ways, terms.define, terms.of_region
        self.dear, self.crossings = terms.dear, terms.crossings
        self.leave: dict[int, float] = {}
        self.costs: list[tuple[float, float] | None] = [None] * len(regions.families)

    def relieve(self) -> None:
        """Spill families, cheapest per relieved point first, until no point is over capacity or none is left."""
        families, value = self.regions.families, self.regions.value
        gain = self._gains()
        queue = []
        for f, family in enumerate(families):
            total = gain[family[0]] if len(family) == 1 else sum([gain[r] for r in family])
            if total and value[family[0]] != self.stays:
                cost = self._cost(f)
                queue.append((cost / total, cost, f))
        heapq.heapify(queue)
        while queue and self.left:
            score, cost, f = heapq.heappop(queue)
            now = self._score(f)
            if now is None:
                continue
            if now > (score, cost, f):
                heapq.heappush(queue, now)
                continue
            before = self.leave.get(value[families[f][0]], 0.0)
            self.go(families[f])
            for other in self._cheaper(families[f], before):
                if value[families[other][0]] == self.stays:
                    continue
                found = self._score(other)
                if found is not None:
                    heapq.heappush(queue, found)

    def _gains(self) -> list[int]:
        """Return how many points over capacity each region covers, before any has been spilled."""
        count = np.concatenate(([0], np.cumsum(self.over_view, dtype=np.int64)))
        pieces = np.array([piece for points in self.regions.points for piece in points], np.int64).reshape(-1, 2)
        total = np.concatenate(([0], np.cumsum(count[pieces[:, 1]] - count[pieces[:, 0]])))
        ends = np.concatenate(([0], np.cumsum([len(points) for points in self.regions.points], dtype=np.int64)))
        gains: list[int] = (total[ends[1:]] - total[ends[:-1]]).tolist()
        return gains

    def _cheaper(self, family: Sequence[int], before: float) -> list[int]:
        """Return the families that may cost less now that `family` is spilled. They have a spilled region, one beside
        or crossing a spilled one, or stores that cost more than stores at definitions. before: `leave` until now."""
        regions = self.regions
        found: set[int] = set()
        for r in family:
            found.update(self.of_region[r])
            for beside, _, _ in regions.borders[r]:
                found.update(self.of_region[beside])
            for other in self._crossing(r):
                found.update(self.of_region[other])
        value = regions.value[family[0]]
        most, now = self.define.get(value, 0.0), self.leave.get(value, 0.0)
        if before < most and now > before:
            for ways, f in self.dear(value):
                if now + ways <= most:
                    break
                found.add(f)
        return sorted(found)

    def _score(self, f: int) -> tuple[float, float, int] | None:
        """Return (cost per relieved point, cost, family); None where the family relieves nothing."""
        family = self.regions.families[f]
        gain = self._gain(family)
        if not gain:
            return None
        cost = self._cost(f)
        return cost / gain, cost, f

    def _gain(self, family: Sequence[int]) -> int:
        """Return how many points over capacity a family would relieve."""
        over, spilled, points = self.over, self.spilled, self.regions.points
        gain = 0
        for r in family:
            if not spilled[r]:
                for start, end in points[r]:
                    gain += over.count(1, start, end)
        return gain

    def _cost(self, f: int) -> float:
        """Return the additional cost of spilling the regions of a family."""
        known = self.costs[f]
        if known is None:
            known = self.costs[f] = self._beside_stores(self.regions.families[f])
        return self._whole_cost(self.regions.families[f], known)

    def _whole_cost(self, family: Sequence[int], beside: tuple[float, float]) -> float:
        """Return the additional cost of a family, stores included. beside: as from `_beside_stores`."""
        value = self.regions.value[family[0]]
        most, now = self.define.get(value, 0.0), self.leave.get(value, 0.0)
        return beside[0] + min(most, now + beside[1]) - min(most, now)

    def _beside_stores(self, family: Sequence[int]) -> tuple[float, float]:
        """Return the cost of spilling a family without its stores, and the cost of stores on all ways into it."""
        regions, spilled = self.regions, self.spilled
        inside = frozenset(family)
        total = 0.0
        ways = 0.0
        for r in family:
            if spilled[r]:
                continue
            total += regions.exits[r]
            ways += self.at_ways[r]
            for other, cost in regions.together[r]:
                if spilled[other]:
                    total += cost
            for other, out, back in regions.borders[r]:
                if spilled[other]:
                    total -= back
                elif other not in inside:
                    total += out
        return total + self._crossed(family, True), ways

    def _crossed(self, family: Sequence[int], gone: bool) -> float:
        """Return the change in cost of crossings if the regions of a family are all spilled (`gone`), or none is."""
        if self.crossings.keys().isdisjoint(family):
            return 0.0
        spilled = self.spilled
        total = 0.0
        touched = dict.fromkeys(c for r in family for c in self.crossings.get(r, ()))
        for c in touched:
            total -= c.cost if spilled[c.region] and spilled[c.leaf] and not spilled[c.other] else 0.0
            there = [gone if r in family else bool(spilled[r]) for r in (c.region, c.leaf, c.other)]
            total += c.cost if there == [True, True, False] else 0.0
        return total

    def go(self, family: Sequence[int]) -> None:
        """Spill the regions of a family that are not spilled yet."""
        regions, room, over = self.regions, self.room, self.over_view
        for r in family:
            if self.spilled[r]:
                continue
            self.spilled[r] = 1
            self._forget(r)
            self.leave[regions.value[r]] = self.leave.get(regions.value[r], 0.0) + self.at_ways[r]
            for start, end in regions.points[r]:
                part = room[start:end]
                part += 1
                missing = self.over.count(1, start, end)
                if missing:
                    np.less(part, 0, out=over[start:end])
                    self.left -= missing - self.over.count(1, start, end)

    def _forget(self, r: int) -> None:
        """Forget the costs that depend on where region r is."""
        regions = self.regions
        beside = (*(b.region for b in regions.borders[r]), *(other for other, _ in regions.together[r]))
        for other in (r, *beside, *self._crossing(r)):
            for f in self.of_region[other]:
                self.costs[f] = None

    def _crossing(self, r: int) -> Iterator[int]:
        """Yield the regions whose comebacks on borders depend on where region r is."""
        for crossing in self.crossings.get(r, ()):
            yield from (crossing.region, crossing.other, crossing.leaf)

    def improve(self) -> None:
        """Spill regions that are cheaper spilled and bring back needless ones, while either changes anything."""
        for _ in range(_PASSES):
            before = bytes(self.spilled)
            self.send_along()
            self.take_back()
            if before == self.spilled:
                break

    def send_along(self) -> None:
        """Spill the regions that save comebacks: the value is spilled all around them and not needed in between."""
        regions, spilled, value = self.regions, self.spilled, self.regions.value
        beside = {b.region for r, gone in enumerate(spilled) if gone for b in regions.borders[r]}
        queue = [r for r in sorted(beside) if not spilled[r] and value[r] != self.stays]
        for r in queue:
            if not spilled[r] and self._whole_cost((r,), self._beside_stores((r,))) < 0:
                self.go((r,))
                queue += [b.region for b in regions.borders[r] if not spilled[b.region]]

    def take_back(self) -> None:
        """Bring back regions that need not be spilled, by saving: whole families first, then single regions."""
        families = [[r for r in family if self.spilled[r]] for family in self.regions.families if len(family) > 1]
        singles = [[r] for r, gone in enumerate(self.spilled) if gone]
        for sets in (families, singles):
            order = sorted((-self._saved(mine), k) for k, mine in enumerate(sets) if mine)
            for _, k in order:
                mine = [r for r in sets[k] if self.spilled[r]]
                if mine and self._saved(mine) > 0 and self._fits(mine):
                    self._return(mine)

    def _saved(self, family: Sequence[int]) -> float:
        """Return what is saved if a family comes back."""
        regions, spilled = self.regions, self.spilled
        inside = frozenset(family)
        total = 0.0
        ways = 0.0
        for r in family:
            total += regions.exits[r]
            ways += self.at_ways[r]
            total += sum([cost for other, cost in regions.together[r] if spilled[other]])
            for other, out, back in regions.borders[r]:
                if other not in inside:
                    total += -back if spilled[other] else out
        value = regions.value[family[0]]
        most, now = self.define.get(value, 0.0), self.leave.get(value, 0.0)
        return total - self._crossed(family, False) + min(most, now) - min(most, now - ways)

    def _fits(self, family: Sequence[int]) -> bool:
        """Return whether there is room for a family at all its points. (Regions of one value never overlap.)"""
        room, points = self.room, self.regions.points
        return all(bool((room[start:end] > 0).all()) for r in family for start, end in points[r])

    def _return(self, family: Sequence[int]) -> None:
        regions = self.regions
        for r in family:
            self.spilled[r] = 0
            self._forget(r)
            self.leave[regions.value[r]] -= self.at_ways[r]
            for start, end in regions.points[r]:
                self.room[start:end] -= 1
