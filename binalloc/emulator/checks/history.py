"""`race` remembers accesses to each place in shared memory. Here are the columns of that history, and the kinds of an
earlier access."""

from __future__ import annotations

from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.layout import LANES, MAX_BLOCK_WARPS


class History(Codes):
    """The history of a place in shared memory has these columns.

    Two groups of columns follow them. From `READS` on there is one per warp of the block: its clock at its last read.
    From `LANE_READS` on there is one per lane of the warp that read last: the moment of the lane's read plus 1, or 0 if
    it has not read.
    """

    WRITER: int  #: number in its block of the warp that wrote last, plus 1; 0 for none
    CLOCK: int  #: the writer's clock at that write
    WRITE_PC: int  #: code word of that write
    READ_PC: int  #: code word of the last read
    ATOMIC: int  #: 1 if the last write was an atomic or an ordered access
    WRITE_LANE: int  #: lane that wrote last
    WRITE_MOMENT: int  #: moment of that write, see `lane_races`
    READER: int  #: number in its block of the warp whose lanes' reads are kept, plus 1


class Before(Codes):
    """The other access of a race was of one of these kinds."""

    WRITTEN: int  #: a write of another warp, not ordered by a barrier
    READ: int  #: a read of another warp, not ordered by a barrier
    LANE: int  #: a write of another lane in the same store
    LANE_WRITTEN: int  #: an earlier write of another lane, with no meeting since
    LANE_READ: int  #: an earlier read of another lane, with no meeting since


READS = 8  # first column behind those of `History`
LANE_READS = READS + MAX_BLOCK_WARPS  # first column of the lanes' reads
HISTORY_COLUMNS = LANE_READS + LANES


class RaceModel(Codes):
    """The run looks for races under one of these memory models, or not at all."""

    OFF: int  #: not at all
    LOOM: int  #: lanes of a warp execute in step
    PTX: int  #: lanes of a warp are ordered by WARPSYNC and barriers only
