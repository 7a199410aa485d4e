"""A device has one or two off-chip memories (`Memory`). Each has figures, a clock and counters of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import DRAM_STATS, Memory
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device(inline=True)
def memory_of(g: Gpu, channel: int) -> int:
    """Return the memory to which a channel belongs. Channels of the far memory come behind those of the near one."""
    return Memory.FAR if channel >= g.dram_channels else Memory.NEAR


@device(inline=True)
def cycle_of(g: Gpu, m: int, tick: int) -> int:
    """Return the core cycle in which a tick of memory m begins."""
    return quotient(tick * g.tick_denominator[m], g.tick_numerator[m])


@device(inline=True)
def tick_from(g: Gpu, m: int, cycle: int) -> int:
    """Return the first tick of memory m that begins in a core cycle or after it."""
    return quotient(cycle * g.tick_numerator[m] + g.tick_denominator[m] - 1, g.tick_denominator[m])


@device(inline=True)
def add(g: Gpu, m: int, stat: int, n: int) -> None:
    """Add n to a counter of memory m, see `DramStat`."""
    g.dram_stat[m * DRAM_STATS + stat] += n
