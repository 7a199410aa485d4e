"""What is sought from the greedy choice fits, costs what it says, and never more."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.search import search
from tests.support.generator.regions import problem, two_prices

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
        assert found.cost == pytest.approx(homes.cost(found.away, found.local))
        assert np.array_equal(found.pressure, homes.slot.pressure_without(found.away, pressure))
        assert not np.any(found.pressure > capacity)
        assert found is first or found.cost < first.cost
        cheaper += found is not first
    assert cheaper
