"""The cycles of a run from runs of a few parts of its grid, where that is large.

At the beginning, in the middle and at the end of the grid so many blocks are run as the machine holds many times over;
in the middle twice as many once more, which tells what the first and the last of them cost beyond the rest. The
estimate is for a grid whose blocks take as long as those do on average; its error is how far they are apart. Where
blocks wait for one another, or count what others did, parts of a grid may not run at all: then there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binalloc.errors import BinallocError

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result

WAVES = 16
"""So many times as many blocks as are resident make a part: before that, blocks have not got out of step."""
PARTS = 5
"""As many of them are run: one at the beginning, three in the middle, one at the end."""
LARGE = 3
"""A grid is large that has so many times as many blocks as are run of it."""


@dataclass(frozen=True)
class Sampled:
    """cycles: of the whole grid, estimated. error: how far the estimates from the three places are apart, half the
    range over the estimate. blocks: so many were run, of so many (`grid`). stats, counts: of the longest part."""

    cycles: int
    error: float
    blocks: int
    grid: int
    stats: dict[str, Any] = field(repr=False, compare=False)
    counts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


def sample(run: Callable[[range], Result], resident: int, grid: int) -> Sampled | None:
    """run: of those blocks alone. resident: blocks that the machine holds. grid: blocks. None where the grid is not
    large, and where parts of it do not run."""
    part = WAVES * resident
    if grid < LARGE * PARTS * part:
        return None
    middle = grid // 2
    places = (range(part), range(middle, middle + part), range(grid - part, grid))
    try:
        first, short, last = (run(only).cycles for only in places)
        whole = run(range(middle, middle + 2 * part))
    except (BinallocError, MemoryError):
        return None
    ends = 2 * short - whole.cycles  # what it takes beyond its blocks, one after the other
    found = [ends + grid * (cycles - ends) / part for cycles in (first, short, last)]
    estimate = sum(found) / len(found)
    if min(found) <= 0:
        return None
    error = (max(found) - min(found)) / 2 / estimate
    return Sampled(round(estimate), error, PARTS * part, grid, whole.stats, whole.counts)
