"""Timing of memory accesses: coalescing, bandwidth, the L1 cache, bank conflicts.

Each function looks at the addresses `s.addr` of the lanes in a mask and leaves in the SM record: `passes`, the cycles
the load/store port is taken; `done_at`, when the result is there (or the store has left). Off-chip memory is one bus
with a next free time: a request takes its place in the queue at once, so its completion is known when it is made. A
cache with MSHRs or a DRAM model that does not know the time yet can enter its completion through `events.guard_until`
later."""

from __future__ import annotations

from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import BUS_END, FRACTION, FULL, LANES, Access
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits


@device
def transfer(g: Gpu, sectors: int, latency: int) -> int:
    """Queue `sectors` on the memory bus; the time at which the last of them is there. A queue that reaches beyond the
    end of the clock stays there: its sums must not wrap."""
    start = max(g.memory_free, g.cycle << FRACTION)
    g.memory_free = min(start + sectors * g.sector_cost, BUS_END)
    g.memory_sectors += sectors
    return ((g.memory_free - g.sector_cost) >> FRACTION) + latency


@device
def gather_lines(g: Gpu, s: Sm, mask: int) -> int:
    """Distinct lines touched by the lanes of `mask`: `s.seen` line numbers, `s.seen_count` their sector masks."""
    n = 0
    last = g.line_sectors - 1
    for t in range(g.lanes):
        if (mask >> t) & 1:
            line = s.addr[t] >> g.line_shift
            bit = 1 << ((s.addr[t] >> g.sector_shift) & last)
            i = n - 1
            while i >= 0 and s.seen[i] != line:
                i -= 1
            if i < 0:
                s.seen[n] = line
                s.seen_count[n] = bit
                n += 1
            else:
                s.seen_count[i] |= bit
    return n


@device
def most_equal(g: Gpu, s: Sm, mask: int) -> int:
    """Largest number of lanes in `mask` with the same address."""
    most = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            same = 0
            for k in range(g.lanes):
                if (mask >> k) & 1 and s.addr[k] == s.addr[t]:
                    same += 1
            most = max(most, same)
    return most


@device
def global_time(g: Gpu, s: Sm, mask: int, access: int) -> None:
    """A global access: one pass per line, its sectors on the bus (through L1 where the machine caches global loads)."""
    lines = gather_lines(g, s, mask)
    s.passes += lines
    sectors = 0
    for i in range(lines):
        sectors += count_bits(s.seen_count[i])
    if access == Access.ATOMIC:
        s.stat[Stat.GLOBAL_ATOMIC_SECTORS] += sectors
        serial = most_equal(g, s, mask) - 1
        s.passes += serial
        s.done_at = max(s.done_at, transfer(g, sectors, g.memory_atomic_latency) + serial)
    elif access == Access.STORE:
        s.stat[Stat.GLOBAL_STORE_SECTORS] += sectors
        s.done_at = max(s.done_at, transfer(g, sectors, g.memory_latency))
    else:
        s.stat[Stat.GLOBAL_LOAD_SECTORS] += sectors
        if g.l1_global == 0:
            s.done_at = max(s.done_at, transfer(g, sectors, g.memory_latency))
            return
    if g.l1_global:
        for i in range(lines):
            if access == Access.LOAD:
                s.done_at = max(s.done_at, cache_load(g, s, s.seen[i] << 1, FULL, 0))
            else:
                cache_invalidate(g, s, s.seen[i] << 1)


@device
def cache_find(g: Gpu, s: Sm, tag: int) -> int:
    """Index of the line with `tag` in L1, or -1. Tags: line number * 2, plus 1 for local memory."""
    first = ((tag >> 1) % g.l1_sets) * g.l1_ways
    for i in range(first, first + g.l1_ways):
        if s.l1_tag[i] == tag + 1:
            return i
    return -1


@device
def cache_allocate(g: Gpu, s: Sm, tag: int) -> int:
    """Index of a line for `tag`: an empty one, else the least recently used; a dirty victim is written back."""
    first = ((tag >> 1) % g.l1_sets) * g.l1_ways
    victim = first
    for i in range(first, first + g.l1_ways):
        if s.l1_tag[i] == 0:
            victim = i
            break
        if s.l1_age[i] < s.l1_age[victim]:
            victim = i
    if s.l1_tag[victim] != 0:
        s.stat[Stat.L1_EVICTIONS] += 1
        dirty = s.l1_dirty[victim]
        sectors = 0
        words = g.sector_bytes >> 2
        for k in range(g.line_sectors):
            if (dirty >> (k * words)) & ((1 << words) - 1):
                sectors += 1
        if sectors:
            s.stat[Stat.LOCAL_WRITEBACK_SECTORS] += sectors
            transfer(g, sectors, 0)
    s.l1_tag[victim] = tag + 1
    s.l1_dirty[victim] = 0
    s.l1_valid[victim] = 0
    s.l1_arrives[victim] = 0
    return victim


@device
def cache_load(g: Gpu, s: Sm, tag: int, words: int, local: int) -> int:
    """Load `words` (bit mask) of a line through L1; the time at which they are there.

    A line on its way is a miss that merges with the one that asked for it; every other miss fetches the whole line.
    """
    i = cache_find(g, s, tag)
    s.stamp += 1
    if i >= 0 and s.l1_valid[i] & words == words:
        s.l1_age[i] = s.stamp
        if s.l1_arrives[i] <= g.cycle:
            s.stat[Stat.L1_LOCAL_HITS if local else Stat.L1_GLOBAL_HITS] += 1
            return g.cycle + g.l1_latency
        s.stat[Stat.L1_LOCAL_MISSES if local else Stat.L1_GLOBAL_MISSES] += 1
        s.stat[Stat.L1_MERGES] += 1
        return max(s.l1_arrives[i], g.cycle + g.l1_latency)
    s.stat[Stat.L1_LOCAL_MISSES if local else Stat.L1_GLOBAL_MISSES] += 1
    s.stat[Stat.LOCAL_FILL_SECTORS if local else Stat.GLOBAL_FILL_SECTORS] += g.line_sectors
    if i < 0:
        i = cache_allocate(g, s, tag)
    s.l1_age[i] = s.stamp
    s.l1_valid[i] = FULL
    s.l1_arrives[i] = transfer(g, g.line_sectors, g.memory_latency)
    return s.l1_arrives[i]


@device
def cache_store(g: Gpu, s: Sm, tag: int, words: int) -> None:
    """Store `words` of a local line: write-back, allocated without a fetch (valid words are known one by one)."""
    i = cache_find(g, s, tag)
    s.stamp += 1
    if i >= 0:
        s.stat[Stat.L1_LOCAL_HITS] += 1
    else:
        s.stat[Stat.L1_LOCAL_MISSES] += 1
        i = cache_allocate(g, s, tag)
    s.l1_age[i] = s.stamp
    s.l1_valid[i] |= words
    s.l1_dirty[i] |= words


@device
def cache_invalidate(g: Gpu, s: Sm, tag: int) -> None:
    """Global stores write through and drop the line."""
    i = cache_find(g, s, tag)
    if i >= 0:
        s.l1_tag[i] = 0


@device
def local_time(g: Gpu, s: Sm, w: int, mask: int, units: int, access: int) -> None:
    """A local access: word k of a warp's 32 threads is one line, so a uniform address is one pass per word."""
    width = g.local_total >> 2
    for k in range(units):
        lines = 0
        for t in range(g.lanes):
            if (mask >> t) & 1:
                line = w * width + (s.addr[t] >> 2) + k
                i = lines - 1
                while i >= 0 and s.seen[i] != line:
                    i -= 1
                if i < 0:
                    s.seen[lines] = line
                    s.seen_count[lines] = 1 << t
                    lines += 1
                else:
                    s.seen_count[i] |= 1 << t
        s.passes += lines
        for i in range(lines):
            s.done_at = max(s.done_at, local_line(g, s, s.seen[i], s.seen_count[i], access))


@device
def local_line(g: Gpu, s: Sm, line: int, words: int, access: int) -> int:
    """One line of local memory; the time at which the access is done."""
    if g.l1_local == 0:
        sectors = 0
        for k in range(g.line_sectors):
            if (words >> (k * (g.sector_bytes >> 2))) & ((1 << (g.sector_bytes >> 2)) - 1):
                sectors += 1
        s.stat[Stat.LOCAL_FILL_SECTORS if access == Access.LOAD else Stat.LOCAL_WRITEBACK_SECTORS] += sectors
        return transfer(g, sectors, g.memory_latency)
    tag = (line << 1) | 1
    if access == Access.LOAD:
        return cache_load(g, s, tag, words, 1)
    cache_store(g, s, tag, words)
    return g.cycle + g.l1_latency


@device
def congestion(g: Gpu, s: Sm, mask: int) -> int:
    """Most distinct words that lanes of `mask` want from one bank; word numbers in `s.seen` (same word: broadcast)."""
    banks = g.shared_banks
    for b in range(banks):
        s.bank_count[b] = 0
    most = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            word = s.seen[t]
            b = word & (banks - 1)
            n = s.bank_count[b]
            i = n - 1
            while i >= 0 and s.bank_words[b, i] != word:
                i -= 1
            if i < 0:
                s.bank_words[b, n] = word
                s.bank_count[b] = n + 1
                most = max(most, n + 1)
    return most


@device
def strided(g: Gpu, s: Sm) -> int:
    """Congestion of a full warp whose words stand at a constant stride; -1 if they do not."""
    step = s.seen[1] - s.seen[0]
    equal = 0
    for t in range(g.lanes - 1):
        equal += 1 if s.seen[t + 1] - s.seen[t] == step else 0
    if equal != g.lanes - 1:
        return -1
    if step == 0:
        return 1
    step = abs(step)
    factor = step & -step  # the power of two in the stride
    return min(factor, g.shared_banks)


@device
def shared_passes(g: Gpu, s: Sm, mask: int, units: int) -> int:
    """Cycles the banks are taken: 64-bit accesses go by half warps, 128-bit ones by quarters."""
    total = 0
    group = LANES // units
    for q in range(units):
        part = mask & (((1 << group) - 1) << (q * group))
        if part == 0:
            continue
        if units == 1:
            for t in range(g.lanes):
                s.seen[t] = s.addr[t] >> 2
            k = strided(g, s) if mask == FULL and g.shared_banks == LANES else -1
            total += k if k > 0 else congestion(g, s, part)
        else:
            total += wide_congestion(g, s, part, units)
    return total


@device
def parts_in_use(mask: int, units: int) -> int:
    """How many of the parts of a warp that a wide access goes by hold a lane."""
    group = LANES // units
    parts = 0
    for q in range(units):
        if mask & (((1 << group) - 1) << (q * group)):
            parts += 1
    return parts


@device
def wide_congestion(g: Gpu, s: Sm, part: int, units: int) -> int:
    """Congestion of a half or quarter warp of wide accesses: all words of its lanes together."""
    banks = g.shared_banks
    for b in range(banks):
        s.bank_count[b] = 0
    most = 0
    for t in range(g.lanes):
        if (part >> t) & 1:
            for k in range(units):
                word = (s.addr[t] >> 2) + k
                b = word & (banks - 1)
                n = s.bank_count[b]
                i = n - 1
                while i >= 0 and s.bank_words[b, i] != word:
                    i -= 1
                if i < 0:
                    s.bank_words[b, n] = word
                    s.bank_count[b] = n + 1
                    most = max(most, n + 1)
    return most


@device
def shared_time(g: Gpu, s: Sm, mask: int, units: int, access: int) -> None:
    """A shared access: the port is taken for its passes; atomics on one address follow one another."""
    k = shared_passes(g, s, mask, units)
    s.stat[Stat.SHARED_ACCESSES] += 1
    latency = g.shared_latency
    if access == Access.ATOMIC:
        k = max(k, most_equal(g, s, mask))
        latency = g.shared_atomic_latency
    s.stat[Stat.SHARED_PASSES] += k
    s.stat[Stat.BANK_CONFLICT_CYCLES] += k - parts_in_use(mask, units)
    s.passes += k
    s.done_at = max(s.done_at, g.cycle + latency + k - 1)
