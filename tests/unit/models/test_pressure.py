"""Spill to pressure: nothing stays over capacity where it can be helped, and nothing is spilled for nothing."""

from __future__ import annotations

import random

import numpy as np

from binalloc.models.allocation.pressure import (
    Candidate,
    _drop_needless,
    choose_spills,
    from_bits,
    to_bits,
)


def pressure_of(live, points):
    """How many of the values are live at each point."""
    return sum((to_bits(mask, points) for mask in live), np.zeros(points, np.int64))


def test_bits_round_trip():
    mask = 0b1011_0000_0000_0001
    assert from_bits(to_bits(mask, 16).astype(bool)) == mask


def test_nothing_is_spilled_below_capacity():
    pressure = np.array([3, 4, 4])
    chosen, left = choose_spills(pressure, np.array([4, 4, 4]), [Candidate(0, (0b111,), 1.0)])
    assert chosen == []
    assert left.tolist() == [3, 4, 4]


def test_most_relief_per_cost_goes_first():
    pressure, capacity = np.array([5, 5, 5, 5]), np.array([4, 4, 4, 4])
    wide = Candidate(0, (0b1111,), 4.0)
    narrow = [Candidate(k, (1 << (k - 1),), 0.5) for k in range(1, 5)]
    assert choose_spills(pressure, capacity, [wide, *narrow])[0] == [1, 2, 3, 4]
    assert choose_spills(pressure, capacity, [Candidate(0, (0b1111,), 1.0), *narrow])[0] == [0]


def test_needless_spills_are_taken_back():
    pressure, capacity = np.array([5, 6]), np.array([4, 4])
    first = Candidate(0, (0b01,), 0.1)
    both = Candidate(1, (0b11, 0b10), 1.0)
    chosen, left = choose_spills(pressure, capacity, [first, both])
    assert chosen == [1]
    assert left.tolist() == [4, 4]


def test_random_choices_leave_no_excess():
    rng = random.Random(3)
    for _ in range(200):
        points, values = rng.randint(1, 60), rng.randint(1, 30)
        live = [rng.getrandbits(points) for _ in range(values)]
        capacity = np.full(points, rng.randint(0, values))
        pressure = pressure_of(live, points)
        candidates = [Candidate(v, (mask,), rng.random() * 10) for v, mask in enumerate(live)]
        chosen, left = choose_spills(pressure, capacity, candidates)
        assert np.all(left <= capacity)
        kept = pressure_of([m for v, m in enumerate(live) if v not in chosen], points)
        assert left.tolist() == kept.tolist()
        for group in chosen:  # each one is needed
            assert np.any(kept + to_bits(live[group], points) > capacity)


def plain_choice(pressure, capacity, candidates):
    """Every choice made anew among all candidates: most relieved points per cost, then the cheaper, then the lower."""
    chosen = []
    while np.any(pressure > capacity):
        over = from_bits(pressure > capacity)
        gains = {c: sum((m & over).bit_count() for m in c.relieved) for c in candidates if c.group not in chosen}
        best = max(gains, key=lambda c: (gains[c] / (c.cost + 1e-9), -c.cost, -c.group), default=None)
        if best is None or not gains[best]:
            break
        chosen.append(best.group)
        pressure = pressure - sum(to_bits(m, len(pressure)).astype(np.int64) for m in best.relieved)
    return _drop_needless(chosen, candidates, pressure, capacity)[0]


def test_random_choices_are_those_made_one_by_one():
    rng = random.Random(4)
    for _ in range(200):
        points, values = rng.randint(1, 60), rng.randint(2, 30)
        live = [rng.getrandbits(points) & rng.getrandbits(points) for _ in range(values)]
        pairs = [tuple(live[v : v + 2]) if v % 3 else (live[v],) for v in range(0, values, 2)]
        candidates = [Candidate(g, relieved, rng.choice([0.0, 1.0, 1.0, 2.5])) for g, relieved in enumerate(pairs)]
        pressure, capacity = pressure_of(live, points), np.full(points, rng.randint(0, values // 2))
        assert choose_spills(pressure, capacity, candidates)[0] == plain_choice(pressure, capacity, candidates)
