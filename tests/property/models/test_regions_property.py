"""What leaves the registers: the greedy choice against all choices there are, on small random problems."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from binalloc.models.allocation.regions import Regions, choose
from binalloc.models.allocation.stores import DEFINED
from tests.support.generator.models.regions import POINTS, problem


def stores(regions: Regions, spilled: frozenset[int]) -> float:
    """The cheapest stores by trying all sets of regions in which memory holds the values."""
    total = 0.0
    for v in sorted({regions.value[r] for r in spilled if regions.stored[r]}):
        mine = [r for r, value in enumerate(regions.value) if value == v]
        needed = {r for r in mine if r in spilled and regions.stored[r]}
        best = float("inf")
        for held in map(set, subsets(mine)):
            if not needed <= held:
                continue
            cost = 0.0
            for r in held:
                for source, price in regions.ways[r]:
                    if source == DEFINED or (source != r and source not in held):
                        cost += float("inf") if source in spilled else price
            best = min(best, cost)
        total += best
    return total


def subsets(of: list[int]) -> chain[tuple[int, ...]]:
    return chain.from_iterable(combinations(of, n) for n in range(len(of) + 1))


def cost(regions: Regions, spilled: frozenset[int]) -> float:
    """By the words of `Regions`' docstring."""
    total = sum(regions.exits[r] for r in spilled)
    for r in spilled:
        total += sum(b.out for b in regions.borders[r] if b.region not in spilled)
        total += sum(price for other, price in regions.together[r] if other in spilled) / 2
    total += sum(c.cost for c in regions.crossings if {c.region, c.leaf} <= spilled and c.other not in spilled)
    return total + stores(regions, spilled)


def fits(regions: Regions, spilled: frozenset[int], pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> bool:
    return bool(np.all(regions.pressure_without(spilled, pressure) <= capacity))


@pytest.mark.parametrize("seed", range(60))
def test_choices_against_all_there_are(seed: int) -> None:
    regions, pressure, capacity = problem(seed)
    everything = [frozenset(s) for s in subsets(list(range(len(regions.value))))]
    possible = [spilled for spilled in everything if fits(regions, spilled, pressure, capacity)]
    cheapest = min(cost(regions, spilled) for spilled in possible)
    choice = choose(regions, pressure, capacity)
    assert fits(regions, frozenset(choice.spilled), pressure, capacity)
    assert choice.cost == pytest.approx(cost(regions, frozenset(choice.spilled)))
    assert np.array_equal(choice.pressure, regions.pressure_without(choice.spilled, pressure))
    assert choice.cost >= cheapest - 1e-9


def test_where_accesses_alone_are_too_many_nothing_fits() -> None:
    regions, pressure, _ = problem(1)
    capacity = np.full(POINTS, -1, np.int32)
    assert np.any(choose(regions, pressure, capacity).pressure > capacity)
