"""This module chooses regions whose values lie in slots as far as there are slots, and otherwise in local memory.

Needs the same regions at two prices, for values in slots and for values in local memory, and the number of slots.
Leaves for a choice of regions the values that get no slot (`without_slot`), and a choice of regions and slots
(`choose_homes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.regions import Crossing, RegionChoice, Regions, choose, chosen
from binalloc.models.allocation.spills import Spills
from binalloc.models.allocation.terms import Interval

T = TypeVar("T")


@dataclass
class Homes:
    """`Homes` has the regions of a function at two prices: of slots, and of local memory."""

    slot: Regions  #: the regions, at the prices of slots
    dear: Callable[[], Regions]  #: returns the same regions at the prices of local memory
    slots: int  #: number of slots; 0 where one price holds for all
    spills: Callable[[], Spills] | None = None  #: returns all parts that spill code may have, for an exact model

    @cached_property
    def local(self) -> Regions:
        """Return the regions at the prices of local memory."""
        return self.dear()

    @cached_property
    def pairs(self) -> list[tuple[tuple[int, int], list[float]]]:
        """Return pairs of regions of different values (the lower first), with the extra cost if both are spilled.

        The costs are at the prices of slots, and at the prices of local memory. Ascending.
        """
        found: dict[tuple[int, int], list[float]] = {}
        for k, regions in enumerate((self.slot, self.local)):
            for r, beside in enumerate(regions.together):
                for other, cost in beside:
                    if r < other:
                        found.setdefault((r, other), [0.0, 0.0])[k] += cost
        return sorted(found.items())

    @cached_property
    def crossings(self) -> list[tuple[tuple[int, int, int], list[float]]]:
        """Return the regions of each crossing, with its cost at either price. Ascending."""
        found: dict[tuple[int, int, int], list[float]] = {}
        for k, regions in enumerate((self.slot, self.local)):
            for region, other, leaf, cost in regions.crossings:
                found.setdefault((region, other, leaf), [0.0, 0.0])[k] += cost
        return sorted(found.items())

    def enough(self, spilled: Collection[int]) -> bool:
        """Return whether there are slots for all that these regions keep in memory."""
        regions = self.slot
        pieces = [piece for r in spilled if regions.stored[r] for piece in regions.points[r]]
        room = np.full(max((end for _, end in pieces), default=0), self.slots, np.int32)
        for start, end in pieces:
            room[start:end] -= 1
        return not np.any(room < 0)

    def without_slot(self, spilled: Collection[int]) -> frozenset[int]:
        """Return the values with spilled regions that get no slot.

        Slots go first to the values for which local memory would cost most.
        """
        gone = set(spilled)
        mine: dict[int, list[int]] = {}
        for r in sorted(gone):
            if self.slot.stored[r]:
                mine.setdefault(self.slot.value[r], []).append(r)
        more = {v: self.local.alone(rs) - self.slot.alone(rs) for v, rs in mine.items()}
        last = max((end for r in gone for _, end in self.slot.points[r]), default=0)
        room = np.full(last, self.slots, np.int32)
        local = set()
        for v in sorted(mine, key=lambda v: (-more[v], v)):
            pieces = [piece for r in mine[v] for piece in self.slot.points[r]]
            if more[v] < 0 or not _take(room, pieces):
                local.add(v)
        return frozenset(local)

    def cost(self, spilled: Collection[int], local: frozenset[int]) -> float:
        """Return the cost of exactly the regions `spilled` in memory, with the values `local` in local memory.

        Where a recomputation and a value that it reads lie in different memories, the lower of the two prices counts.
        """
        return (self._mixed(local) if local else self.slot).cost(spilled)

    def _mixed(self, local: frozenset[int]) -> Regions:
        """Return the regions, with the values `local` at the prices of local memory and the others at the prices of
        slots."""
        slot, dear, value = self.slot, self.local, self.slot.value
        far = [v in local for v in value]

        def of(here: list[T], there: list[T]) -> list[T]:
            return [b if is_far else a for is_far, a, b in zip(far, here, there, strict=True)]

        together: list[list[tuple[int, float]]] = [[] for _ in value]
        for (r, other), prices in self.pairs:
            cost = _between(prices, far[r], far[other])
            together[r].append((other, cost))
            together[other].append((r, cost))
        crossed = [
            Crossing(*key, _between(prices, far[key[0]], far[key[2]]))
            for key, prices in self.crossings
        ]
        return Regions(
            value,
            slot.points,
            of(slot.exits, dear.exits),
            of(slot.stored, dear.stored),
            of(slot.borders, dear.borders),
            of(slot.ways, dear.ways),
            list(together),
            [],
            crossed,
            of(slot.free, dear.free),
            lambda v: dear if v in local else slot,
        )

    def holding(self, holders: Collection[int]) -> Regions:
        """Return the regions, with all values but `holders` priced for local memory; `holders` have slots."""
        mixed = self._mixed(frozenset(self.slot.value).difference(holders))
        mixed.families = self.slot.families
        return mixed


_PASSES = 4
"""Upper limit on rounds over the question which values have slots. Two rounds nearly always suffice."""


def choose_homes(homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> RegionChoice:
    """Choose regions to send to memory, as `regions.choose`, and the values that then find no slot.

    The first choice is made as if there were slots for all. If there are not, the values without a slot come back, and
    the best relief is sought again, with only the holders of slots priced for slots. That goes on as long as it gets
    cheaper.
    """
    if not homes.slots:
        return choose(homes.slot, pressure, capacity)
    spilled, left = chosen(homes.slot, pressure, capacity)
    best: RegionChoice | None = None
    for _ in range(_PASSES):
        local = frozenset() if homes.enough(spilled) else homes.without_slot(spilled)
        cost = homes.cost(spilled, local)
        if best is not None and cost >= best.cost:
            break
        best = RegionChoice(spilled, left, cost, local)
        stored = {homes.slot.value[r] for r in spilled if homes.slot.stored[r]}
        if not local:
            break
        holders = stored - local
        still = [r for r in spilled if homes.slot.value[r] in holders or not homes.slot.stored[r]]
        spilled, left = chosen(homes.holding(holders), pressure, capacity, still)
    assert best is not None
    return best


def _between(prices: list[float], one_far: bool, other_far: bool) -> float:
    """Return the cost for two values, of which neither, one or both lie in local memory.

    prices: with both in slots, and with both in local memory; the lower of them counts for one in each.
    """
    if one_far and other_far:
        return prices[1]
    return min(prices) if one_far or other_far else prices[0]


def _take(room: NDArray[np.int32], pieces: list[Interval]) -> bool:
    """Take a slot at all points of `pieces`, and return whether there was one everywhere."""
    if any((room[start:end] <= 0).any() for start, end in pieces):
        return False
    for start, end in pieces:
        room[start:end] -= 1
    return True
