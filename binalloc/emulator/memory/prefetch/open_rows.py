"""Lines of a row that a read has found open are fetched into L2, as far as L2 has not got them: row hits that may save
an activation later.

It is the fourth technique of Jog et al., "OWL: Cooperative Thread Array Aware Scheduling Techniques for Improving GPGPU
Performance" (ASPLOS 2013), opportunistic prefetching at the memory's side. TIMING.md has the rule, and what of it is
ours. Nobody waits for these fetches. Each takes what any fetch takes: an MSHR, a way, and a place at the channel, and
it is made only where all of them are free and no request waits for them.
"""

from __future__ import annotations

from binalloc.emulator.memory.account.shares import for_nobody
from binalloc.emulator.memory.dram import has_room
from binalloc.emulator.memory.l2 import find_line, hold_mshr, replace, to_dram
from binalloc.emulator.memory.places import find_place
from binalloc.emulator.memory.prefetch.row_lines import line_behind, lines_of_row
from binalloc.emulator.memory.replacement import BUSY, least_used
from binalloc.emulator.memory.requests import drop_request, make_request
from binalloc.emulator.memory.sectors import LINE
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MAX_BANKS_OF_DRAM, MemoryStat, RequestKind
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import lowest_bit


class Answer(Codes):
    """A line is asked for with one of these results."""

    NO_ROOM: int
    IN_L2: int
    FETCHED: int


@device(apart=True)
def fetch_ahead(g: Gpu) -> None:
    """Fetch lines from the rows of banks with reads that have ended in this cycle. Slices have been tried
    again before."""
    for channel in range(g.all_channels):
        banks = g.ahead_ended[channel]
        g.ahead_ended[channel] = 0
        while banks:
            fetch_row(g, channel, channel * MAX_BANKS_OF_DRAM + lowest_bit(banks))
            banks &= banks - 1


@device
def fetch_row(g: Gpu, channel: int, b: int) -> None:
    """Fetch lines from the open row of bank b, in their order, from the one behind the row's first read on."""
    most = lines_of_row(g, channel) - 1
    while g.ahead_left[b] and g.ahead_looked[b] < most and may_fetch(g, channel, b):
        answer = ask_for(g, channel, line_behind(g, channel, g.ahead_line[b], g.ahead_looked[b] + 1))
        if answer == Answer.NO_ROOM:
            return
        g.ahead_looked[b] += 1
        if answer == Answer.FETCHED:
            g.ahead_left[b] -= 1


@device
def may_fetch(g: Gpu, channel: int, b: int) -> int:
    """Return 1 if a line may be fetched from the row of bank b that was read last, else 0: the row is open, no slice
    waits for a place at the channel, and, where that matters, no request waits at the bank."""
    if g.bank_row[b] != g.ahead_row[b]:
        return 0
    if g.ahead_busy == 0 and (g.channel_used[channel] >> (b % MAX_BANKS_OF_DRAM)) & 1:
        return 0
    first = channel * g.slices_per_channel
    for k in range(first, first + g.slices_per_channel):
        if g.slice_wants[k]:
            return 0
    return 1


@device
def ask_for(g: Gpu, channel: int, line: int) -> int:
    """Fetch a line of the channel, if L2 has not got it and there is room for it. Return an `Answer`."""
    r = make_request(g, RequestKind.PREFETCH, 0, line, LINE, -1)
    find_place(g, r)
    drop_request(g, r)  # it was made to find the line's place
    k = g.at_slice[r]
    if find_line(g, r) >= 0:
        return Answer.IN_L2
    i = least_used(g.l2_age, g.at_way[r], g.l2_ways)
    if i < 0 or g.slice_first[k] or g.slice_pending[k] >= g.l2_mshrs:
        return Answer.NO_ROOM
    if has_room(g, channel, 2 if g.l2_dirty[i] else 1) == 0:
        return Answer.NO_ROOM
    replace(g, k, i, line)
    r = make_request(g, RequestKind.PREFETCH, k, line, LINE, i)
    for_nobody(g, r)
    g.l2_coming[i] = LINE
    g.l2_age[i] = g.age[r] | BUSY
    g.l2_ahead[i] = 1
    hold_mshr(g, k)
    g.memory_stat[MemoryStat.L2_PREFETCHES] += 1
    to_dram(g, r, k)
    return Answer.FETCHED
