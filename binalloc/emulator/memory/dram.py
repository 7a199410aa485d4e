"""DRAM: channels of banks with row buffers, which serve requests first ready, first come (FR-FCFS).

A channel issues at most one command a tick of its clock. Of the requests that wait at a bank, one is next: the oldest
that wants the open row, else the oldest. Among the banks' next commands the channel issues the one whose constraints
let it go first; in one tick, a read or write before an activation or a precharge, then the older request's. Rows stay
open until another is wanted. A request takes one read or write per burst, and is done when the last has passed the data
bus. Figures and their names: `dram_record`; what is not modelled stands in TIMING.md.
"""

from __future__ import annotations

from binalloc.emulator.memory.calendar import post
from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import (
    DATA_FRACTION,
    FAW_ACTIVATES,
    MAX_BANKS_OF_DRAM,
    NEVER,
    Command,
    MemoryStat,
)
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import lowest_bit

DATA_PART = (1 << DATA_FRACTION) - 1


@device(inline=True)
def cycle_of(g: Gpu, tick: int) -> int:
    """The core cycle in which a tick begins."""
    return tick * g.tick_denominator // g.tick_numerator


@device(inline=True)
def tick_from(g: Gpu, cycle: int) -> int:
    """The first tick that begins in a core cycle or after it."""
    return (cycle * g.tick_numerator + g.tick_denominator - 1) // g.tick_denominator


@device
def has_room(g: Gpu, channel: int, requests: int) -> int:
    """Whether so many more requests can wait at the channel."""
    return 1 if g.channel_waiting[channel] + requests <= g.dram_depth else 0


@device
def enqueue(g: Gpu, r: int, channel: int, bank: int, row: int, bursts: int) -> None:
    """Request r waits at a bank of a channel that has room for it."""
    b = channel * MAX_BANKS_OF_DRAM + bank
    g.at_bank[r] = b
    g.at_row[r] = row
    g.bursts[r] = bursts
    g.opened[r] = 0
    g.younger[r] = -1
    g.channel_waiting[channel] += 1
    if (g.channel_used[channel] >> bank) & 1 == 0:
        g.channel_used[channel] |= 1 << bank
        g.older[r] = -1
        g.bank_first[b] = r
        g.bank_last[b] = r
        g.bank_next[b] = r
    else:
        last = g.bank_last[b]
        g.older[r] = last
        g.younger[last] = r
        g.bank_last[b] = r
        if row + 1 == g.bank_row[b] and g.at_row[g.bank_next[b]] + 1 != g.bank_row[b]:
            g.bank_next[b] = r
    g.channel_due[channel] = g.cycle
    g.dram_due = g.cycle


@device
def leave_bank(g: Gpu, r: int) -> None:
    """Request r has been served: its bank turns to the oldest that wants the same row, else to the oldest."""
    b = g.at_bank[r]
    channel = b // MAX_BANKS_OF_DRAM
    g.channel_waiting[channel] -= 1
    if g.older[r] >= 0:
        g.younger[g.older[r]] = g.younger[r]
    else:
        g.bank_first[b] = g.younger[r]
    if g.younger[r] >= 0:
        g.older[g.younger[r]] = g.older[r]
    else:
        g.bank_last[b] = g.older[r]
    if g.bank_first[b] < 0:
        g.channel_used[channel] &= ~(1 << (b % MAX_BANKS_OF_DRAM))
        return
    following = g.bank_first[b]
    while following >= 0 and g.at_row[following] + 1 != g.bank_row[b]:
        following = g.younger[following]
    g.bank_next[b] = following if following >= 0 else g.bank_first[b]


@device
def serve_channel(g: Gpu, log: Words, channel: int) -> None:
    """Issue the channel's commands of this core cycle; leaves in `channel_due` the cycle of the next."""
    now = g.cycle
    first = tick_from(g, now)
    while True:
        best = NEVER
        best_bank = -1
        best_rank = 0
        best_age = 0
        used = g.channel_used[channel]
        while used:
            i = lowest_bit(used)
            used &= used - 1
            b = channel * MAX_BANKS_OF_DRAM + i
            r = g.bank_next[b]
            rank = 1
            if g.bank_row[b] == 0:
                tick = max(g.bank_activate[b], g.channel_activate[channel])
            elif g.bank_row[b] != g.at_row[r] + 1:
                tick = g.bank_precharge[b]
            else:
                rank = 0
                tick = max(g.bank_column[b], g.group_column[channel * MAX_BANKS_OF_DRAM + i % g.dram_groups])
                tick = max(tick, g.channel_write[channel] if g.writes[r] else g.channel_read[channel])
                tick = max(tick, (g.channel_data[channel] + DATA_PART) >> DATA_FRACTION)
            tick = max(tick, g.channel_bus[channel], first)
            age = g.age[r]
            if tick < best or (tick == best and (rank < best_rank or (rank == best_rank and age < best_age))):
                best = tick
                best_bank = b
                best_rank = rank
                best_age = age
        if best_bank < 0:
            g.channel_due[channel] = NEVER
            return
        due = cycle_of(g, best)
        if due > now:
            g.channel_due[channel] = due
            return
        issue(g, log, channel, best_bank, best)


@device
def issue(g: Gpu, log: Words, channel: int, b: int, tick: int) -> None:
    """Give bank b the next command for its next request, at that tick."""
    r = g.bank_next[b]
    g.channel_bus[channel] = tick + 1
    if g.bank_row[b] == 0:
        activate(g, channel, b, tick)
        note(g, log, channel, tick, Command.ACTIVATE, b, g.at_row[r])
    elif g.bank_row[b] != g.at_row[r] + 1:
        note(g, log, channel, tick, Command.PRECHARGE, b, g.bank_row[b] - 1)
        g.bank_row[b] = 0
        g.bank_activate[b] = max(g.bank_activate[b], tick + g.t_rp)
        g.opened[r] = 1
        g.memory_stat[MemoryStat.DRAM_PRECHARGES] += 1
    else:
        note(g, log, channel, tick, Command.WRITE if g.writes[r] else Command.READ, b, g.at_row[r])
        column(g, channel, b, r, tick)


@device
def activate(g: Gpu, channel: int, b: int, tick: int) -> None:
    """Open the row of the bank's next request."""
    r = g.bank_next[b]
    g.bank_row[b] = g.at_row[r] + 1
    g.bank_column[b] = tick + g.t_rcd
    g.bank_precharge[b] = tick + g.t_ras
    g.bank_activate[b] = tick + g.t_rc
    g.channel_activate[channel] = tick + g.t_rrd
    g.opened[r] = 1
    g.memory_stat[MemoryStat.DRAM_ACTIVATIONS] += 1
    if g.t_faw:
        slot = channel * FAW_ACTIVATES + g.channel_oldest[channel]
        g.channel_activated[slot] = tick
        g.channel_oldest[channel] = (g.channel_oldest[channel] + 1) % FAW_ACTIVATES
        oldest = g.channel_activated[channel * FAW_ACTIVATES + g.channel_oldest[channel]]
        g.channel_activate[channel] = max(g.channel_activate[channel], oldest + g.t_faw)


@device
def column(g: Gpu, channel: int, b: int, r: int, tick: int) -> None:
    """One burst of request r, read or written."""
    group = b - b % MAX_BANKS_OF_DRAM + b % MAX_BANKS_OF_DRAM % g.dram_groups
    g.group_column[group] = tick + g.t_ccdl
    if g.writes[r]:
        end = tick + g.t_wl + g.t_burst
        g.channel_write[channel] = tick + g.t_ccd
        g.channel_read[channel] = end + g.t_cdlr
        g.bank_precharge[b] = max(g.bank_precharge[b], end + g.t_wr)
        g.memory_stat[MemoryStat.DRAM_WRITES] += 1
    else:
        end = tick + g.t_cl + g.t_burst
        g.channel_read[channel] = tick + g.t_ccd
        g.channel_write[channel] = tick + g.t_rtw
        g.bank_precharge[b] = max(g.bank_precharge[b], tick + g.t_rtp)
        g.memory_stat[MemoryStat.DRAM_READS] += 1
    # what the command lost by waiting for a tick to begin is not lost for the bus, which may be shared in fractions
    g.channel_data[channel] = max(g.channel_data[channel], (tick << DATA_FRACTION) - DATA_PART) + g.t_data
    g.bursts[r] -= 1
    if g.bursts[r] == 0:
        g.memory_stat[MemoryStat.DRAM_REQUESTS] += 1
        if g.opened[r] == 0:
            g.memory_stat[MemoryStat.DRAM_ROW_HITS] += 1
        leave_bank(g, r)
        post(g, r, max(g.cycle + 1, cycle_of(g, end - 1) + 1))


@device
def note(g: Gpu, log: Words, channel: int, tick: int, command: int, b: int, row: int) -> None:
    """Enter a command into the log, where one is kept and has room."""
    n = g.dram_logged * 5
    if n + 5 <= g.dram_log:
        log[n] = channel
        log[n + 1] = tick
        log[n + 2] = command
        log[n + 3] = b % MAX_BANKS_OF_DRAM
        log[n + 4] = row
        g.dram_logged += 1


@device
def serve_dram(g: Gpu, log: Words) -> None:
    """The commands of all channels in this core cycle."""
    soonest = NEVER
    for channel in range(g.dram_channels):
        if g.channel_due[channel] <= g.cycle:
            serve_channel(g, log, channel)
        soonest = min(soonest, g.channel_due[channel])
    g.dram_due = soonest
