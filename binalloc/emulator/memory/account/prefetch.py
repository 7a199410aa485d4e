"""What is fetched ahead from open rows is entered here: reads of rows that have ended, and lines of L2 that nobody has
wanted yet. Where nothing is fetched ahead, nothing is entered."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MAX_BANKS_OF_DRAM, MemoryStat, RequestKind
from binalloc.emulator.state.records import Gpu


@device
def read_ended(g: Gpu, b: int, r: int) -> None:
    """Note that the last burst of read r of bank b has been read. Only lines of an L2 for data are fetched ahead."""
    if g.ahead == 0 or g.l2_data == 0:
        return
    if g.opened[r] or g.ahead_row[b] != g.at_row[r] + 1:
        g.ahead_row[b] = g.at_row[r] + 1
        g.ahead_line[b] = g.home[r]
        g.ahead_looked[b] = 0
        g.ahead_left[b] = g.ahead
    g.ahead_ended[b // MAX_BANKS_OF_DRAM] |= 1 << (b % MAX_BANKS_OF_DRAM)


@device
def line_wanted(g: Gpu, r: int, i: int) -> None:
    """Note that request r wants words of line i of L2. A store wants none: it brings its own."""
    if g.l2_ahead[i] and g.kind[r] != RequestKind.STORE:
        g.l2_ahead[i] = 0
        g.memory_stat[MemoryStat.L2_PREFETCHES_USED] += 1


@device
def line_leaves(g: Gpu, i: int) -> None:
    """Note that line i leaves L2."""
    if g.l2_ahead[i]:
        g.l2_ahead[i] = 0
        g.memory_stat[MemoryStat.L2_PREFETCHES_EVICTED] += 1
