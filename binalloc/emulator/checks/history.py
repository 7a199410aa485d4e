"""What `race` remembers of a place in shared memory: the columns of its history, and what an earlier access was."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import LANES, MAX_BLOCK_WARPS


class History(Codes):
    """Columns of a place's history; the clocks of the warps that have read it follow, from `READS` on, and the moments
    at which the lanes of the last of them did, from `LANE_READS` on, one up: 0 for never."""

    WRITER: int
    CLOCK: int
    WRITE_PC: int
    READ_PC: int
    ATOMIC: int
    WRITE_LANE: int
    WRITE_MOMENT: int
    READER: int


class Before(Codes):
    """What the other access was: of another warp, which no barrier orders, or of another lane: in the same store, or
    before without a meeting."""

    WRITTEN: int
    READ: int
    LANE: int
    LANE_WRITTEN: int
    LANE_READ: int


READS = 8
LANE_READS = READS + MAX_BLOCK_WARPS
HISTORY_COLUMNS = LANE_READS + LANES


class RaceModel(Codes):
    """Whether races are looked for, and under which memory model."""

    OFF: int
    LOOM: int
    PTX: int
