"""Registers, slots and local memory chosen together: the passes' choice and CP-SAT's against all there are."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from binalloc.models.allocation.cpsat import solve
from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import choose
from tests.support.generator.regions import POINTS, two_prices


def subsets(of: list[int]) -> chain[tuple[int, ...]]:
    return chain.from_iterable(combinations(of, n) for n in range(len(of) + 1))


def crowded(homes: Homes, away: frozenset[int], local: frozenset[int]) -> bool:
    """Are more values surely in slots at some point than there are slots?"""
    regions = homes.slot
    count = np.zeros(POINTS, np.int32)
    for r in away & set(homes.takers):
        if regions.value[r] not in local:
            for start, end in regions.points[r]:
                count[start:end] += 1
    return bool(np.any(count > homes.slots))


@pytest.mark.parametrize("seed", range(60))
def test_choices_against_all_there_are(seed: int) -> None:
    homes, pressure, capacity = two_prices(seed)
    regions = homes.slot
    cheapest = float("inf")
    for away in map(frozenset, subsets(list(range(len(regions.value))))):
        if np.any(regions.pressure_without(away, pressure) > capacity):
            continue
        for local in map(frozenset, subsets(sorted({regions.value[r] for r in away}))):
            if not crowded(homes, away, local):
                cheapest = min(cheapest, homes.cost(away, local))
    choice = choose_homes(homes, pressure, capacity)
    assert not np.any(choice.pressure > capacity)
    assert choice.cost == pytest.approx(homes.cost(choice.away, choice.local))
    assert choice.cost >= cheapest - 1e-9
    for start in (None, choice):
        solution = solve(homes, pressure, capacity, start)
        assert solution.status == "optimal"
        assert solution.value == pytest.approx(cheapest)
        assert solution.bound == pytest.approx(cheapest)
        assert solution.away is not None
        assert not crowded(homes, frozenset(solution.away), solution.local)


def test_who_finds_no_slot_pays_for_local_memory_and_others_are_taken_instead() -> None:
    cheaper = 0
    for seed in range(60):
        homes, pressure, capacity = two_prices(seed)
        first = choose(homes.slot, pressure, capacity)
        if homes.enough(first.away):
            continue
        alone = homes.cost(first.away, homes.without_slot(first.away))
        found = choose_homes(homes, pressure, capacity)
        assert found.cost <= alone
        cheaper += found.cost < alone - 1e-9
    assert cheaper


@pytest.mark.parametrize("seed", range(60))
def test_values_with_slots_find_room(seed: int) -> None:
    homes, pressure, capacity = two_prices(seed)
    choice = choose_homes(homes, pressure, capacity)
    count = np.zeros(POINTS, np.int32)
    for r in choice.away:
        if homes.slot.stored[r] and homes.slot.value[r] not in choice.local:
            for start, end in homes.slot.points[r]:
                count[start:end] += 1
    assert count.max() <= homes.slots
