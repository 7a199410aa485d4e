"""This module estimates the cycles of a large grid from runs of a few parts of it.

A part has many times as many blocks as are resident. One part is run at the beginning, one in the middle and one at the
end of the grid; a second run in the middle is twice as long. It shows what the first and the last blocks of a run cost
beyond the rest. The estimate is for a grid whose blocks take as long as the blocks of the parts on average. Its error
is how far the parts are apart. If blocks wait for one another, or count what others did, parts of a grid may not run at
all. Then there is no estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binalloc.errors import BinallocError

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result

WAVES = 16
"""A part has this number times the resident blocks; in fewer, blocks would still be in step. Chosen by hand."""
PARTS = 5
"""Parts that are run: one at the beginning, three in the middle (one, then two at once), one at the end."""
LARGE = 3
"""A grid counts as large if it has this number times the blocks of its sample. Then sampling saves at least two thirds
of the time."""


@dataclass(frozen=True)
class Sampled:
    """This record has the estimated cycles of a grid, and what they are estimated from."""

    cycles: int  #: of the whole grid, estimated
    error: float  #: half the range of the estimates from the three places, over the estimate
    blocks: int  #: blocks that were run
    grid: int  #: blocks of the grid
    stats: dict[str, Any] = field(repr=False, compare=False)  #: statistics of the longest part
    counts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  #: executions in the longest part


def sample(run: Callable[[range], Result], resident: int, grid: int) -> Sampled | None:
    """Run parts of a grid and estimate its cycles.

    run: runs the given blocks alone. resident: blocks that the machine holds at once. grid: blocks of the grid. The
    result is None if the grid is not large, or if parts of it do not run.
    """
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
    ends = 2 * short - whole.cycles  # cycles at both ends of a run, beyond a constant time per block
    found = [ends + grid * (cycles - ends) / part for cycles in (first, short, last)]
    estimate = sum(found) / len(found)
    if min(found) <= 0:
        return None
    error = (max(found) - min(found)) / 2 / estimate
    return Sampled(round(estimate), error, PARTS * part, grid, whole.stats, whole.counts)
