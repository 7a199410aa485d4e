"""The memory system's calendar says which request goes on in which cycle.

It has buckets for cycles modulo the number of buckets. In a bucket requests keep the order of their entry. So events of
one cycle happen in the order in which their times became known. A request waits for one event at a time.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import USED_BITS, USED_SHIFT
from binalloc.emulator.state.memory_layout import MEMORY_CALENDAR
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import lowest_bit

_WORDS = MEMORY_CALENDAR // USED_BITS  # words of the set of buckets in use, one bit each


@device(inline=True)
def post(g: Gpu, r: int, time: int) -> None:
    """Let request r go on in cycle `time` > now."""
    index = time & (MEMORY_CALENDAR - 1)
    g.due[r] = time
    g.following[r] = -1
    if (g.event_used[index >> USED_SHIFT] >> (index & (USED_BITS - 1))) & 1:
        g.following[g.event_last[index]] = r
    else:
        g.event_used[index >> USED_SHIFT] |= 1 << (index & (USED_BITS - 1))
        g.event_first[index] = r
    g.event_last[index] = r
    g.events += 1


@device(inline=True)
def memory_due(g: Gpu) -> int:
    """Return whether the memory system may have something to do in this cycle."""
    index = g.cycle & (MEMORY_CALENDAR - 1)
    return (g.event_used[index >> USED_SHIFT] >> (index & (USED_BITS - 1))) & 1 or g.dram_due <= g.cycle


@device
def take(g: Gpu) -> int:
    """Remove the requests of this cycle and return them as a list linked by `following`, or -1 if there are none.
    Requests of the bucket that are due a lap later stay."""
    index = g.cycle & (MEMORY_CALENDAR - 1)
    if (g.event_used[index >> USED_SHIFT] >> (index & (USED_BITS - 1))) & 1 == 0:
        return -1
    g.event_used[index >> USED_SHIFT] &= ~(1 << (index & (USED_BITS - 1)))
    r = g.event_first[index]
    first = -1
    last = -1
    while r >= 0:
        following = g.following[r]
        g.events -= 1
        if g.due[r] > g.cycle:
            post(g, r, g.due[r])
        else:
            g.following[r] = -1
            if first < 0:
                first = r
            else:
                g.following[last] = r
            last = r
        r = following
    return first


@device
def next_memory_event(g: Gpu) -> int:
    """Return the next cycle after now whose bucket holds a request, even one of a later lap, or -1 if there is none."""
    if g.events == 0:
        return -1
    index = (g.cycle + 1) & (MEMORY_CALENDAR - 1)
    word = index >> USED_SHIFT
    bits = g.event_used[word] >> (index & (USED_BITS - 1))
    time = g.cycle + 1
    if bits == 0:
        time += USED_BITS - (index & (USED_BITS - 1))
        for k in range(1, _WORDS + 1):
            bits = g.event_used[(word + k) & (_WORDS - 1)]
            if bits:
                break
            time += USED_BITS
    return time + lowest_bit(bits)
