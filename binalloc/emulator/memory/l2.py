"""L2 has slices by address, each a set-associative write-back cache with loads that wait for lines in flight (MSHRs).

A slice takes one request a cycle, in order of arrival; it looks at its lines when the request arrives. A request may be
unable to go on: every way of its set waits for its line, no MSHR is free, none of the line's places to wait, or there
is no room at the channel. It then stays first in the queue, and all behind it wait as well, until something has ended
at the slice or its channel. Lines are valid word by word: stores need no fill, a load fetches the sectors it lacks.
"""

from __future__ import annotations

from binalloc.emulator.channels.memories import memory_of
from binalloc.emulator.memory.account.prefetch import line_leaves, line_wanted
from binalloc.emulator.memory.account.shares import asked_for, changed_by, serves, writes_back
from binalloc.emulator.memory.calendar import post
from binalloc.emulator.memory.cpu.traffic import let_all_in, let_cpu_in
from binalloc.emulator.memory.dram import BANK_BITS, enqueue, has_room
from binalloc.emulator.memory.interconnect import request_size
from binalloc.emulator.memory.places import channel_of, is_spill, row_of
from binalloc.emulator.memory.queues import entered, left
from binalloc.emulator.memory.replacement import BUSY, least_used
from binalloc.emulator.memory.requests import drop_request, make_request
from binalloc.emulator.memory.sectors import bursts_of, sector_count, whole_sectors
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import (
    CACHED,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    FIRST_LOCAL_LINE,
    MAX_BANKS_OF_DRAM,
    SERIAL_SHIFT,
    TEXEL,
    MemoryStat,
    Queue,
    RequestKind,
    Stage,
)
from binalloc.emulator.state.records import Gpu


@device
def reach_slice(g: Gpu, r: int) -> None:
    """Serve request r, which has come over the interconnect, or put it into the slice's queue."""
    g.memory_stat[MemoryStat.REQUEST_BYTES] += request_size(g, r)
    k = g.at_slice[r]
    if g.slice_first[k] == 0 and serve(g, r, k):
        return
    g.memory_stat[MemoryStat.L2_STALLED] += 1
    g.waiting_at_slices += 1
    g.following[r] = -1
    if g.slice_first[k] == 0:
        g.slice_first[k] = r + 1
    else:
        g.following[g.slice_last[k]] = r
    g.slice_last[k] = r


@device
def go_on(g: Gpu, k: int) -> None:
    """Serve the requests that wait at slice k, as far as possible. Something that they may need has ended."""
    if g.slice_wants[k] and has_room(g, channel_of(g, k), g.slice_wants[k]) == 0:
        return
    while g.slice_first[k]:
        r = g.slice_first[k] - 1
        following = g.following[r]
        if serve(g, r, k) == 0:
            return
        g.waiting_at_slices -= 1
        g.slice_first[k] = following + 1


@device
def find_line(g: Gpu, r: int) -> int:
    """Return the index of request r's line in L2, or -1 if it is not there."""
    first = g.at_way[r]
    tag = g.home[r] + 1
    at = -1
    for i in range(first, first + g.l2_ways):  # no early exit, so that the loop over the ways can be vectorised
        at = max(at, i if g.l2_line[i] == tag else -1)
    return at


@device
def replace(g: Gpu, k: int, i: int, line: int) -> None:
    """Let way i hold `line` from now on. Words of the old line that DRAM lacks are sent there."""
    if g.l2_line[i]:
        if g.ahead:
            line_leaves(g, i)
        g.memory_stat[MemoryStat.L2_EVICTIONS] += 1
        if g.l2_dirty[i]:
            r = make_request(g, RequestKind.EVICTION, k, g.l2_line[i] - 1, g.l2_dirty[i], i)
            writes_back(g, r, i)
            write_dram(g, r, k)
    g.l2_line[i] = line + 1
    g.l2_valid[i] = 0
    g.l2_dirty[i] = 0


@device
def write_dram(g: Gpu, r: int, k: int) -> None:
    """Send the words of request r of slice k to DRAM. Nobody waits for it."""
    g.writes[r] = 1
    g.memory_stat[MemoryStat.L2_WRITEBACKS] += 1
    g.memory_stat[MemoryStat.L2_WRITEBACK_SECTORS] += sector_count(g.words[r])
    to_dram(g, r, k)


@device
def to_dram(g: Gpu, r: int, k: int) -> None:
    """Let request r of slice k wait at the slice's channel, which has room."""
    row = row_of(g, k, g.home[r])
    channel = channel_of(g, k)
    g.stage[r] = Stage.FILLS_LINE
    bank = row & (MAX_BANKS_OF_DRAM - 1)
    enqueue(g, r, channel, bank, row >> BANK_BITS, bursts_of(g, memory_of(g, channel), g.words[r]))


@device
def serve(g: Gpu, r: int, k: int) -> int:
    """Let slice k take request r, or return 0 if it cannot yet. If the reason is the channel, `slice_wants` is the
    number of places there that it lacks. What was found out then is still true, unless `fill_line` has reset it."""
    if g.l2_data == 0 and (g.kind[r] != RequestKind.LOAD or g.link[r] & CACHED == 0):
        return serve_past(g, r, k)
    room = g.slice_wants[k]
    if room:
        if has_room(g, channel_of(g, k), room) == 0:
            return 0
        g.slice_wants[k] = 0
        take_request(g, r, k, g.slice_way[k], g.slice_lacks[k], g.slice_fetch[k])
        return 1
    kind = g.kind[r]
    words = g.words[r]
    i = find_line(g, r)
    lacking = 0
    if kind != RequestKind.STORE:
        lacking = words if i < 0 else words & ~g.l2_valid[i]
    fetch = 0
    if lacking:
        fetch = whole_sectors(lacking) & ~(0 if i < 0 else g.l2_coming[i])
        if (i >= 0 and g.l2_waiting[i] > g.l2_merges) or (fetch and g.slice_pending[k] >= g.l2_mshrs):
            return 0
    room = 1 if fetch else 0
    if i < 0:
        i = least_used(g.l2_age, g.at_way[r], g.l2_ways)
        if i < 0:
            return 0
        room += 1 if g.l2_dirty[i] else 0
    if room and has_room(g, channel_of(g, k), room) == 0:
        g.slice_wants[k] = room
        g.slice_way[k] = i
        g.slice_lacks[k] = lacking
        g.slice_fetch[k] = fetch
        return 0
    take_request(g, r, k, i, lacking, fetch)
    return 1


@device
def take_request(g: Gpu, r: int, k: int, i: int, lacking: int, fetch: int) -> None:
    """Let slice k take request r: way i has its line, or is to have it from now on.

    lacking: words that it wants and the line does not have. fetch: all words of the sectors of `lacking`, without those
    that are on their way.
    """
    line = g.home[r]
    count(g, r, lacking, fetch)
    if g.l2_line[i] != line + 1:
        replace(g, k, i, line)
    elif g.ahead:
        line_wanted(g, r, i)
    asked_for(g, r, i)
    if fetch:
        g.l2_coming[i] |= fetch
        hold_mshr(g, k)
        ask_dram(g, r, make_request(g, RequestKind.FILL, k, line, fetch, i), k)
    g.l2_age[i] = g.age[r] | (BUSY if g.l2_coming[i] else 0)
    if lacking:
        wait_for_line(g, r, i)
        take_turn(g, k, 1)
        return
    if g.kind[r] == RequestKind.STORE:
        g.l2_valid[i] |= g.words[r]
        g.l2_dirty[i] |= g.words[r]
        changed_by(g, r, i)
    answer(g, r, k, i)


@device
def ask_dram(g: Gpu, r: int, fill: int, k: int) -> None:
    """Fetch from DRAM the sectors of request `fill` of slice k, which serves request r."""
    serves(g, fill, r)
    g.memory_stat[MemoryStat.L2_FILLS] += 1
    g.memory_stat[MemoryStat.L2_FILL_SECTORS] += sector_count(g.words[fill])
    to_dram(g, fill, k)


@device
def hold_mshr(g: Gpu, k: int) -> None:
    """Take an MSHR: a fetch for a line of slice k begins."""
    g.slice_pending[k] += 1
    entered(g, Queue.L2_MSHRS, g.cycle, g.slice_pending[k], g.l2_mshrs)


@device
def free_mshr(g: Gpu, k: int) -> None:
    """Free an MSHR: a fetch for a line of slice k has come."""
    g.slice_pending[k] -= 1
    left(g, Queue.L2_MSHRS, g.cycle, g.slice_pending[k], g.l2_mshrs)


@device
def wait_for_line(g: Gpu, r: int, i: int) -> None:
    """Let request r wait for words of line i, behind the others that do."""
    g.following[r] = -1
    g.stage[r] = Stage.WAITS_FOR_LINE
    if g.l2_waiting[i]:
        g.following[g.l2_last[i]] = r
    else:
        g.l2_first[i] = r
    g.l2_last[i] = r
    g.l2_waiting[i] += 1


@device
def count(g: Gpu, r: int, lacking: int, fetch: int) -> None:
    """Count request r, which a slice takes."""
    kind = g.kind[r]
    sectors = sector_count(g.words[r])
    if kind == RequestKind.STORE:
        g.memory_stat[MemoryStat.L2_STORES] += 1
        g.memory_stat[MemoryStat.L2_STORE_SECTORS] += sectors
        return
    if kind == RequestKind.ATOMIC:
        g.memory_stat[MemoryStat.L2_ATOMICS] += 1
        g.memory_stat[MemoryStat.L2_ATOMIC_SECTORS] += sectors
    else:
        g.memory_stat[MemoryStat.L2_LOAD_SECTORS] += sectors
    g.memory_stat[MemoryStat.L2_MISSES if lacking else MemoryStat.L2_HITS] += 1
    if g.line[r] >= FIRST_LOCAL_LINE:
        count_apart(g, r, 1 if lacking else 0)
    elif kind == RequestKind.LOAD and g.link[r] & TEXEL:
        g.memory_stat[MemoryStat.L2_TEXTURE_MISSES if lacking else MemoryStat.L2_TEXTURE_HITS] += 1
    if lacking and not fetch:
        g.memory_stat[MemoryStat.L2_MERGES] += 1


@device
def count_apart(g: Gpu, r: int, missed: int) -> None:
    """Count load r of memory without addresses: code, constants, local memory."""
    if g.line[r] >= FIRST_CONSTANT_LINE:
        g.memory_stat[MemoryStat.L2_CONSTANT_MISSES if missed else MemoryStat.L2_CONSTANT_HITS] += 1
    elif g.line[r] >= FIRST_CODE_LINE:
        g.memory_stat[MemoryStat.L2_INSTRUCTION_MISSES if missed else MemoryStat.L2_INSTRUCTION_HITS] += 1
    else:
        g.memory_stat[MemoryStat.L2_LOCAL_MISSES if missed else MemoryStat.L2_LOCAL_HITS] += 1
        if is_spill(g, g.line[r]):
            g.memory_stat[MemoryStat.L2_SPILL_MISSES if missed else MemoryStat.L2_SPILL_HITS] += 1


@device
def take_turn(g: Gpu, k: int, cycles: int) -> int:
    """Take the slice for `cycles` cycles from the first free one on. Return that cycle."""
    start = max(g.slice_free[k], g.cycle)
    g.slice_free[k] = start + cycles
    return start


@device
def answer(g: Gpu, r: int, k: int, i: int) -> None:
    """Let request r leave its slice once it has passed the pipeline. Its words are in line i, or have bypassed all
    lines (-1)."""
    cycles = 1
    if g.kind[r] == RequestKind.ATOMIC:
        cycles = max(g.l2_atomic * (g.link[r] >> SERIAL_SHIFT), 1)
        if i >= 0:
            g.l2_dirty[i] |= g.words[r]
            changed_by(g, r, i)
    g.stage[r] = Stage.LEAVES_SLICE
    post(g, r, take_turn(g, k, cycles) + cycles - 1 + g.l2_latency)


@device
def let_in(g: Gpu) -> None:
    """Resume slices whose first request waits for a place at a channel, where the channel has room again, and requests
    of CPU programs that do: the older one first. For all other reasons `go_on` resumes a slice."""
    for channel in range(g.all_channels):
        if g.channel_served[channel]:
            g.channel_served[channel] = 0
            first = channel * g.slices_per_channel
            for k in range(first, first + g.slices_per_channel):
                if g.cpu_waiting and g.slice_wants[k]:
                    let_cpu_in(g, channel, g.age[g.slice_first[k] - 1])
                if g.slice_wants[k] and has_room(g, channel, g.slice_wants[k]):
                    go_on(g, k)
            if g.cpu_waiting:
                let_all_in(g, channel)


@device
def fill_line(g: Gpu, r: int) -> None:
    """Enter the sectors that request r fetched. Waiting requests that lack nothing any more go on, in their order."""
    if g.link[r] < 0:
        come_past(g, r)
        return
    k = g.source[r]
    i = g.link[r]
    g.l2_valid[i] |= g.words[r]
    g.l2_coming[i] &= ~g.words[r]
    if g.l2_coming[i] == 0:
        g.l2_age[i] &= BUSY - 1
    free_mshr(g, k)
    drop_request(g, r)
    if g.slice_wants[k] and i - g.l2_ways < g.at_way[g.slice_first[k] - 1] <= i:
        g.slice_wants[k] = 0  # it looks again at the lines of its set
    waiting = g.l2_first[i]
    count_left = g.l2_waiting[i]
    g.l2_waiting[i] = 0
    for _ in range(count_left):
        following = g.following[waiting]
        if g.words[waiting] & ~g.l2_valid[i]:
            wait_for_line(g, waiting, i)
        else:
            answer(g, waiting, k, i)
        waiting = following
    go_on(g, k)


@device
def serve_past(g: Gpu, r: int, k: int) -> int:
    """Hand request r on to DRAM past slice k, which caches textures alone, or return 0 if the channel has no room.
    MSHRs belong to the slice's lines: what bypasses them takes none."""
    kind = g.kind[r]
    room = 2 if kind == RequestKind.ATOMIC else 1
    g.slice_wants[k] = 0
    if has_room(g, channel_of(g, k), room) == 0:
        g.slice_wants[k] = room
        return 0
    if kind == RequestKind.STORE:
        count(g, r, 0, 0)
        write_past(g, r, k)
        answer(g, r, k, -1)
        return 1
    count(g, r, g.words[r], g.words[r])
    g.stage[r] = Stage.WAITS_FOR_LINE
    ask_dram(g, r, make_request(g, RequestKind.FILL, k, g.home[r], whole_sectors(g.words[r]), -1 - r), k)
    take_turn(g, k, 1)
    return 1


@device
def write_past(g: Gpu, r: int, k: int) -> None:
    """Write the words of request r to DRAM past slice k."""
    past = make_request(g, RequestKind.EVICTION, k, g.home[r], g.words[r], -1)
    serves(g, past, r)
    write_dram(g, past, k)


@device
def come_past(g: Gpu, fill: int) -> None:
    """Pass on the data of request `fill` to the request that it was sent for. The changes of an atomic go back to DRAM.
    A place was reserved for them, and they may take one more than the channel has."""
    k = g.source[fill]
    r = -1 - g.link[fill]
    drop_request(g, fill)
    if g.kind[r] == RequestKind.ATOMIC:
        write_past(g, r, k)
    answer(g, r, k, -1)
    go_on(g, k)
