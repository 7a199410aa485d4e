"""Registers, slots and local memory chosen together, by passes."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.models.allocation.homes import choose_homes
from binalloc.models.allocation.regions import choose
from tests.support.generator.models.regions import POINTS, two_prices


def test_who_finds_no_slot_pays_for_local_memory_and_others_are_taken_instead() -> None:
    cheaper = 0
    for seed in range(60):
        homes, pressure, capacity = two_prices(seed)
        first = choose(homes.slot, pressure, capacity)
        if homes.enough(first.spilled):
            continue
        alone = homes.cost(first.spilled, homes.without_slot(first.spilled))
        found = choose_homes(homes, pressure, capacity)
        assert found.cost <= alone
        cheaper += found.cost < alone - 1e-9
    assert cheaper


@pytest.mark.parametrize("seed", range(60))
def test_a_choice_fits_costs_what_it_says_and_finds_slots(seed: int) -> None:
    homes, pressure, capacity = two_prices(seed)
    choice = choose_homes(homes, pressure, capacity)
    assert not np.any(choice.pressure > capacity)
    assert choice.cost == pytest.approx(homes.cost(choice.spilled, choice.local))
    count = np.zeros(POINTS, np.int32)
    for r in choice.spilled:
        if homes.slot.stored[r] and homes.slot.value[r] not in choice.local:
            for start, end in homes.slot.points[r]:
                count[start:end] += 1
    assert count.max() <= homes.slots
