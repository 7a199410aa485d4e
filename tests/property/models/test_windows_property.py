"""The window of public bytes costs as little as any that is allowed, counted byte by byte by a slow second way."""

from __future__ import annotations

import random

import pytest

from binalloc.models.allocation.windows import Weighted, Window, cheapest


def cost(accesses: list[tuple[set[int], int]], window: tuple[int, int], used: set[int]) -> tuple[int, int]:
    """How often accesses to public bytes are executed, and those of them that may be to private bytes, too."""
    public = {b for b in used if window[0] <= b < window[1]}
    waiting = [(bytes_, weight) for bytes_, weight in accesses if bytes_ & public]
    return sum(w for _, w in waiting), sum(w for bytes_, w in waiting if bytes_ & (used - public))


@pytest.mark.parametrize("seed", range(60))
def test_no_window_costs_less(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randrange(4, 20)
    accesses = []
    for _ in range(rng.randrange(1, 6)):
        first = rng.randrange(size)
        accesses.append((set(range(first, rng.randrange(first, size) + 1)), rng.choice([1, 10, 100])))
    used = {b for b in range(size) if rng.random() < 0.9}
    allowed = [(a, b) for a in range(size) for b in range(a + 1, size + 1) if rng.random() < 0.4]
    found = cheapest(
        [Weighted(sum(1 << b for b in bytes_), weight) for bytes_, weight in accesses],
        [Window(*w) for w in allowed], sum(1 << b for b in used),
    )  # fmt: skip
    if not allowed:
        assert found == []
        return
    least = min(cost(accesses, w, used) for w in allowed)
    best = [w for w in allowed if cost(accesses, w, used) == least]
    assert set(found) <= set(best)
    assert all(any(w[0] <= f.first and f.end <= w[1] for f in found) for w in best)
