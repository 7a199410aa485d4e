"""DRAM has channels of banks with row buffers, which serve requests first ready, first come (FR-FCFS).

A channel issues at most one command per tick of its clock. With two command buses, as HBM has, it issues one that moves
data and one that opens or closes a row. Of the requests that wait at a bank, one is next: the oldest one to the open
row, else the oldest. Of the banks' next commands the channel issues the one whose constraints let it go first; in one
tick, a read or write before an activation or a precharge, then the older request's. Rows stay open until another is
wanted. A request takes one read or write per burst, and is done when the last has passed the data bus. Where the
machine states a refresh interval, all banks are closed and refreshed together, and nothing else happens meanwhile.
Figures and their names: `state.parts.dram`. TIMING.md says what is not modelled.

A channel's commands follow from its requests, and are visible only when a request ends. So they are issued late, many
together: before a request comes to the channel (`catch_up`), in the first cycle in which one of its requests may end,
and when a run stops (`settle`).
"""

from __future__ import annotations

from binalloc.emulator.channels.memories import add, cycle_of, memory_of, tick_from
from binalloc.emulator.channels.turns import first_of, rank_of
from binalloc.emulator.memory.account.busy import keep_busy
from binalloc.emulator.memory.account.log import note
from binalloc.emulator.memory.account.prefetch import read_ended
from binalloc.emulator.memory.account.rows import row_opened, rows_closed
from binalloc.emulator.memory.account.shares import count_share
from binalloc.emulator.memory.calendar import post
from binalloc.emulator.memory.places import remainder
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
    REFRESHING,
    Command,
    DramStat,
    Queue,
    RequestKind,
)
from binalloc.emulator.state.records import Gpu

DATA_PART = (1 << DATA_FRACTION) - 1  # fraction bits of a time on the data bus
AGE_BITS = 40  # of a key: requests' ages count stamps, far fewer than 2^40
BANK_BITS = 5  # of a key: log2 of MAX_BANKS_OF_DRAM
BEHIND_CPU = 1 << (AGE_BITS - 1 + BANK_BITS)  # in a key, where CPU programs come first: a request of the GPU
ROW_COMMAND = 1 << (AGE_BITS + BANK_BITS)  # in a key: no read or write
WAIT_SHIFT = AGE_BITS + BANK_BITS + 1  # of a key: the wait stands above all else and decides first
LONGEST_WAIT = (1 << 16) - 1  # ticks; no timing parameter comes near it


@device
def has_room(g: Gpu, channel: int, requests: int) -> int:
    """Return 1 if `requests` more requests can wait at the channel, else 0."""
    return 1 if g.channel_waiting[channel] + requests <= g.dram_depth[memory_of(g, channel)] else 0


@device
def enqueue(g: Gpu, r: int, channel: int, bank: int, row: int, bursts: int) -> None:
    """Let request r wait at a bank of a channel that has room for it and has caught up."""
    m = memory_of(g, channel)
    b = channel * MAX_BANKS_OF_DRAM + bank
    g.at_bank[r] = b
    g.at_row[r] = row
    g.bursts[r] = bursts
    g.opened[r] = 0
    g.asked[r] = g.cycle
    g.younger[r] = -1
    g.channel_waiting[channel] += 1
    entered(g, Queue.DRAM_QUEUE + m, g.cycle, g.channel_waiting[channel], g.dram_depth[m])
    g.channel_seen[channel] = g.cycle
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
        if rank_of(g, b, r) <= rank_of(g, b, g.bank_next[b]):
            return
    change_next(g, m, channel, b, r)


@device
def change_next(g: Gpu, m: int, channel: int, b: int, r: int) -> None:
    """Make request r, which has just come, the next one of its bank. Its commands follow those that the channel has
    issued in this cycle."""
    g.bank_next[b] = r
    want(g, m, b)
    g.bank_ready[b] = max(g.bank_ready[b], g.channel_bus[channel])
    first = tick_from(g, m, g.cycle)
    if g.channel_next[channel] == b:
        find_next(g, m, channel, first)
    else:
        propose(g, m, channel, b, first)
    g.channel_due[channel] = min(g.channel_due[channel], cycle_of(g, m, g.channel_end[channel]))
    g.dram_due = min(g.dram_due, g.channel_due[channel])


@device
def leave_bank(g: Gpu, r: int) -> None:
    """Remove request r, which has been served. Its bank turns to the next one."""
    b = g.at_bank[r]
    channel = b // MAX_BANKS_OF_DRAM
    m = memory_of(g, channel)
    g.channel_waiting[channel] -= 1
    left(g, Queue.DRAM_QUEUE + m, g.cycle, g.channel_waiting[channel], g.dram_depth[m])
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
    g.bank_next[b] = first_of(g, b)
    want(g, m, b)


@device
def want(g: Gpu, m: int, b: int) -> None:
    """Note which command bank b needs for its next request, when the bank and its group are ready for it, and how long
    after that the request's last command is at the soonest."""
    r = g.bank_next[b]
    rest = (g.bursts[r] - 1) * g.t_ccdl[m]
    low = g.age[r] << BANK_BITS | b & (MAX_BANKS_OF_DRAM - 1)
    if g.bank_row[b] == 0:
        g.bank_wants[b] = Command.ACTIVATE
        g.bank_ready[b] = g.bank_activate[b]
        rest += g.t_rcd[m]
        low |= ROW_COMMAND
    elif g.bank_row[b] != g.at_row[r] + 1:
        g.bank_wants[b] = Command.PRECHARGE
        g.bank_ready[b] = g.bank_precharge[b]
        rest += g.t_rp[m] + g.t_rcd[m]
        low |= ROW_COMMAND
    else:
        g.bank_wants[b] = Command.WRITE if g.writes[r] else Command.READ
        g.bank_ready[b] = max(g.bank_column[b], g.group_column[group_of(g, m, b)])
    if g.cpu_first and g.kind[r] != RequestKind.CPU_LOAD:
        low |= BEHIND_CPU
    g.bank_key[b] = low
    g.bank_rest[b] = rest


@device(inline=True)
def group_of(g: Gpu, m: int, b: int) -> int:
    """Return the bank group of bank b, which has the number of its first bank."""
    inside = b & (MAX_BANKS_OF_DRAM - 1)
    return b - inside + remainder(inside, g.dram_groups[m])


@device(inline=True)
def wait_of(g: Gpu, b: int, first: int, read: int, write: int, activate: int, precharge: int) -> int:
    """Return for how many ticks after `first` bank b's next command has to wait. read, write, activate, precharge: the
    ticks for which the channel takes no such command.

    This and `key_of` have no branches and look-ups, so that they are computed for several banks at once.
    """
    wants = g.bank_wants[b]
    bound = read if wants == Command.READ else write if wants == Command.WRITE else precharge
    bound = activate if wants == Command.ACTIVATE else bound
    return max(g.bank_ready[b] - first, bound)


@device(inline=True)
def key_of(g: Gpu, b: int, wait: int) -> int:
    """Return the key of bank b's next command, by which the least is chosen: its wait; a read or write before the
    others; the age of its request. The lowest bits are the bank's number."""
    return min(wait, LONGEST_WAIT) << WAIT_SHIFT | g.bank_key[b]


@device(inline=True)
def keep_next(g: Gpu, m: int, channel: int, first: int, key: int) -> None:
    """Make the command with this key (`key_of`) the channel's next one, unless a refresh is due by then."""
    g.channel_next[channel] = channel * MAX_BANKS_OF_DRAM + (key & (MAX_BANKS_OF_DRAM - 1))
    g.channel_tick[channel] = first + (key >> WAIT_SHIFT)
    if g.t_refi[m] and g.channel_tick[channel] >= g.channel_refresh[channel]:
        g.channel_next[channel] = REFRESHING
        g.channel_tick[channel] = g.channel_refresh[channel]


@device(inline=True)
def keep_end(g: Gpu, m: int, channel: int, end: int) -> None:
    """Note that no request ends before tick `end`, or before a refresh. A refresh is never noticed late: it closes
    rows, so a bank's new next request may end sooner than the old one."""
    g.channel_end[channel] = min(end, g.channel_refresh[channel]) if g.t_refi[m] else end


@device
def find_next(g: Gpu, m: int, channel: int, first: int) -> None:
    """Find the channel's next command, from tick `first` on, and the first tick at which a request may end. The command
    is kept until it is issued, or until a new request at a bank comes before it."""
    if g.channel_used[channel] == 0:
        g.channel_tick[channel] = NEVER
        g.channel_end[channel] = NEVER
        return
    read = max(g.channel_read[channel] - first, 0)
    write = max(g.channel_write[channel] - first, 0)
    precharge = max(g.row_bus[channel] - first, 0)
    activate = max(g.channel_activate[channel] - first, precharge)
    base = channel * MAX_BANKS_OF_DRAM
    best = NEVER
    end = NEVER
    for b in range(base, base + g.dram_banks[m]):
        wait = wait_of(g, b, first, read, write, activate, precharge)
        best = min(best, key_of(g, b, wait))
        end = min(end, wait + g.bank_rest[b])
    keep_next(g, m, channel, first, best)
    keep_end(g, m, channel, first + end)


@device
def propose(g: Gpu, m: int, channel: int, b: int, first: int) -> None:
    """Compare the command of bank b, which has a new next request, with the channel's next one: the earlier is kept."""
    read = max(g.channel_read[channel] - first, 0)
    write = max(g.channel_write[channel] - first, 0)
    precharge = max(g.row_bus[channel] - first, 0)
    activate = max(g.channel_activate[channel] - first, precharge)
    wait = wait_of(g, b, first, read, write, activate, precharge)
    if g.channel_due[channel] == NEVER:
        g.channel_end[channel] = NEVER
        keep_next(g, m, channel, first, key_of(g, b, wait))
    elif g.channel_next[channel] == REFRESHING:
        keep_next(g, m, channel, first, key_of(g, b, wait))
    else:
        other = g.channel_next[channel]
        key = key_of(g, b, wait)
        if key < key_of(g, other, wait_of(g, other, first, read, write, activate, precharge)):
            keep_next(g, m, channel, first, key)
    keep_end(g, m, channel, min(g.channel_end[channel], first + wait + g.bank_rest[b]))


@device(apart=True)
def advance(g: Gpu, log: Words, channel: int, now: int) -> None:
    """Issue the channel's commands of all core cycles before `now`. Leaves in `channel_due` the first cycle in which a
    request may end, or all banks are refreshed."""
    m = memory_of(g, channel)
    behind = tick_from(g, m, now)
    while g.channel_tick[channel] < behind and g.channel_seen[channel] < now:
        tick = g.channel_tick[channel]
        if g.channel_next[channel] == REFRESHING:
            refresh(g, log, m, channel)
            tick = tick_from(g, m, now - 1)
        else:
            issue(g, log, m, channel, g.channel_next[channel], tick)
        find_next(g, m, channel, tick)
    g.channel_due[channel] = NEVER if g.channel_used[channel] == 0 else cycle_of(g, m, g.channel_end[channel])


@device(inline=True)
def catch_up(g: Gpu, log: Words, channel: int) -> None:
    """Issue the channel's commands before this cycle, as a request may come in it: none of its requests ends."""
    if g.channel_used[channel] and g.channel_tick[channel] < tick_from(g, memory_of(g, channel), g.cycle):
        before = g.channel_due[channel]
        advance(g, log, channel, g.cycle)
        if before == g.dram_due:
            find_due(g)


@device(apart=True)
def settle(g: Gpu, log: Words, now: int) -> None:
    """Issue the commands of all channels before core cycle `now`, in which no request ends."""
    for channel in range(g.all_channels):
        if g.channel_used[channel]:
            advance(g, log, channel, now)


@device
def refresh(g: Gpu, log: Words, m: int, channel: int) -> None:
    """Close the banks that are open, as soon as all can be closed, and refresh all of them.

    The channel does nothing else from the tick at which this is due until it is over, so all of it is settled at once,
    ahead of time: requests that come meanwhile only wait. The refreshes of a channel without requests are settled
    afterwards: nobody noticed them.
    """
    first = channel * MAX_BANKS_OF_DRAM
    close = max(g.channel_refresh[channel], g.row_bus[channel])
    begin = close
    rows = 0
    for b in range(first, first + g.dram_banks[m]):
        begin = max(begin, g.bank_activate[b])
        if g.bank_row[b]:
            close = max(close, g.bank_precharge[b])
            rows += 1
    if rows:
        note(g, log, channel, close, Command.PRECHARGE_ALL, first, 0, -1)
        rows_closed(g, channel, close, rows)
        add(g, m, DramStat.DRAM_PRECHARGES, rows)
        begin = max(begin, close + g.t_rp[m])
    note(g, log, channel, begin, Command.REFRESH, first, 0, -1)
    add(g, m, DramStat.DRAM_REFRESHES, 1)
    g.channel_refresh[channel] += g.t_refi[m]
    g.channel_bus[channel] = begin + 1
    g.row_bus[channel] = begin + 1
    for b in range(first, first + g.dram_banks[m]):
        g.bank_row[b] = 0
        g.bank_activate[b] = begin + g.t_rfc[m]
        if (g.channel_used[channel] >> (b - first)) & 1:
            g.bank_next[b] = first_of(g, b)
            want(g, m, b)


@device
def issue(g: Gpu, log: Words, m: int, channel: int, b: int, tick: int) -> None:
    """Give bank b the command that it needs next, at that tick."""
    r = g.bank_next[b]
    command = g.bank_wants[b]
    count_share(g, m, r, command)
    g.channel_bus[channel] = tick + 1
    # reads and writes come first in a tick, and never less than tCCD apart: they find no bus taken
    if command >= Command.ACTIVATE or g.command_buses[m] == 1:
        g.row_bus[channel] = tick + 1
    if command == Command.ACTIVATE:
        activate(g, m, channel, b, tick)
        note(g, log, channel, tick, command, b, g.at_row[r], r)
        want(g, m, b)
    elif command == Command.PRECHARGE:
        note(g, log, channel, tick, command, b, g.bank_row[b] - 1, r)
        rows_closed(g, channel, tick, 1)
        g.bank_row[b] = 0
        g.bank_activate[b] = max(g.bank_activate[b], tick + g.t_rp[m])
        g.opened[r] = 1
        add(g, m, DramStat.DRAM_PRECHARGES, 1)
        keep_busy(g, m, channel, b, tick, tick + g.t_rp[m])
        want(g, m, b)
    else:
        note(g, log, channel, tick, command, b, g.at_row[r], r)
        column(g, m, channel, b, r, tick)


@device
def activate(g: Gpu, m: int, channel: int, b: int, tick: int) -> None:
    """Open the row of the bank's next request."""
    r = g.bank_next[b]
    g.bank_row[b] = g.at_row[r] + 1
    g.bank_column[b] = tick + g.t_rcd[m]
    g.bank_precharge[b] = tick + g.t_ras[m]
    g.bank_activate[b] = tick + g.t_rc[m]
    next_one = tick + g.t_rrd[m]
    g.opened[r] = 1
    add(g, m, DramStat.DRAM_ACTIVATIONS, 1)
    row_opened(g, channel, tick)
    keep_busy(g, m, channel, b, tick, tick + g.t_rcd[m])
    if g.t_faw[m]:
        slot = channel * FAW_ACTIVATES + g.channel_oldest[channel]
        g.channel_activated[slot] = tick + g.t_faw[m]
        g.channel_oldest[channel] = (g.channel_oldest[channel] + 1) % FAW_ACTIVATES
        next_one = max(next_one, g.channel_activated[channel * FAW_ACTIVATES + g.channel_oldest[channel]])
    g.channel_activate[channel] = next_one


@device
def hold_group(g: Gpu, m: int, channel: int, b: int, tick: int) -> None:
    """Let no read or write begin in bank b's group before `tick`."""
    other = group_of(g, m, b)
    g.group_column[other] = tick
    end = channel * MAX_BANKS_OF_DRAM + g.dram_banks[m]
    while other < end:
        if g.bank_wants[other] <= Command.WRITE:
            g.bank_ready[other] = max(g.bank_ready[other], tick)
        other += g.dram_groups[m]


@device
def column(g: Gpu, m: int, channel: int, b: int, r: int, tick: int) -> None:
    """Read or write one burst of request r."""
    # what the command lost by waiting for a tick to begin is not lost for the bus, which may be shared in fractions
    g.channel_data[channel] = max(g.channel_data[channel], (tick << DATA_FRACTION) - DATA_PART) + g.t_data[m]
    read = (g.channel_data[channel] + DATA_PART) >> DATA_FRACTION
    write = read
    if g.writes[r]:
        end = tick + g.t_wl[m] + g.t_burst[m]
        write = max(write, tick + g.t_ccd[m])
        read = max(read, tick + g.t_ccd[m], end + g.t_cdlr[m])
        g.bank_precharge[b] = max(g.bank_precharge[b], end + g.t_wr[m])
        add(g, m, DramStat.DRAM_WRITES, 1)
    else:
        end = tick + g.t_cl[m] + g.t_burst[m]
        read = max(read, tick + g.t_ccd[m])
        write = max(write, tick + g.t_ccd[m], tick + g.t_rtw[m])
        g.bank_precharge[b] = max(g.bank_precharge[b], tick + g.t_rtp[m])
        add(g, m, DramStat.DRAM_READS, 1)
    keep_busy(g, m, channel, b, tick, end)
    g.channel_read[channel] = read
    g.channel_write[channel] = write
    hold_group(g, m, channel, b, tick + g.t_ccdl[m])
    g.bursts[r] -= 1
    g.bank_rest[b] -= g.t_ccdl[m]
    if g.bursts[r] == 0:
        add(g, m, DramStat.DRAM_REQUESTS, 1)
        if g.opened[r] == 0:
            add(g, m, DramStat.DRAM_ROW_HITS, 1)
        leave_bank(g, r)
        g.channel_served[channel] = 1
        hand_back(g, m, r, cycle_of(g, m, end - 1) + 1)


@device
def hand_back(g: Gpu, m: int, r: int, done: int) -> None:
    """Send on the data of request r, which memory m has served up to cycle `done`."""
    if g.kind[r] == RequestKind.CPU_LOAD:
        add(g, m, DramStat.DRAM_CPU_REQUESTS, 1)
        add(g, m, DramStat.DRAM_CPU_ROW_HITS, 1 - g.opened[r])
        add(g, m, DramStat.DRAM_CPU_DELAY, done - g.asked[r])
        post(g, r, done + g.cpu_path[g.cpu_of_chain[g.source[r]]])
    elif g.writes[r]:
        add(g, m, DramStat.DRAM_WRITE_DELAY, done - g.asked[r])
        add(g, m, DramStat.DRAM_WRITE_REQUESTS, 1)
        drop_request(g, r)
    else:
        add(g, m, DramStat.DRAM_READ_DELAY, done - g.asked[r])
        read_ended(g, g.at_bank[r], r)
        post(g, r, done + g.dram_latency[m])


@device(apart=True)
def find_due(g: Gpu) -> None:
    """Find the first core cycle in which a request of some channel may end."""
    soonest = NEVER
    for channel in range(g.all_channels):
        soonest = min(soonest, g.channel_due[channel])
    g.dram_due = soonest


@device
def serve_dram(g: Gpu, log: Words) -> None:
    """Issue the commands, up to those of this core cycle, of the channels whose requests may end in it."""
    for channel in range(g.all_channels):
        if g.channel_due[channel] <= g.cycle:
            advance(g, log, channel, g.cycle + 1)
    find_due(g)
