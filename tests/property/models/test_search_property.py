"""What is sought from the greedy choice fits, costs what it says, and never more."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import Border, Regions
from binalloc.models.allocation.search import search
from binalloc.models.allocation.stores import DEFINED
from tests.support.generator.models.regions import problem, two_prices

SEEDS = range(80)


@pytest.mark.parametrize("slots", [True, False])
def test_what_is_found_fits_and_costs_no_more(slots: bool) -> None:
    cheaper = 0
    for seed in SEEDS:
        homes, pressure, capacity = two_prices(seed)
        if not slots:
            homes = Homes(problem(seed)[0], homes.dear, 0)
        first = choose_homes(homes, pressure, capacity)
        found = search(homes, pressure, capacity, first)
        assert found.cost == pytest.approx(homes.cost(found.spilled, found.local))
        assert np.array_equal(found.pressure, homes.slot.pressure_without(found.spilled, pressure))
        assert not np.any(found.pressure > capacity)
        assert found is first or found.cost < first.cost
        cheaper += found is not first
    assert cheaper


def test_a_value_leaves_around_loops_and_in_them_where_nothing_reads_it() -> None:
    """Value 0 is read at 100 in its last region and else nowhere, but each border that it comes back on costs 50; value
    1, which costs 10, is only spilled in the inner loop. Alone, or all together, the regions of value 0 cost more."""
    value, points = [0, 0, 0, 0, 1], [[(0, 1)], [(1, 2)], [(2, 3)], [(3, 4)], [(2, 3)]]
    borders = [
        [Border(1, 50.0, 50.0)],
        [Border(0, 50.0, 50.0), Border(2, 50.0, 50.0)],
        [Border(1, 50.0, 50.0), Border(3, 1.0, 50.0)],
        [Border(2, 50.0, 1.0)],
        [],
    ]
    ways = [[(DEFINED, 1.0)], [(0, 50.0)], [(1, 50.0)], [(2, 50.0)], [(DEFINED, 1.0)]]
    families = [(0,), (1,), (2,), (3,), (0, 1, 2, 3), (4,)]
    regions = Regions(
        value, points, [0.0, 0.0, 0.0, 100.0, 10.0], [True] * 5, borders, ways, [[] for _ in value], families,
        free=[False] * 5,
    )  # fmt: skip
    homes = Homes(regions, lambda: regions, 0)
    pressure, capacity = np.array([1, 1, 2, 1], np.int32), np.ones(4, np.int32)
    first = choose_homes(homes, pressure, capacity)
    assert (first.spilled, first.cost) == ([4], 11.0)
    found = search(homes, pressure, capacity, first)
    assert (found.spilled, found.cost) == ([0, 1, 2], 2.0)
