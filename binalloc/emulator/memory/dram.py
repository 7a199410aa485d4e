"""DRAM: channels of banks with row buffers, which serve requests first ready, first come (FR-FCFS).

A channel issues at most one command a tick of its clock; with two command buses, as HBM's has, one that moves data
and one that opens or closes a row. Of the requests that wait at a bank, one is next: the oldest that wants the open
row, else the oldest. Among the banks' next commands the channel issues the one whose constraints let it go first; in
one tick, a read or write before an activation or a precharge, then the older request's. Rows stay open until another is
wanted. A request takes one read or write per burst, and is done when the last has passed the data bus. Figures and
their names: `state.parts.dram`; what is not modelled stands in TIMING.md.
"""

from __future__ import annotations

from binalloc.emulator.memory.calendar import post
from binalloc.emulator.memory.queues import entered, left
from binalloc.emulator.memory.requests import drop_request
from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import (
    DATA_FRACTION,
    FAW_ACTIVATES,
    IDLE,
    MAX_BANKS_OF_DRAM,
    NEVER,
    Command,
    MemoryStat,
    Queue,
)
from binalloc.emulator.state.records import Gpu

DATA_PART = (1 << DATA_FRACTION) - 1
AGE_BITS = 40
BANK_BITS = 5
WAIT_SHIFT = AGE_BITS + BANK_BITS + 1
LONGEST_WAIT = (1 << 16) - 1  # ticks; no timing parameter comes near it


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
    entered(g, Queue.DRAM_QUEUE, g.cycle, g.channel_waiting[channel], g.dram_depth)
    if (g.channel_used[channel] >> bank) & 1 == 0:
        g.channel_used[channel] |= 1 << bank
        g.older[r] = -1
        g.bank_first[b] = r
        g.bank_last[b] = r
    else:
        last = g.bank_last[b]
        g.older[r] = last
        g.younger[last] = r
        g.bank_last[b] = r
        if row + 1 != g.bank_row[b] or g.at_row[g.bank_next[b]] + 1 == g.bank_row[b]:
            return
    change_next(g, channel, b, r)


@device
def change_next(g: Gpu, channel: int, b: int, r: int) -> None:
    """Request r, which has just come, is the next one of its bank: for commands behind those that the channel has
    issued in this cycle."""
    g.bank_next[b] = r
    want(g, b)
    g.bank_ready[b] = max(g.bank_ready[b], g.channel_bus[channel])
    first = tick_from(g, g.cycle)
    if g.channel_next[channel] == b:
        find_next(g, channel, first)
    else:
        propose(g, channel, b, first)
    g.dram_due = min(g.dram_due, g.channel_due[channel])


@device
def leave_bank(g: Gpu, r: int) -> None:
    """Request r has been served: its bank turns to the oldest that wants the same row, else to the oldest."""
    b = g.at_bank[r]
    channel = b // MAX_BANKS_OF_DRAM
    g.channel_waiting[channel] -= 1
    left(g, Queue.DRAM_QUEUE, g.cycle, g.channel_waiting[channel], g.dram_depth)
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
        g.bank_ready[b] = IDLE
        return
    following = g.bank_first[b]
    while following >= 0 and g.at_row[following] + 1 != g.bank_row[b]:
        following = g.younger[following]
    g.bank_next[b] = following if following >= 0 else g.bank_first[b]
    want(g, b)


@device
def want(g: Gpu, b: int) -> None:
    """Note which command bank b needs for its next request, and when the bank and its group are ready for it."""
    r = g.bank_next[b]
    g.bank_age[b] = g.age[r]
    if g.bank_row[b] == 0:
        g.bank_wants[b] = Command.ACTIVATE
        g.bank_ready[b] = g.bank_activate[b]
    elif g.bank_row[b] != g.at_row[r] + 1:
        g.bank_wants[b] = Command.PRECHARGE
        g.bank_ready[b] = g.bank_precharge[b]
    else:
        g.bank_wants[b] = Command.WRITE if g.writes[r] else Command.READ
        g.bank_ready[b] = max(g.bank_column[b], g.group_column[group_of(g, b)])


@device(inline=True)
def group_of(g: Gpu, b: int) -> int:
    """The bank group of bank b, which has the number of its first bank."""
    inside = b % MAX_BANKS_OF_DRAM
    return b - inside + inside % g.dram_groups


@device(inline=True)
def key_of(g: Gpu, b: int, first: int, read: int, write: int, activate: int, precharge: int) -> int:
    """What bank b's next command is chosen by, the least of all first: for how many ticks after `first` it has to wait;
    one that moves data before the others; the age of its request. Its lowest bits say which bank it is. read, write,
    activate, precharge: the ticks for which the channel takes no such command.

    Without branches and look-ups, so that it is worked out for several banks at once.
    """
    wants = g.bank_wants[b]
    bound = read if wants == Command.READ else write if wants == Command.WRITE else precharge
    bound = activate if wants == Command.ACTIVATE else bound
    wait = min(max(g.bank_ready[b] - first, bound), LONGEST_WAIT)
    rank = 1 if wants >= Command.ACTIVATE else 0
    return ((2 * wait + rank) << AGE_BITS | g.bank_age[b]) << BANK_BITS | b & (MAX_BANKS_OF_DRAM - 1)


@device(inline=True)
def keep_next(g: Gpu, channel: int, first: int, key: int) -> None:
    """The channel's next command is the one that `key_of` gives this key."""
    g.channel_next[channel] = channel * MAX_BANKS_OF_DRAM + key % MAX_BANKS_OF_DRAM
    g.channel_tick[channel] = first + (key >> WAIT_SHIFT)
    g.channel_due[channel] = cycle_of(g, g.channel_tick[channel])


@device
def find_next(g: Gpu, channel: int, first: int) -> None:
    """The channel's next command, `first` being the first tick of this cycle: kept until it is issued, or until a new
    request at a bank comes before it."""
    if g.channel_used[channel] == 0:
        g.channel_due[channel] = NEVER
        return
    read = max(g.channel_read[channel] - first, 0)
    write = max(g.channel_write[channel] - first, 0)
    precharge = max(g.row_bus[channel] - first, 0)
    activate = max(g.channel_activate[channel] - first, precharge)
    base = channel * MAX_BANKS_OF_DRAM
    best = NEVER
    for b in range(base, base + g.dram_banks):
        best = min(best, key_of(g, b, first, read, write, activate, precharge))
    keep_next(g, channel, first, best)


@device
def propose(g: Gpu, channel: int, b: int, first: int) -> None:
    """Bank b has a new next request: its command is the channel's if it comes before the one found so far."""
    read = max(g.channel_read[channel] - first, 0)
    write = max(g.channel_write[channel] - first, 0)
    precharge = max(g.row_bus[channel] - first, 0)
    activate = max(g.channel_activate[channel] - first, precharge)
    key = key_of(g, b, first, read, write, activate, precharge)
    if g.channel_due[channel] < NEVER:
        found = key_of(g, g.channel_next[channel], first, read, write, activate, precharge)
        if found <= key:
            return
    keep_next(g, channel, first, key)


@device
def serve_channel(g: Gpu, log: Words, channel: int) -> None:
    """Issue the channel's commands of this core cycle; leaves in `channel_due` the cycle of the next."""
    first = tick_from(g, g.cycle)
    while g.channel_due[channel] <= g.cycle:
        issue(g, log, channel, g.channel_next[channel], g.channel_tick[channel])
        find_next(g, channel, first)


@device
def issue(g: Gpu, log: Words, channel: int, b: int, tick: int) -> None:
    """Give bank b the command that it wants, at that tick."""
    r = g.bank_next[b]
    command = g.bank_wants[b]
    g.channel_bus[channel] = tick + 1
    # what moves data comes first in a tick, and never less than tCCD apart: it finds no bus taken
    if command >= Command.ACTIVATE or g.command_buses == 1:
        g.row_bus[channel] = tick + 1
    if command == Command.ACTIVATE:
        activate(g, channel, b, tick)
        note(g, log, channel, tick, command, b, g.at_row[r])
        want(g, b)
    elif command == Command.PRECHARGE:
        note(g, log, channel, tick, command, b, g.bank_row[b] - 1)
        g.bank_row[b] = 0
        g.bank_activate[b] = max(g.bank_activate[b], tick + g.t_rp)
        g.opened[r] = 1
        g.memory_stat[MemoryStat.DRAM_PRECHARGES] += 1
        keep_busy(g, channel, b, tick, tick + g.t_rp)
        want(g, b)
    else:
        note(g, log, channel, tick, command, b, g.at_row[r])
        column(g, channel, b, r, tick)


@device
def activate(g: Gpu, channel: int, b: int, tick: int) -> None:
    """Open the row of the bank's next request."""
    r = g.bank_next[b]
    g.bank_row[b] = g.at_row[r] + 1
    g.bank_column[b] = tick + g.t_rcd
    g.bank_precharge[b] = tick + g.t_ras
    g.bank_activate[b] = tick + g.t_rc
    next_one = tick + g.t_rrd
    g.opened[r] = 1
    g.memory_stat[MemoryStat.DRAM_ACTIVATIONS] += 1
    keep_busy(g, channel, b, tick, tick + g.t_rcd)
    if g.t_faw:
        slot = channel * FAW_ACTIVATES + g.channel_oldest[channel]
        g.channel_activated[slot] = tick + g.t_faw
        g.channel_oldest[channel] = (g.channel_oldest[channel] + 1) % FAW_ACTIVATES
        next_one = max(next_one, g.channel_activated[channel * FAW_ACTIVATES + g.channel_oldest[channel]])
    g.channel_activate[channel] = next_one


@device(inline=True)
def keep_busy(g: Gpu, channel: int, b: int, tick: int, end: int) -> None:
    """Bank b carries out a command from `tick` to `end`: counts the ticks in which it was not busy already, and those
    in which no bank of the channel was. A channel's commands come in the order of their ticks."""
    if end > g.bank_busy[b]:
        g.memory_stat[MemoryStat.DRAM_BANK_TICKS] += end - max(tick, g.bank_busy[b])
        g.bank_busy[b] = end
    if end > g.channel_busy[channel]:
        g.memory_stat[MemoryStat.DRAM_BUSY_TICKS] += end - max(tick, g.channel_busy[channel])
        g.channel_busy[channel] = end


@device
def hold_group(g: Gpu, channel: int, b: int, tick: int) -> None:
    """No read or write in bank b's group before `tick`."""
    group = group_of(g, b)
    g.group_column[group] = tick
    for other in range(group, channel * MAX_BANKS_OF_DRAM + g.dram_banks, g.dram_groups):
        if g.bank_wants[other] <= Command.WRITE:
            g.bank_ready[other] = max(g.bank_ready[other], tick)


@device
def column(g: Gpu, channel: int, b: int, r: int, tick: int) -> None:
    """One burst of request r, read or written."""
    # what the command lost by waiting for a tick to begin is not lost for the bus, which may be shared in fractions
    g.channel_data[channel] = max(g.channel_data[channel], (tick << DATA_FRACTION) - DATA_PART) + g.t_data
    read = (g.channel_data[channel] + DATA_PART) >> DATA_FRACTION
    write = read
    if g.writes[r]:
        end = tick + g.t_wl + g.t_burst
        write = max(write, tick + g.t_ccd)
        read = max(read, tick + g.t_ccd, end + g.t_cdlr)
        g.bank_precharge[b] = max(g.bank_precharge[b], end + g.t_wr)
        g.memory_stat[MemoryStat.DRAM_WRITES] += 1
    else:
        end = tick + g.t_cl + g.t_burst
        read = max(read, tick + g.t_ccd)
        write = max(write, tick + g.t_ccd, tick + g.t_rtw)
        g.bank_precharge[b] = max(g.bank_precharge[b], tick + g.t_rtp)
        g.memory_stat[MemoryStat.DRAM_READS] += 1
    keep_busy(g, channel, b, tick, end)
    g.channel_read[channel] = read
    g.channel_write[channel] = write
    hold_group(g, channel, b, tick + g.t_ccdl)
    g.bursts[r] -= 1
    if g.bursts[r] == 0:
        g.memory_stat[MemoryStat.DRAM_REQUESTS] += 1
        if g.opened[r] == 0:
            g.memory_stat[MemoryStat.DRAM_ROW_HITS] += 1
        leave_bank(g, r)
        g.channel_served[channel] = 1
        if g.writes[r]:
            drop_request(g, r)
        else:
            post(g, r, cycle_of(g, end - 1) + 1 + g.dram_latency)


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
