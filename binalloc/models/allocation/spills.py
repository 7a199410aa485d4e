"""This module describes the cost of spill code, comeback by comeback: all that can be chosen when values leave the
registers.

Needs regions of live ranges (`regions`) and the instructions between them. Leaves lists from which an exact model is
made (`cpsat`). A value is either kept in memory and read at each comeback, or recomputed there and never stored. Memory
holds a value in a region if it was stored on all ways into the region, or if memory held it before. An item is needless
where all that it defines is spilled and not kept: no operand then comes back for it. So the cheapest choice costs no
more than any code that one round of spilling emits.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.terms import Interval

NONE = -1
"""Stands for no region, or no item; numbers of both begin at 0."""


class SpillLeaf(NamedTuple):
    """A leaf is a value that a recomputation reads."""

    value: int  #: number of the value
    regions: tuple[int, ...]  #: where all of them are spilled, the value has to come back, too
    again: float  #: cost of recomputing it, unweighted; infinite where that is impossible


class Comeback(NamedTuple):
    """A comeback is a place at which a spilled value returns to a register."""

    region: int  #: region that is spilled
    to: int  #: NONE at an access; otherwise the next region, and the value comes back where that one is not spilled
    weight: float  #: how often it is executed
    again: float = inf  #: cost of recomputing the value, unweighted; infinite where that is impossible
    leaves: tuple[SpillLeaf, ...] = ()  #: values that the recomputation reads
    item: int = NONE  #: index of the needless item that needs the value; NONE where no such item does


class RegionWay(NamedTuple):
    """A way leads into a region, and a store may be placed on it."""

    source: int  #: region that it comes from, or `stores.DEFINED` for the value's definition
    region: int  #: region that it leads into
    weight: float  #: how often it is executed
    border: bool = False  #: it lies between blocks, where nothing accesses the value


class Needless(NamedTuple):
    """A needless item can be left out under three conditions.

    The regions behind its definitions are all spilled, none of those values is kept, and no operand has to come back
    for the region behind it.
    """

    behind: tuple[int, ...]  #: the regions behind its definitions
    operands: tuple[tuple[int, int], ...]  #: for each operand its region before the item and behind it
    points: tuple[int, ...]  #: points at which the item takes no registers if it is left out


class Hole(NamedTuple):
    """A hole is a number of registers that stay empty at a point, although the pressure counts them."""

    point: int  #: point in the code
    empty: int  #: registers that stay empty
    regions: tuple[int, ...]  #: the registers are not empty where one of these regions is spilled


@dataclass
class Spills:
    """The spills of a function are all parts that its spill code may have."""

    value: list[int]  #: for each region its value, as in `regions.Regions`
    points: list[list[Interval]]  #: for each region its points, as in `regions.Regions`
    near: float = 1.0  #: cost of an access to a slot; equal to `far` if there are no slots
    far: float = 1.0  #: cost of an access to local memory
    slots: int = 0  #: number of slots
    comebacks: list[Comeback] = field(default_factory=list)
    ways: list[RegionWay] = field(default_factory=list)
    needless: list[Needless] = field(default_factory=list)
    #: (region before, region behind) where part of a value is written: what memory holds behind has to be held before,
    #: where it is spilled
    written: set[tuple[int, int]] = field(default_factory=set)
    open: set[int] = field(default_factory=set)  #: regions with a way out on which nothing is read
    holes: list[Hole] = field(default_factory=list)

    @cached_property
    def recomputed(self) -> set[int]:
        """Return the values that are cheapest recomputed wherever they come back, whatever else is spilled."""
        dear = {back.region for back in self.comebacks if back.leaves or back.again > self.near}
        return set(self.value) - {self.value[r] for r in dear}

    @cached_property
    def asked(self) -> set[int]:
        """Return the values that may be kept or recomputed."""
        can = {back.region for back in self.comebacks if back.again < inf}
        can.update(r for item in self.needless for r in item.behind)
        return {self.value[r] for r in can} - self.recomputed

    def takers(self) -> list[int]:
        """Return the regions that take a slot at every point if their values come back from slots."""
        return sorted(
            {back.region for back in self.comebacks if self.value[back.region] not in self.recomputed} - self.open
        )

    def behind(self, back: Comeback) -> int:
        """Return the region of the value behind a comeback that is not needed, or NONE where it has none."""
        if back.item == NONE:
            return back.to
        return dict(self.needless[back.item].operands)[back.region]

    def rings(self) -> list[list[int]]:
        """Return the takers, grouped: regions that lead into one another while they are spilled form a ring."""
        behind: dict[int, set[int]] = {r: set() for r in self.takers()}
        for back in self.comebacks:
            if back.region in behind and self.behind(back) in behind:
                behind[back.region].add(self.behind(back))
        reached = {r: _reached(r, behind) for r in behind}
        rings = {r: tuple(sorted({r} | {x for x in found if r in reached[x]})) for r, found in reached.items()}
        return [list(ring) for ring in dict.fromkeys(rings.values())]

    def crowded(
        self, count: NDArray[np.int32], regions: Collection[int]
    ) -> list[tuple[tuple[int, tuple[int, ...]], int]]:
        """Return the points at which `count` is not 0, grouped by what relieves them.

        A key is the needless item at the point, or NONE, and the regions of `regions` that cover it. Its number is the
        highest count of its points. Ascending.
        """
        asked = np.flatnonzero(count)
        lying: list[list[int]] = [[] for _ in range(len(asked))]
        for r in regions:
            for start, end in self.points[r]:
                for at in range(int(np.searchsorted(asked, start)), int(np.searchsorted(asked, end))):
                    lying[at].append(r)
        gone = {point: n for n, item in enumerate(self.needless) for point in item.points}
        highest: dict[tuple[int, tuple[int, ...]], int] = {}
        for point, there in zip(asked.tolist(), lying, strict=True):
            key = gone.get(point, NONE), tuple(there)
            highest[key] = max(highest.get(key, 0), int(count[point]))
        return sorted(highest.items())


def _reached(r: int, behind: dict[int, set[int]]) -> set[int]:
    """Return all regions that can be reached from region r."""
    found: set[int] = set()
    queue = [r]
    for x in queue:
        queue += sorted(behind[x] - found)
        found |= behind[x]
    return found
