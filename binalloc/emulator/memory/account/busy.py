"""The ticks in which banks and channels of DRAM carry out commands are counted here."""

from __future__ import annotations

from binalloc.emulator.channels.memories import add
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import DramStat
from binalloc.emulator.state.records import Gpu


@device(inline=True)
def keep_busy(g: Gpu, m: int, channel: int, b: int, tick: int, end: int) -> None:
    """Count the ticks from `tick` to `end`, in which bank b carries out a command, without ticks already counted for
    it; and likewise for its channel. A channel's commands come in the order of their ticks."""
    if end > g.bank_busy[b]:
        add(g, m, DramStat.DRAM_BANK_TICKS, end - max(tick, g.bank_busy[b]))
        g.bank_busy[b] = end
    if end > g.channel_busy[channel]:
        add(g, m, DramStat.DRAM_BUSY_TICKS, end - max(tick, g.channel_busy[channel]))
        g.channel_busy[channel] = end
