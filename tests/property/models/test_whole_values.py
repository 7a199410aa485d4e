"""Whole values in memory: what leaves makes room where that can be, and none of it needlessly."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from binalloc.models.allocation.regions import Regions
from binalloc.models.allocation.stores import DEFINED
from binalloc.models.allocation.whole_values import whole_values

POINTS = 20


def problem(seed: int) -> tuple[Regions, NDArray[np.int32], NDArray[np.int32]]:
    """Values of one to three regions, and points where something is needed that cannot leave."""
    rng = random.Random(seed)
    out = Regions()
    pressure = np.zeros(POINTS, np.int32)
    for v in range(rng.randint(2, 9)):
        cuts = sorted(rng.sample(range(POINTS + 1), 2 * rng.randint(1, 3)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=True):
            out.value.append(v)
            out.points.append([(start, end)])
            out.exits.append(rng.choice([1.0, 10.0, 100.0]))
            out.stored.append(True)
            out.borders.append([])
            out.together.append([])
            out.ways.append([(DEFINED, rng.choice([1.0, 10.0]))])
            pressure[start:end] += 1
    pressure[rng.randrange(POINTS)] += rng.choice([0, 0, 3])
    return out, pressure, np.full(POINTS, rng.randint(1, 4), np.int32)


def left(regions: Regions, pressure: NDArray[np.int32], values: list[int]) -> NDArray[np.int32]:
    return regions.pressure_without([r for r, v in enumerate(regions.value) if v in values], pressure)


@pytest.mark.parametrize("part", range(5))
def test_there_is_room_where_there_can_be_and_each_value_is_needed(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        regions, pressure, capacity = problem(seed)
        spilled = whole_values(regions, pressure, capacity)
        least = left(regions, pressure, sorted(set(regions.value)))
        assert np.all(left(regions, pressure, spilled) <= np.maximum(capacity, least)), seed
        for v in spilled:
            without = left(regions, pressure, [other for other in spilled if other != v])
            assert np.any(without > capacity), f"seed {seed}: value {v} leaves for nothing"


def test_the_cheapest_by_relieved_point_leaves_first() -> None:
    """Two values everywhere, one register: the first costs 11, the second 2."""
    ways = [[(DEFINED, 1.0)], [(DEFINED, 1.0)]]
    regions = Regions([0, 1], [[(0, 4)], [(0, 4)]], [10.0, 1.0], [True, True], [[], []], ways, [[], []])
    assert whole_values(regions, np.full(4, 2, np.int32), np.full(4, 1, np.int32)) == [1]
    regions.exits[1] = 20.0
    assert whole_values(regions, np.full(4, 2, np.int32), np.full(4, 1, np.int32)) == [0]
