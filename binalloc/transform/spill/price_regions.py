"""This module prices regions of live ranges in memory, for the choice of `models.allocation.regions`.

It needs regions (`find_regions`), and the costs of a store of each value and of each comeback. The same regions are
priced several times: for values in slots, for values in local memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from binalloc.models.allocation.regions import Border, Crossing, Regions
from binalloc.models.allocation.stores import DEFINED, Way
from binalloc.transform.spill.comeback import Comebacks, Price
from binalloc.transform.spill.find_regions import NOWHERE, FoundRegions, RegionAccess
from binalloc.transform.virtual.flat import Flat

T = TypeVar("T")
Comeback = Callable[[int, int], Price]  # (value, item before which it comes back) -> its unweighted price


class PriceList:
    """A price list has regions without their prices, in the form that pricing needs."""

    def __init__(self, flat: Flat, found: FoundRegions) -> None:
        self.flat, self.found = flat, found
        self.wishes = [
            (access.before, flat.items[k].weight)
            for k, here in found.accesses.items()
            for access in here
            if access.wish and access.before != NOWHERE
        ]
        """Region, weight."""

    def _accesses(self) -> Iterator[tuple[RegionAccess, int, float]]:
        """Yield (access, item, weight of the item) for every access that is no wish."""
        items = self.flat.items
        for k, here in self.found.accesses.items():
            weight = items[k].weight
            for access in here:
                if not access.wish:
                    yield access, k, weight

    @cached_property
    def families(self) -> list[Sequence[int]]:
        """List sets of regions of one value that may be worth spilling together, by the dearest comeback."""
        highest = [0.0] * len(self.found.value)
        for access, _, weight in self._accesses():
            if access.use and access.before != NOWHERE and weight > highest[access.before]:
                highest[access.before] = weight
        for joint in self.found.joints:
            highest[joint.source] = max(highest[joint.source], joint.weight)
        return _families(self.found.value, highest)

    def at(self, comebacks: Comebacks) -> Regions:
        """Return the regions at the prices of these comebacks. A store costs as much as a reload."""
        found, store, comeback = self.found, comebacks.store, comebacks.price
        count = len(found.value)
        out = Regions(
            found.value,
            found.points,
            [0.0] * count,
            [False] * count,
            [()] * count,
            [()] * count,
            [()] * count,
            self.families,
            free=[False] * count,
        )
        exits, stored, free, ways = out.exits, out.stored, out.free, out.ways
        made: dict[Way, Way] = {}  # most are alike
        for access, k, weight in self._accesses():
            v, before, after, use, define, merges, _ = access
            if after != NOWHERE:
                source = DEFINED if define else before
                if source != after:
                    ways[after] = _with(ways[after], made.setdefault(way := (source, weight * store(v)), way))
            if before == NOWHERE:
                continue
            if use:  # the value has to come back for it, if spilled before it
                price = comeback(v, k)
                cost, reads, leaves = price
                exits[before] += weight * cost
                (stored if reads else free)[before] = True
                if leaves:
                    self._together(out, before, k, weight, price, comeback)
            elif merges and after != NOWHERE:
                _merge_in(out, access, weight * comeback(v, k).cost)
        self._borders(out, store, comeback)
        if comebacks.code.held:
            self._unneeded(out, comebacks)
        for region, weight in self.wishes:
            exits[region] += weight * comebacks.prices.wish
        return out

    def _unneeded(self, out: Regions, comebacks: Comebacks) -> None:
        """Subtract needless reloads. The reload of an argument that arrived in memory is not needed if the argument is
        spilled behind it; but no region costs less than nothing."""
        for access, k, weight in self._accesses():
            saved = comebacks.saved(self.flat.items[k]) if access.define else 0.0
            if saved and access.after != NOWHERE:
                out.exits[access.after] = max(out.exits[access.after] - weight * saved, 0.0)

    def _together(
        self, out: Regions, before: int, k: int, weight: float, price: Price, comeback: Comeback
    ) -> None:
        """Add the costs for operands of a recomputation in the region `before`, if they are spilled, too."""
        for leaf, cost in self._leaves(before, k, weight, price, comeback):
            out.together[before] = _with(out.together[before], (leaf, cost))
            out.together[leaf] = _with(out.together[leaf], (before, cost))

    def _borders(self, out: Regions, store: Callable[[int], float], comeback: Comeback) -> None:
        joined: dict[tuple[int, int], float] = {}
        for a, b, weight, item in self.found.joints:
            out.ways[b] = _with(out.ways[b], (a, weight * store(out.value[a])))
            price = comeback(out.value[a], item)
            joined[a, b] = joined.get((a, b), 0.0) + weight * price.cost
            out.stored[a] = out.stored[a] or price.reads
            out.free[a] = out.free[a] or not price.reads
            leaves = self._leaves(a, item, weight, price, comeback)
            out.crossings += [Crossing(a, b, leaf, cost) for leaf, cost in leaves]
        for (a, b), cost in joined.items():
            out.borders[a] = _with(out.borders[a], Border(b, cost, joined.get((b, a), 0.0)))
            if (b, a) not in joined:
                out.borders[b] = _with(out.borders[b], Border(a, 0.0, cost))

    def _leaves(
        self, region: int, k: int, weight: float, price: Price, comeback: Comeback
    ) -> Iterator[tuple[int, float]]:
        """Yield, for each operand of a recomputation before item k, its region and the cost of having it back."""
        for leaf in price.leaves:
            _, end, other = self.found.span_at(leaf, 2 * k)
            # an access just before the item ends the region, but the point before it is in the region
            if end >= 2 * k and other != region:
                yield other, weight * comeback(leaf, k).cost


def _with(found: Sequence[T], one: T) -> Sequence[T]:
    """Add one to the sequence. Most regions have none or one of a kind, for which a list would take too much memory."""
    if not found:
        return (one,)
    if isinstance(found, list):
        found.append(one)
        return found
    return [*found, one]


def _merge_in(out: Regions, access: RegionAccess, cost: float) -> None:
    """Add a definition that leaves the old value unchanged where its guard fails."""
    before, after = access.before, access.after
    out.stored[before] = True  # the part that is written joins the content of memory
    if after != before:
        out.borders[before] = _with(out.borders[before], Border(after, cost, 0.0))
        out.borders[after] = _with(out.borders[after], Border(before, 0.0, cost))


def _families(value: list[int], highest: list[float]) -> list[Sequence[int]]:
    """List each region alone and, for each value and cost limit, the regions with comebacks of at most that cost."""
    by_value: dict[int, list[int]] = {}
    for r, v in enumerate(value):
        by_value.setdefault(v, []).append(r)
    out: list[Sequence[int]] = []
    for regions in by_value.values():
        out += [(r,) for r in regions]
        for limit in sorted({highest[r] for r in regions}):
            family = tuple(r for r in regions if highest[r] <= limit)
            if len(family) > 1:
                out.append(family)
    return out
