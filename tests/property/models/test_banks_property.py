"""Registers over banks, against all numberings that there are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from binalloc.models.allocation.banks import LEAST, STAYS, spread


def shared_cost(together: NDArray[np.float64], banks: int, number: Sequence[int]) -> float:
    """What it costs that registers with these numbers share banks."""
    bank = np.array(number) % banks
    return float(np.triu(together)[bank[:, None] == bank[None, :]].sum())


def _problem(rng: random.Random, most: int) -> tuple[NDArray[np.float64], int, list[int]]:
    count = rng.randrange(1, most)
    together = np.zeros((count, count))
    for one, other in combinations(range(count), 2):
        if rng.random() < 0.6:
            together[one, other] = together[other, one] = rng.choice((1.0, 2.0, 10.0, 100.0))
    return together, rng.choice((2, 2, 3, 4)), [rng.choice((STAYS, 0, 0, 0, 1, 2)) for _ in range(count)]


def _allowed(number: list[int], classes: list[int]) -> bool:
    return all(r == n or classes[r] == classes[n] != STAYS for r, n in enumerate(number))


@pytest.mark.parametrize("seed", range(60))
def test_no_exchange_makes_it_cheaper_and_the_least_of_all_is_met_where_one_exchange_leads_there(seed: int) -> None:
    rng = random.Random(seed)
    together, banks, classes = _problem(rng, 7)
    found = spread(together, banks, classes)
    assert sorted(found) == list(range(len(classes)))
    assert _allowed(found, classes)
    cost = shared_cost(together, banks, found)
    least = LEAST * shared_cost(together, 1, found)
    start = list(range(len(classes)))
    assert cost <= shared_cost(together, banks, start)
    for one, other in combinations(start, 2):
        if classes[one] == classes[other] != STAYS:
            changed = list(found)
            changed[one], changed[other] = changed[other], changed[one]
            assert cost <= shared_cost(together, banks, changed) + least
    costs = [shared_cost(together, banks, p) for p in permutations(start) if _allowed(list(p), classes)]
    assert min(costs) <= cost
    one_step = [
        shared_cost(together, banks, [b if r == a else a if r == b else r for r in start])
        for a, b in combinations(start, 2)
        if classes[a] == classes[b] != STAYS
    ]
    if min(costs) in one_step:
        assert cost <= min(costs) + least


def test_the_cost_counts_each_two_registers_of_one_bank_once() -> None:
    together = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
    assert shared_cost(together, 2, [0, 1, 2]) == 4.0
    assert shared_cost(together, 1, [0, 1, 2]) == 7.0
    assert spread(together, 2, [0, 0, 0]) == [0, 2, 1]


def test_of_many_registers_most_of_the_cost_goes() -> None:
    rng = random.Random(3)
    count = 250
    together = np.zeros((count, count))
    for _ in range(400):
        one, other = rng.sample(range(count), 2)
        together[one, other] = together[other, one] = rng.choice((1.0, 10.0))
    found = spread(together, 2, [0] * count)
    assert shared_cost(together, 2, found) < 0.25 * shared_cost(together, 2, list(range(count)))
