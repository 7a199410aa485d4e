"""Sets of points as intervals, against sets of points."""

from __future__ import annotations

import random

import pytest

from binalloc.models.allocation.terms import Interval
from binalloc.transform.assign.intervals import meet, union


def _intervals(points: set[int]) -> list[Interval]:
    out: list[Interval] = []
    for p in sorted(points):
        if out and out[-1][1] == p:
            out[-1] = out[-1][0], p + 1
        else:
            out.append((p, p + 1))
    return out


@pytest.mark.parametrize("seed", range(200))
def test_union_and_meeting_are_those_of_the_sets(seed: int) -> None:
    rng = random.Random(seed)
    span = rng.choice((10, 200))
    one = {p for p in range(span) if rng.random() < rng.choice((0.1, 0.5))}
    other = {rng.randrange(span) for _ in range(rng.choice((1, 2, 20)))}
    assert meet(_intervals(one), _intervals(other)) == bool(one & other)
    other -= one
    together = _intervals(one | other)
    assert union(_intervals(one), _intervals(other)) == together
    assert union(_intervals(other), _intervals(one)) == together
