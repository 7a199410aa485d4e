"""The variables of the shared part are those that are in use for the fewest instructions."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from binalloc.analysis.sharing.access_ranges import around
from binalloc.bitset import bits
from binalloc.models.sharing import layout
from binalloc.models.sharing.layout import Moment, Unit, bytes_of, in_range, least_in_range, packed, places
from tests.unit.analysis.sharing.test_access_ranges import BY, FIGURE_7, A, B


def test_figure_7() -> None:
    found = around(FIGURE_7, BY)
    moments = [Moment(*found.at(node), 1.0) for node in range(len(BY))]
    assert least_in_range([Unit(4)] * 3, moments, 4).shared == A | B


def test_figure_6() -> None:
    # P1 to P8 are a way; V1 is accessed at both ends, V2 and V3 within, V4 around these
    order = [0, 3, 1, 2, 1, 2, 3, 0]
    by = [1 << v for v in order]
    found = around([[n + 1] for n in range(7)] + [[]], by)
    moments = [Moment(*found.at(node), 1.0) for node in range(8)]
    best = least_in_range([Unit(4)] * 4, moments, 8)
    assert (best.shared, best.weight) == (0b0110, 4)
    assert in_range(moments, 0b1001) == 8


def test_nothing_fits_or_all() -> None:
    moments = [Moment(1, 1, 2.0)]
    assert least_in_range([Unit(8)], moments, 7).shared == 1
    best = least_in_range([Unit(8)], moments, 8)
    assert (best.shared, best.weight) == (0, 0)


def test_the_most_aligned_come_first() -> None:
    units = [Unit(4, 4), Unit(16, 16), Unit(6, 8)]
    assert packed(units, [0, 1, 2]) == {1: 0, 2: 16, 0: 24}
    assert bytes_of(units, [0, 1, 2]) == 28
    assert bytes_of(units, []) == 0


def _case(rng: random.Random, count: int) -> tuple[list[Unit], list[Moment], int]:
    aligned = [rng.choice((4, 8, 16)) for _ in range(count)]
    units = [Unit(align * rng.randrange(1, 20), align) for align in aligned]
    every = (1 << count) - 1
    moments = [
        Moment(rng.randrange(every + 1) & rng.randrange(every + 1), rng.randrange(every + 1), rng.choice((1.0, 10.0)))
        for _ in range(20)
    ]
    return units, moments, rng.randrange(sum(unit.size for unit in units))


@pytest.mark.parametrize("seed", range(12))
def test_the_solver_finds_as_few(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    units, moments, private = _case(random.Random(seed), 8)
    tried = least_in_range(units, moments, private)
    monkeypatch.setattr(layout, "_MOST_TRIED", 0)
    solved = least_in_range(units, moments, private)
    assert solved.weight == tried.weight
    every = (1 << len(units)) - 1
    for found in (tried, solved):
        assert bytes_of(units, bits(every & ~found.shared)) <= private
        assert found.weight == in_range(moments, found.shared)


def test_many_units() -> None:
    units, moments, private = _case(random.Random(5), 24)
    found = least_in_range(units, moments, private)
    assert found == least_in_range(units, moments, private)
    assert bytes_of(units, bits((1 << 24) - 1 & ~found.shared)) <= private


def test_places_go_round_units_that_stay_and_keep_their_alignment() -> None:
    units = [Unit(8, 4, stays=4), Unit(4, 4), Unit(8, 8), Unit(8, 8, phase=4)]
    assert places(units, [1, 2, 3], 40) == {0: 4, 1: 0, 2: 16, 3: 28}
    assert places(units, [3, 2, 1], 40) == {0: 4, 3: 12, 2: 24, 1: 0}
    assert places(units, [1, 2, 3], 35) is None
    assert places([Unit(8, 4, stays=4)], [], 11) is None


@pytest.mark.parametrize("seed", range(30))
def test_places_are_disjoint(seed: int) -> None:
    rng = random.Random(f"places {seed}")
    units, at = [], 0
    for _ in range(rng.randrange(1, 9)):
        align = rng.choice((4, 8, 16))
        at += 4 * rng.randrange(3)
        size = 4 * rng.randrange(1, 12)
        units.append(Unit(size, align, at if rng.random() < 0.3 else None, at % align))
        at += size
    order = rng.sample(range(len(units)), len(units))
    found = places(units, order, 4 * at)
    assert found is not None
    spans = sorted((found[k], found[k] + unit.size) for k, unit in enumerate(units))
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(found[k] % unit.align == unit.phase for k, unit in enumerate(units) if unit.stays is None)
    assert all(found[k] == unit.stays for k, unit in enumerate(units) if unit.stays is not None)
