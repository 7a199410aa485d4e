"""The state of DRAM at the end of a run, or of an interval, completes the counts of its commands here.

Device code counts the ticks with an open bank up to the last closing. Refreshes of a channel without requests are
settled when the next request comes, and a refresh that is due closes its banks ahead of time. What is counted here is a
function of the commands in front of the end alone. So it is the same in both engines and both bookkeepings.
"""

from __future__ import annotations

from typing import NamedTuple

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.memory.dram import tick_from
from binalloc.emulator.state.memory_layout import MAX_BANKS_OF_DRAM, MemoryStat
from binalloc.emulator.state.records import Gpu


class Standing(NamedTuple):
    """The counts are sums over channels, up to the end."""

    open_ticks: int  #: ticks in which at least one bank was open
    closed_ticks: int  #: ticks in which none was
    refreshes: int  #: refreshes that were due


class Overdue(NamedTuple):
    """The refreshes of a channel without requests that nobody has settled."""

    close: int | None  #: tick at which open banks are precharged, None if none is open
    first: int  #: tick of the first refresh
    more: range  #: ticks of the others in front of the end


def end_tick(engine: Engine, g: Records, cycles: int) -> int:
    """Return the number of ticks that begin in the first `cycles` cycles."""
    rate = Gpu()
    for name in ("tick_numerator", "tick_denominator"):
        setattr(rate, name, engine.get(g, 0, name))
    return int(tick_from(rate, cycles))


def overdue(engine: Engine, g: Records, channel: int, end: int) -> Overdue | None:
    """Return the refreshes of a channel that were due before tick `end` and have not been settled; None for none.

    A refresh is carried out by the rules of `memory.dram.refresh`. Those behind the first one find the banks closed and
    ready: `dram.refi` leaves room for it (`Machine`).
    """

    def of(name: str, i: int) -> int:
        return int(engine.view(g, 0, name)[i])

    interval = engine.get(g, 0, "t_refi")
    due = of("channel_refresh", channel)
    if not interval or due >= end or of("channel_used", channel):
        return None
    banks = range(channel * MAX_BANKS_OF_DRAM, channel * MAX_BANKS_OF_DRAM + engine.get(g, 0, "dram_banks"))
    open_banks = [b for b in banks if of("bank_row", b)]
    free = max(due, of("row_bus", channel))
    first = max([free, *(of("bank_activate", b) for b in banks)])
    close = max([free, *(of("bank_precharge", b) for b in open_banks)]) if open_banks else None
    if close is not None:
        first = max(first, close + engine.get(g, 0, "t_rp"))
    return Overdue(close, first, range(due + interval, end, interval))


def standing(engine: Engine, g: Records, cycles: int) -> Standing:
    """Return the counts up to the end of the first `cycles` cycles. Needs a device all of whose commands in front of
    that have been issued (`memory.dram.settle`)."""
    end = end_tick(engine, g, cycles)
    channels = engine.get(g, 0, "dram_channels")
    fields = ("rows", "opened", "shut", "open")
    rows, opened, shut, total = (engine.get(g, 0, f"channel_{name}")[:channels].tolist() for name in fields)
    refreshes = int(engine.view(g, 0, "memory_stat")[MemoryStat.DRAM_REFRESHES])
    ticks = 0
    for channel in range(channels):
        late = overdue(engine, g, channel, end)
        until = end if late is None or late.close is None else min(late.close, end)
        if rows[channel]:
            ticks += max(0, until - opened[channel])
        # what was closed ahead of time, or in the cycle in which the run ended, is cut at the end
        ticks += total[channel] - max(0, shut[channel] - max(end, 0 if rows[channel] else opened[channel]))
        refreshes += 0 if late is None else 1 + len(late.more)
    return Standing(ticks, channels * end - ticks, refreshes)
