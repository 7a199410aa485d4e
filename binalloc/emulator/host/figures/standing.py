"""The state of DRAM at the end of a run, or of an interval, completes the counts of its commands here.

Device code counts the ticks with an open bank up to the last closing. Refreshes of a channel without requests are
settled when the next request comes, and a refresh that is due closes its banks ahead of time. What is counted here is a
function of the commands in front of the end alone. So it is the same in both engines and both bookkeepings.
"""

from __future__ import annotations

from typing import NamedTuple

from binalloc.emulator.channels.memories import tick_from
from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.state.memory_layout import DRAM_STATS, MAX_BANKS_OF_DRAM, DramStat, Memory
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


def end_tick(engine: Engine, g: Records, cycles: int, m: int = Memory.NEAR) -> int:
    """Return the number of ticks of memory m that begin in the first `cycles` cycles."""
    rate = Gpu()
    for name in ("tick_numerator", "tick_denominator"):
        setattr(rate, name, engine.get(g, 0, name))
    return int(tick_from(rate, m, cycles))


def overdue(engine: Engine, g: Records, channel: int, end: int) -> Overdue | None:
    """Return the refreshes of a channel that were due before tick `end` and have not been settled; None for none.

    A refresh is carried out by the rules of `memory.dram.refresh`. Those behind the first one find the banks closed and
    ready: `dram.refi` leaves room for it (`Machine`).
    """

    def of(name: str, i: int) -> int:
        return int(engine.view(g, 0, name)[i])

    m = Memory.FAR if channel >= engine.get(g, 0, "dram_channels") else Memory.NEAR
    interval = of("t_refi", m)
    due = of("channel_refresh", channel)
    if not interval or due >= end or of("channel_used", channel):
        return None
    banks = range(channel * MAX_BANKS_OF_DRAM, channel * MAX_BANKS_OF_DRAM + of("dram_banks", m))
    open_banks = [b for b in banks if of("bank_row", b)]
    free = max(due, of("row_bus", channel))
    first = max([free, *(of("bank_activate", b) for b in banks)])
    close = max([free, *(of("bank_precharge", b) for b in open_banks)]) if open_banks else None
    if close is not None:
        first = max(first, close + of("t_rp", m))
    return Overdue(close, first, range(due + interval, end, interval))


def channels_of(engine: Engine, g: Records, m: int) -> range:
    """Return the channels of memory m; none of a far memory that the run does not use."""
    near, both = engine.get(g, 0, "dram_channels"), engine.get(g, 0, "all_channels")
    return range(near, both) if m == Memory.FAR else range(near)


def standing(engine: Engine, g: Records, cycles: int, m: int = Memory.NEAR) -> Standing:
    """Return the counts of memory m up to the end of the first `cycles` cycles. Needs a device all of whose commands in
    front of that have been issued (`memory.dram.settle`)."""
    end = end_tick(engine, g, cycles, m)
    channels = channels_of(engine, g, m)
    fields = ("rows", "opened", "shut", "open")
    rows, opened, shut, total = (engine.get(g, 0, f"channel_{name}").tolist() for name in fields)
    refreshes = int(engine.view(g, 0, "dram_stat")[m * DRAM_STATS + DramStat.DRAM_REFRESHES])
    ticks = 0
    for channel in channels:
        late = overdue(engine, g, channel, end)
        until = end if late is None or late.close is None else min(late.close, end)
        if rows[channel]:
            ticks += max(0, until - opened[channel])
        # what was closed ahead of time, or in the cycle in which the run ended, is cut at the end
        ticks += total[channel] - max(0, shut[channel] - max(end, 0 if rows[channel] else opened[channel]))
        refreshes += 0 if late is None else 1 + len(late.more)
    return Standing(ticks, len(channels) * end - ticks, refreshes)
