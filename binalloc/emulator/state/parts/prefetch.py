"""This module has the part of the device record that keeps track of lines fetched ahead from open rows of DRAM."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.memory_layout import DRAM_BANKS, MAX_CHANNELS, MAX_L2_LINES


class PrefetchRecord:
    """Nothing is fetched ahead where `ahead` is 0. A bank's number is that of `state.parts.dram`."""

    ahead: int  #: lines that are fetched ahead from a row each time that it has been opened, at most
    ahead_busy: int  #: whether they are fetched while other requests wait at the bank, too
    ahead_ended: Annotated[Words, MAX_CHANNELS]  #: mask of the banks with a read that has just ended
    ahead_row: Annotated[Words, DRAM_BANKS]  #: the row of the bank's last read + 1, 0 before the first
    ahead_line: Annotated[Words, DRAM_BANKS]  #: the line of its first read since the row was opened
    ahead_looked: Annotated[Words, DRAM_BANKS]  #: lines behind that one that have been looked for in L2
    ahead_left: Annotated[Words, DRAM_BANKS]  #: lines that may still be fetched ahead
    l2_ahead: Annotated[Words, MAX_L2_LINES]  #: whether the line was fetched ahead, and nobody has wanted its words yet
