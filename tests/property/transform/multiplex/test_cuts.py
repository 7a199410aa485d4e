"""Random kernels with random parts of their shared memory private leave the same as with static memory, if blocks take
turns in the public part: merged, or as they run. The second kind is proven as well."""

from __future__ import annotations

import random

import pytest

from binalloc.errors import Refused
from binalloc.transform.multiplex.merged import merge_blocks
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from tests.property.transform.multiplex.test_public import MACHINE, left, same
from tests.property.transform.multiplex.test_turns import BUT
from tests.support.generator.transform.exchanges import exchanging
from tests.support.programs.builder import program

SEEDS = 60
MIXED = {"private bytes of shared memory lie between public ones", "an access may go to both parts of shared memory"}
"""What a cut can be refused for."""


def cut(rng: random.Random, size: int) -> int:
    """Private bytes in front of a public window, behind it, or both, as a bitset."""
    first, end = sorted(4 * rng.randrange(size // 4 + 1) for _ in range(2))
    first, end = rng.choice([(first, size), (0, end), (first, end)])
    return (1 << size) - 1 & ~((1 << end) - (1 << first))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_get_the_public_part_as_they_run_leave_the_same(seed: int) -> None:
    text, launch = exchanging(seed)
    module = program(text)
    private = cut(random.Random(f"cut {seed}"), module.function("k").info.shared_bytes)
    try:
        made = get_as_they_run(module, "k", launch.block, private)
    except Refused as error:
        assert error.message in {"no block waits for shared memory", *MIXED}  # noqa: PT017
        return
    parts = made.parts
    report = check_public(module, made.module, "k", launch.block, Division(parts.low, parts.first, parts.high,
                                                                           parts.moved))  # fmt: skip
    assert report.ok, str(report)
    expected, code = left(schedule(module, MACHINE), launch), schedule(made.module, MACHINE)
    for options in ({}, {"over": 1}, {"scheduler": "lrr", "sms": 3}):
        assert same(expected, left(code, launch, **options))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_virtual_blocks_with_private_copies_leave_the_same(seed: int) -> None:
    text, launch = exchanging(seed, aligned=True)
    module = program(text)
    size = module.function("k").info.shared_bytes
    private = cut(random.Random(f"cut {seed} merged"), size)
    expected = left(schedule(module, MACHINE), launch)
    for count in (2, 3):
        try:
            made = merge_blocks(module, "k", launch.block, count, private=private)
        except Refused as error:
            assert error.message in BUT | MIXED  # noqa: PT017
            return
        assert made.copies.size >= size + (count - 1) * made.copies.private
        code = schedule(made.module, MACHINE)
        for options in ({}, {"scheduler": "lrr", "sms": 3}):
            assert same(expected, left(code, made.merge.launch(launch), **options))
