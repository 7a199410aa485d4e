"""Estimates of L2's fetches against their definitions, window by window and touch by touch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from binalloc.models.batches.reuse import Reuse, footprints, sampled
from binalloc.models.batches.touches import PageTouches

PER_LINE = 4


@st.composite
def dealt_touches(draw: st.DrawFn) -> tuple[PageTouches, list[int]]:
    """Pairs of a sector and a block, and the block at each place of an order."""
    blocks = draw(st.integers(1, 9))
    pairs = draw(st.lists(st.tuples(st.integers(0, 19), st.integers(0, blocks - 1)), min_size=1, max_size=40))
    pages, numbers = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    return PageTouches.of(blocks, pages, numbers), draw(st.permutations(range(blocks)))


def by_block(touches: PageTouches, per: int = 1) -> list[set[int]]:
    """What each block touches, in groups of so many."""
    found: list[set[int]] = [set() for _ in range(touches.blocks)]
    for page, block in zip(touches.pages.tolist(), touches.numbers.tolist(), strict=True):
        found[block].add(page // per)
    return found


def mean_footprints(touched: list[set[int]]) -> list[Fraction]:
    """The mean number of pages of all windows of each length. touched: at each place."""
    blocks, found = len(touched), []
    for length in range(blocks + 1):
        windows = [len(set().union(*touched[at : at + length])) for at in range(blocks - length + 1)]
        found.append(Fraction(sum(windows), len(windows)))
    return found


@given(dealt_touches(), st.integers(0, 24))
def test_fetches_are_first_touches_and_those_out_of_reach(case: tuple[PageTouches, list[int]], held: int) -> None:
    sectors, dealt = case
    lines, own = by_block(sectors, PER_LINE), by_block(sectors)
    means = mean_footprints([lines[block] for block in dealt])
    reach = max(length for length, mean in enumerate(means) if mean <= held)
    fetched, last = 0, dict[int, int]()
    for place, block in enumerate(dealt):
        for sector in own[block]:
            fetched += place - last[sector] > reach if sector in last else 1
            last[sector] = place
    reuse = Reuse(sectors, PER_LINE, held, 1)
    order = np.array(dealt, np.int64)
    assert reuse.reach(order) == reach
    assert reuse.fetched(order) == fetched
    places = np.argsort(order)
    exact = [float(mean) for mean in means]
    assert np.allclose(footprints(sectors.coarser(PER_LINE), places), exact)


@given(dealt_touches(), st.integers(1, 4), st.integers(1, 3))
def test_sms_ask_once_for_all_blocks_of_one_time(
    case: tuple[PageTouches, list[int]], sms: int, each: int
) -> None:  # fmt: skip
    sectors, dealt = case
    own = by_block(sectors)
    asked = {(sector, place // (sms * each), place % sms) for place, b in enumerate(dealt) for sector in own[b]}
    assert Reuse(sectors, PER_LINE, 0, sms * each).asked(np.array(dealt, np.int64), sms) == len(asked)


@given(st.integers(0, 12), st.integers(0, 1 << 40))
def test_smaller_samples_are_parts_of_larger_ones(bits: int, first: int) -> None:
    lines = np.arange(first, first + 500, dtype=np.int64)
    assert not (sampled(lines, bits + 1) & ~sampled(lines, bits)).any()


def test_a_sample_has_its_share_of_rows_and_columns() -> None:
    lines = np.arange(1 << 18, dtype=np.int64)
    for some in (lines, lines * 32, lines * 4096):
        assert abs(sampled(some, 4).mean() - 1 / 16) < 0.002
