"""What spill code costs, comeback by comeback: all that can be chosen when values leave the registers.

Needs regions of live ranges (`regions`) and what stands between them. Leaves lists from which an exact model is made
(`cpsat`). A value is kept in memory, and read wherever it comes back, or recomputed there, and then never stored.
Memory holds it in a region if it was stored on all ways into it, or memory held it before. An item is needless where
all that it defines is away and not kept: then nothing comes back for it. So the cheapest choice costs no more than any
code that one round of spilling emits.
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
"""No region, or no item."""


class Leaf(NamedTuple):
    """What a recomputation reads. regions: it has to come back, too, where all of them are away. again: what it costs
    to recompute it, unweighted; infinite where that cannot be."""

    value: int
    regions: tuple[int, ...]
    again: float


class Comeback(NamedTuple):
    """Where the value of a region that is away comes back: at an access, or, with `to`, where that region is not away.
    again: what it costs to recompute it, unweighted; infinite where that cannot be. item: number of the needless item,
    NONE for others, that it comes back for."""

    region: int
    to: int
    weight: float
    again: float = inf
    leaves: tuple[Leaf, ...] = ()
    item: int = NONE


class Way(NamedTuple):
    """Where a store would stand on a way from a region, or the value's definition (`stores.DEFINED`), into another.
    border: between blocks, where nothing accesses the value."""

    source: int
    region: int
    weight: float
    border: bool = False


class Needless(NamedTuple):
    """An item that is left out if the regions behind what it defines are all away, none of those values is kept, and no
    operand has to come back for the region behind it. points: at which it then takes no registers."""

    behind: tuple[int, ...]
    operands: tuple[tuple[int, int], ...]
    points: tuple[int, ...]


class Hole(NamedTuple):
    """So many registers that the pressure at a point counts stay empty, unless one of the regions is away."""

    point: int
    empty: int
    regions: tuple[int, ...]


@dataclass
class Spills:
    """value, points: by region, as in `regions.Regions`. near, far: what an access to memory costs, in a slot and in
    local memory, if there are `slots`; one and the same if there are none. written: (region before, region behind)
    where part of a value is written: what memory holds behind it has to hold before, where it is away. open: regions
    out of which some way reads nothing."""

    value: list[int]
    points: list[list[Interval]]
    near: float = 1.0
    far: float = 1.0
    slots: int = 0
    comebacks: list[Comeback] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    needless: list[Needless] = field(default_factory=list)
    written: set[tuple[int, int]] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    holes: list[Hole] = field(default_factory=list)

    @cached_property
    def recomputed(self) -> set[int]:
        """Values that cost least recomputed wherever they come back, whatever else is away."""
        dear = {back.region for back in self.comebacks if back.leaves or back.again > self.near}
        return set(self.value) - {self.value[r] for r in dear}

    @cached_property
    def asked(self) -> set[int]:
        """Values that may be kept or recomputed."""
        can = {back.region for back in self.comebacks if back.again < inf}
        can.update(r for item in self.needless for r in item.behind)
        return {self.value[r] for r in can} - self.recomputed

    def takers(self) -> list[int]:
        """Regions that take a slot at every point if their values come back from slots."""
        return sorted(
            {back.region for back in self.comebacks if self.value[back.region] not in self.recomputed} - self.open
        )

    def behind(self, back: Comeback) -> int:
        """The region that the value is in behind a comeback that is not needed, NONE for no more."""
        if back.item == NONE:
            return back.to
        return dict(self.needless[back.item].operands)[back.region]

    def rings(self) -> list[list[int]]:
        """The takers, those together that lead into one another where they are away."""
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
        """Points at which `count` is not 0, as what relieves them: the needless item there, or NONE, and those of the
        regions that lie there. With the highest count of the points of which that is the same. Ascending."""
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
    found: set[int] = set()
    queue = [r]
    for x in queue:
        queue += sorted(behind[x] - found)
        found |= behind[x]
    return found
