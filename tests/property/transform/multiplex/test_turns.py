"""Random kernels whose blocks are merged, in each order, leave the same as block by block, without races."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from binalloc.errors import Refused
from binalloc.launch.merged import Merge
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
from binalloc.transform.multiplex.orders.handing import MOST
from binalloc.transform.schedule.schedule import schedule
from tests.property.transform.multiplex.test_public import MACHINE, fits, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.kits.suite import rotation
from tests.support.programs.builder import program

SEEDS = 40
BUT = {
    "no block waits for shared memory", "blocks of the grid may come to different barriers",
    "threads may end in an access region right behind accesses",
}  # fmt: skip
"""What is refused, and nothing else."""
PIPED_BUT = {
    "blocks may come to a barrier in an access region more or less than once",
    "an access region begins in several places", "not all ways through an access region have the same barriers",
}  # fmt: skip
"""What is refused besides of a pipe."""
HANDED_BUT = {
    "threads may end in front of the end of an access region", "threads may have ended in front of a barrier",
    "some blocks of the grid may come to a region or barrier, and others not",
}  # fmt: skip
"""What is refused besides with named barriers."""


def check(text: str, launch: Launch, versions: Sequence[tuple[int, str]], late: bool) -> int:
    """Check that merged blocks leave the same, and return how many versions there are. late: threads that would end in
    a region end behind it."""
    module, tried = program(text), 0
    expected = left(schedule(module, MACHINE), launch)
    if late:
        module = with_late_exits(module, "k", launch.block)
    for count, order in versions:
        try:
            made = merge_blocks(module, "k", launch.block, count, order=order)
        except Refused as error:
            assert error.message in BUT | {HANDED: HANDED_BUT, PIPED: PIPED_BUT}.get(order, set())  # noqa: PT017
            continue
        code = schedule(made.module, MACHINE)
        if not fits(code, made.merge.launch(launch)):
            continue
        for options in ({}, {"scheduler": "lrr", "sms": 3}):
            assert same(expected, left(code, made.merge.launch(launch), **options)), (count, order)
        tried += 1
    return tried


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_take_turns_leave_the_same(seed: int, aligned: bool) -> None:
    text, launch = exchanging(seed, aligned=aligned)
    check(text, launch, ((2, TURNS), (3, TURNS), (2, PIPED), (2, HANDED), (3, HANDED)), seed % 2 == 1)


def test_padded_blocks_leave_the_same() -> None:
    """Blocks are not of whole warps."""
    found: Counter[tuple[int, int, int]] = Counter()
    for seed in rotation.sample(range(5 * SEEDS), "padded blocks"):
        text, launch = exchanging(seed, partial=True)
        most = MACHINE.limits.threads_per_block // Merge(1, launch.block, 0).padded
        count = random.Random(seed).randrange(2, 1 + min(8, most))
        found[launch.block] += check(text, launch, ((count, TURNS), (2, PIPED), (min(count, MOST), HANDED)),
                                      seed % 2 == 1)
    assert sum(found.values()) > 5
    assert len(found) > 2
