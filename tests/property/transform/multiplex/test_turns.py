"""Random kernels whose blocks are merged, in each order, leave the same as block by block, without races."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
from binalloc.transform.schedule.schedule import schedule
from tests.property.transform.multiplex.test_public import MACHINE, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.programs.builder import program

SEEDS = 40
BUT = {
    "blocks are merged only if they are of whole warps", "no block waits for shared memory",
    "blocks of the grid may come to different barriers", "an access region begins in several places",
    "a barrier in an access region is not met just once",
}  # fmt: skip
"""What is refused, and nothing else."""
HANDED_BUT = {
    "threads may end in front of the end of an access region", "threads may have ended in front of a barrier",
    "some blocks of the grid may come to a region or barrier, and others not",
}  # fmt: skip
"""What is refused besides with named barriers."""


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_take_turns_leave_the_same(seed: int, aligned: bool) -> None:
    text, launch = exchanging(seed, aligned=aligned)
    module = program(text)
    expected = left(schedule(module, MACHINE), launch)
    for count, order in ((2, TURNS), (3, TURNS), (2, PIPED), (2, HANDED), (3, HANDED)):
        try:
            made = merge_blocks(module, "k", launch.block, count, order=order)
        except Refused as error:
            assert error.message in BUT | (HANDED_BUT if order == HANDED else set())  # noqa: PT017
            continue
        code = schedule(made.module, MACHINE)
        for options in ({}, {"scheduler": "lrr", "sms": 3}):
            assert same(expected, left(code, made.merge.launch(launch), **options))
