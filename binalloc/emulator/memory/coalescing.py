"""Coalescing finds the lines off-chip that the lanes of an access touch.

Each function looks at the addresses `s.addr` of the lanes in a mask. Lines off-chip are collected in `s.line` and the
arrays beside it, each with the mask of its words that are accessed; `l1.make_access` takes them from there. `s.passes`
counts the cycles for which the load/store port is taken. `s.done_at` is the arrival time of the data whose arrival is
known at issue.
"""

from __future__ import annotations

from binalloc.emulator.memory.sectors import sector_count, sectors_of, whole_sectors
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, WORD, AccessCode
from binalloc.emulator.state.memory_layout import (
    FIRST_LOCAL_LINE,
    LINE_LISTS,
    LINE_SHIFT,
    LINE_WORDS,
    LISTS_SHIFT,
    LinePolicy,
)
from binalloc.emulator.state.records import Gpu, Sm

HALF_LINE = (1 << (LINE_WORDS // 2)) - 1  # the words of a line's first half


@device(inline=True)
def list_of(line: int) -> int:
    """Return the list of `s.line_last` that the line belongs to."""
    return (line ^ (line >> LISTS_SHIFT) ^ (line >> 2 * LISTS_SHIFT)) & (LINE_LISTS - 1)


@device(inline=True)
def add_words(s: Sm, first: int, line: int, words: int, policy: int) -> None:
    """Enter words of a line. It may already be among the lines from `first` on, all of which were entered by this
    function."""
    i = s.lines - 1
    if i < first or s.line[i] != line:  # neighbours mostly want the same
        i = find_line(s, first, line)
    if i >= first:
        s.line_words[i] |= words
    else:
        enter_line(s, line, words, policy)


@device
def find_line(s: Sm, first: int, line: int) -> int:
    """Return the number of a line among the lines from `first` on. If it is not there, return a number less than
    `first`: the list then expects this line as the next one to be entered."""
    k = list_of(line)
    last = s.line_last[k]
    if last < first or last >= s.lines or list_of(s.line[last]) != k:
        last = -1  # it belongs to an earlier access
    i = last
    while i >= first and s.line[i] != line:
        i = s.line_before[i]
    if i < first:
        s.line_last[k] = s.lines
        s.line_before[s.lines] = last
    return i


@device(inline=True)
def enter_line(s: Sm, line: int, words: int, policy: int) -> None:
    """Enter words of a line that is not in the list."""
    i = s.lines
    s.line[i] = line
    s.line_words[i] = words
    s.line_policy[i] = policy
    s.line_serial[i] = 1
    s.lines = i + 1


@device
def global_lines(g: Gpu, s: Sm, mask: int, units: int, policy: int) -> int:
    """Enter the lines of a global access of `units` words per lane. Return the number of the first one."""
    first = s.lines
    wanted = (1 << units) - 1
    for t in range(g.lanes):
        if (mask >> t) & 1:
            add_words(s, first, s.addr[t] >> LINE_SHIFT, wanted << ((s.addr[t] >> 2) & (LINE_WORDS - 1)), policy)
    return first


@device
def sectors_from(s: Sm, first: int) -> int:
    """Return the number of sectors of the lines from `first` on."""
    sectors = 0
    for i in range(first, s.lines):
        sectors += sector_count(s.line_words[i])
    return sectors


@device
def lanes_at(g: Gpu, s: Sm, mask: int, address: int) -> int:
    """Return how many lanes in `mask` have the address."""
    same = 0
    for t in range(g.lanes):
        if (mask >> t) & 1 and s.addr[t] == address:
            same += 1
    return same


@device
def most_equal(g: Gpu, s: Sm, mask: int) -> int:
    """Return the largest number of lanes in `mask` with the same address."""
    most = 0
    for t in range(g.lanes):
        if (mask >> t) & 1:
            most = max(most, lanes_at(g, s, mask, s.addr[t]))
    return most


@device
def collisions(g: Gpu, s: Sm, mask: int, first: int) -> None:
    """Set `s.line_serial` of an atomic access's lines: the largest number of its lanes that have one address there."""
    for t in range(g.lanes):
        if (mask >> t) & 1:
            i = first
            while s.line[i] != s.addr[t] >> LINE_SHIFT:
                i += 1
            s.line_serial[i] = max(s.line_serial[i], lanes_at(g, s, mask, s.addr[t]))


@device(inline=True)
def group_of(g: Gpu, mask: int, q: int) -> int:
    """Return the lanes of `mask` in the q-th group of lanes that are coalesced together."""
    return mask & (((1 << g.lane_group) - 1) << (q * g.lane_group))


@device
def segment(words: int) -> int:
    """Return the words of the smallest 32, 64 or 128 bytes, aligned to their size, that hold the given words of a
    line."""
    sectors = sectors_of(words)
    if sectors & (sectors - 1) == 0:
        return whole_sectors(words)
    if sectors & 3 == 0:
        return FULL & ~HALF_LINE
    return FULL if sectors >> 2 else HALF_LINE


@device
def to_segments(g: Gpu, s: Sm, first: int) -> None:
    """Extend the lines from `first` on to whole segments, on a machine that fetches segments."""
    if g.segments:
        for i in range(first, s.lines):
            s.line_words[i] = segment(s.line_words[i])


@device
def global_access(g: Gpu, s: Sm, mask: int, units: int, access: int, past: int) -> None:
    """Enter the lines of a global access, one pass each. Lanes of different groups share no lines. past: the access
    bypasses L1."""
    if s.even and access != AccessCode.ATOMIC and g.lane_group == LANES and g.segments == 0:
        before = s.lines
        if even_lines(s, mask, units, policy_of(g, access, past)):
            s.stat[sectors_at(access)] += sectors_from(s, before)
            s.passes += s.lines - before
            return
    for q in range(LANES // g.lane_group):
        if group_of(g, mask, q):
            group_access(g, s, group_of(g, mask, q), units, access, past)


@device(inline=True)
def sectors_at(access: int) -> int:
    """Return the index of the counter for the sectors of global loads, or of stores."""
    return Stat.GLOBAL_STORE_SECTORS if access == AccessCode.STORE else Stat.GLOBAL_LOAD_SECTORS


@device
def even_lines(s: Sm, mask: int, units: int, policy: int) -> int:
    """Enter the lines of an even access whose lanes have one address or are contiguous. Otherwise enter none and return
    0."""
    line = s.origin >> LINE_SHIFT
    skipped = (s.origin >> 2) & (LINE_WORDS - 1)
    if s.step == 0:
        enter_line(s, line, ((1 << units) - 1) << skipped, policy)
        return 1
    if s.step != WORD * units or (mask != FULL and units > 1):
        return 0
    if (mask << skipped) & FULL:
        enter_line(s, line, (mask << skipped) & FULL, policy)
    for k in range(1, units):
        enter_line(s, line + k, FULL, policy)
    if mask >> (LINE_WORDS - skipped):
        enter_line(s, line + units, mask >> (LINE_WORDS - skipped), policy)
    return 1


@device
def policy_of(g: Gpu, access: int, past: int) -> int:
    """Return the `LinePolicy` of a global access's lines."""
    if access == AccessCode.ATOMIC:
        return LinePolicy.ATOMIC
    if access == AccessCode.STORE:
        return LinePolicy.STORE_PAST if past else LinePolicy.STORE
    return LinePolicy.LOAD_PAST if past or not g.l1_global else LinePolicy.LOAD


@device
def group_access(g: Gpu, s: Sm, mask: int, units: int, access: int, past: int) -> None:
    """Enter the lines of the lanes in `mask`, which are coalesced together."""
    first = global_lines(g, s, mask, units, policy_of(g, access, past))
    if access == AccessCode.ATOMIC:
        collisions(g, s, mask, first)
        s.stat[Stat.GLOBAL_ATOMIC_SECTORS] += sectors_from(s, first)
    else:
        to_segments(g, s, first)
        s.stat[sectors_at(access)] += sectors_from(s, first)
    s.passes += s.lines - first


@device
def local_access(g: Gpu, s: Sm, w: int, mask: int, units: int, access: int) -> None:
    """Enter the lines of a local access. Word k of a warp's 32 threads is one line, so a uniform address takes one pass
    per word."""
    width = g.local_total >> 2
    policy = LinePolicy.LOCAL_LOAD if g.l1_local else LinePolicy.LOCAL_LOAD_PAST
    if access == AccessCode.STORE:
        policy = LinePolicy.LOCAL_STORE
    before = s.lines
    if s.even and s.step == 0 and g.lane_group == LANES and g.segments == 0:
        for k in range(units):
            enter_line(s, FIRST_LOCAL_LINE + (s.warp_base + w) * width + (s.origin >> 2) + k, mask, policy)
        s.passes += units
        return
    for k in range(units):
        for q in range(LANES // g.lane_group):
            first = s.lines
            part = group_of(g, mask, q)
            for t in range(g.lanes):
                if (part >> t) & 1:
                    line = FIRST_LOCAL_LINE + (s.warp_base + w) * width + (s.addr[t] >> 2) + k
                    add_words(s, first, line, 1 << t, policy)
            to_segments(g, s, first)
    s.passes += s.lines - before
