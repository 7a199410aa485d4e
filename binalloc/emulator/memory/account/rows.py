"""The ticks in which a channel of DRAM has a bank open are counted here, for the energy of its background.

A bank is open from the tick of its activation to that of its precharge, or of the precharge of all banks in front of a
refresh. A channel's commands come in the order of their ticks, however late they are issued. So the ticks follow from
the commands alone. `host.figures.standing` adds what the end of the run cuts off.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu


@device(inline=True)
def row_opened(g: Gpu, channel: int, tick: int) -> None:
    """Note that a bank of the channel is activated at `tick`."""
    if g.channel_rows[channel] == 0:
        g.channel_opened[channel] = tick
    g.channel_rows[channel] += 1


@device(inline=True)
def rows_closed(g: Gpu, channel: int, tick: int, rows: int) -> None:
    """Note that `rows` > 0 open banks of the channel are precharged at `tick`."""
    g.channel_rows[channel] -= rows
    if g.channel_rows[channel] == 0:
        g.channel_open[channel] += tick - g.channel_opened[channel]
        g.channel_shut[channel] = tick
