"""Random kernels whose threads have columns of an array to themselves leave the same with these in local memory, and
all of them are proven."""

from __future__ import annotations

from collections import Counter

import pytest

from binalloc.errors import Refused
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.own_words import with_own_words
from binalloc.verify.shorten.own import check_own_words
from tests.property.transform.multiplex.test_public import MACHINE, left, same
from tests.support.generator.transform.own_words import owning
from tests.support.programs.builder import program

SEEDS = 60
REFUSED = {"a thread may end with words that others read later", "no thread has words of shared memory to itself"}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_own_words_leave_the_same(seed: int) -> None:
    text, launch = owning(seed)
    module = program(text)
    expected = left(schedule(module, MACHINE), launch)
    try:
        made = with_own_words(module, "k", launch.block)
    except Refused as error:
        assert error.message in REFUSED  # noqa: PT017
        return
    report = check_own_words(module, made.module, "k", launch.block, made.parts)
    assert report.ok, report.errors[0]
    for options in ({}, {"scheduler": "lrr", "sms": 3}):
        assert same(expected, left(schedule(made.module, MACHINE), launch, **options))


def test_kernels_are_of_all_kinds() -> None:
    """Copies go both ways, one way alone, and nowhere; bytes, halves and words are owned, and several side by side."""
    kinds, widths = Counter[tuple[bool, bool]](), Counter[int]()
    for seed in range(SEEDS):
        text, launch = owning(seed)
        try:
            made = with_own_words(program(text), "k", launch.block)
        except Refused:
            continue
        fn = made.module.function("k")
        assert fn.origin is not None
        copies = [i.name for i, old in zip(fn.instrs, fn.origin.index, strict=True) if old < 0]
        kinds["LDS" in copies, "STS" in copies] += 1
        widths[made.parts[0][3]] += 1
    assert len(kinds) == 4, kinds
    assert {1, 2, 4} < set(widths), widths
