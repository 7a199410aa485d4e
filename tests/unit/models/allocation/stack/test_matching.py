"""The assignment problem against every permutation."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from binalloc.models.allocation.stack.matching import cheapest_matching


@pytest.mark.parametrize("seed", range(60))
def test_no_permutation_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    rows = rng.randrange(6)
    columns = rows + rng.randrange(3)
    cost = [[float(rng.choice((0, 0, 1, 2, 5, 40, 1000))) for _ in range(columns)] for _ in range(rows)]
    found = cheapest_matching(cost)
    assert len(set(found)) == rows
    least = min(sum(cost[r][c] for r, c in enumerate(chosen)) for chosen in permutations(range(columns), rows))
    assert sum(cost[r][c] for r, c in enumerate(found)) == least
