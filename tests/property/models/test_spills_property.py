"""What leaves the registers and how it comes back: CP-SAT's choice against all there are, on small random problems."""

from __future__ import annotations

from itertools import combinations, product
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from binalloc.models.allocation.cpsat import solve
from binalloc.models.allocation.regions import RegionChoice
from binalloc.models.allocation.spills import NONE, Comeback, Spills
from binalloc.models.allocation.stores import DEFINED
from tests.support.generator.models.spills import POINTS, spill_problem

Regions = frozenset[int]


def subsets(of: list[int]) -> list[Regions]:
    return [frozenset(some) for n in range(len(of) + 1) for some in combinations(of, n)]


class World:
    """Where everything is: by the words of `Spills`' docstrings."""

    def __init__(self, spills: Spills, spilled: Regions, held: Regions, kept: Regions, local: Regions) -> None:
        self.spills, self.spilled, self.held, self.kept, self.local = spills, spilled, held, kept, local
        self.out = {n for n in range(len(spills.needless)) if self._left_out(n)}

    def _left_out(self, n: int) -> bool:
        item = self.spills.needless[n]
        unread = all(before not in self.spilled or after in (NONE, *self.spilled) for before, after in item.operands)
        return unread and all(r in self.spilled and self.spills.value[r] not in self.kept for r in item.behind)

    def access(self, value: int) -> float:
        return self.spills.far if value in self.local else self.spills.near

    def comes(self, back: Comeback) -> bool:
        return back.region in self.spilled and back.to not in self.spilled and back.item not in self.out

    def again(self, back: Comeback) -> float:
        leaves = (leaf for leaf in back.leaves if self.spilled.issuperset(leaf.regions))
        return back.again + sum(min(leaf.again, self.access(leaf.value)) for leaf in leaves)

    def stores(self) -> float:
        total = 0.0
        for source, r, weight, border in self.spills.ways:
            if r in self.held and (source == DEFINED or source not in self.held):
                impossible = border and source in self.spilled and r in self.spilled
                total += inf if impossible else weight * self.access(self.spills.value[r])
        written = ((before in self.spilled, before in self.held, r in self.held) for before, r in self.spills.written)
        return inf if (True, False, True) in written else total

    def comebacks(self) -> float:
        total = 0.0
        for back in filter(self.comes, self.spills.comebacks):
            v = self.spills.value[back.region]
            read = self.access(v) if back.region in self.held else inf
            total += back.weight * (read if v in self.kept else self.again(back))
        return total

    def fits(self, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> bool:
        left = pressure.copy()
        for r in self.spilled:
            for start, end in self.spills.points[r]:
                left[start:end] -= 1
        for n in self.out:
            left[list(self.spills.needless[n].points)] = -1
        return bool(np.all(left <= capacity))

    def in_slots(self) -> bool:
        """Are there slots for the regions out of which, and out of whose rings, all ways read memory?"""
        takes: set[int] = set()
        left = [set(ring) for ring in self.spills.rings()]
        while left:  # those first that lead nowhere else
            ring = next(one for one in left if not any(self._behind(one) & other for other in left if other != one))
            left.remove(ring)
            if not any(self._without(back, takes, ring) for back in self.spills.comebacks):
                takes |= {r for r in ring & self.spilled if self.spills.value[r] in self.kept - self.local}
        count = np.zeros(POINTS, np.int32)
        for r in takes:
            for start, end in self.spills.points[r]:
                count[start:end] += 1
        return bool(np.all(count <= self.spills.slots))

    def _behind(self, ring: set[int]) -> set[int]:
        return {self.spills.behind(back) for back in self.spills.comebacks if back.region in ring} - {NONE}

    def _without(self, back: Comeback, takes: set[int], ring: set[int]) -> bool:
        """Does the way lead out of the ring and read no memory?"""
        if back.region not in ring:
            return False
        if self.comes(back):
            return False
        behind = self.spills.behind(back)
        return behind == NONE or (behind in self.spilled and behind not in takes | ring)


def cheapest_of(spills: Spills, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> float:
    regions, values = list(range(len(spills.value))), sorted(set(spills.value))
    cheapest = inf
    for spilled, held, kept in product(subsets(regions), subsets(regions), subsets(values)):
        for local in subsets(values) if spills.slots else (frozenset(),):
            world = World(spills, spilled, held, kept, local)
            cost = world.stores()
            if cost < cheapest and world.fits(pressure, capacity):
                cost += world.comebacks()
                if cost < cheapest and (not spills.slots or world.in_slots()):
                    cheapest = cost
    return cheapest


@pytest.mark.parametrize("seed", range(100))
def test_the_choice_against_all_there_are(seed: int) -> None:
    spills, pressure, capacity = spill_problem(seed)
    cheapest = cheapest_of(spills, pressure, capacity)
    found = solve(spills, pressure, capacity)
    assert found.status == "optimal"
    assert found.value == pytest.approx(cheapest, abs=0.02)
    assert found.bound == pytest.approx(cheapest, abs=0.02)
    assert found.bound <= cheapest + 1e-9
    assert found.spilled is not None
    start = RegionChoice(found.spilled, pressure, found.value, found.local)
    assert solve(spills, pressure, capacity, start).value == found.value


def test_where_accesses_alone_are_too_many_nothing_fits() -> None:
    spills, pressure, _ = spill_problem(1)
    assert solve(spills, pressure, np.full(POINTS, -1, np.int32)).status == "infeasible"


def test_a_limit_that_is_hit_leaves_the_start() -> None:
    spills, pressure, capacity = spill_problem(2)
    whole = solve(spills, pressure, capacity)
    assert whole.spilled is not None
    start = RegionChoice(whole.spilled, pressure, whole.value)
    found = solve(spills, pressure, capacity, start, limit=0.0)
    assert found.spilled == start.spilled
    assert found.bound <= found.value == start.cost
