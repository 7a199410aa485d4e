"""Shared memory serves an access in passes through its banks; their number and the time that they take are found here.

Words of 4 bytes are distributed over the banks one by one, or two by two in the 8-byte mode of banks of 8 bytes. One
round over all banks is a row. In a pass each bank serves one row of its own, to any number of lanes. Banks of 8 bytes
in 4-byte mode have two words of a row each: two words whose distance is the number of banks.

A warp's access is served in groups of lanes, as many as a row has room for: 32 lanes of 32 bits in 32 banks of 4 bytes,
halves of 64 bits, quarters of 128; with banks of 8 bytes 32 lanes of 64 bits, halves of 128. The passes of a group are
the largest number of rows that its lanes access in one bank (CUDA C Programming Guide, shared memory of capabilities
2.x, 3.x and 5.x; NVIDIA, GPU Performance Analysis and Optimization, GTC 2012, for the 4-byte mode).
"""

from __future__ import annotations

from binalloc.emulator.memory.coalescing import most_equal
from binalloc.emulator.state.counters import Stat
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import FULL, LANES, LANES_SHIFT, WORD, AccessCode
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits


@device(inline=True)
def group_shift(g: Gpu, units: int) -> int:
    """Return how many lanes of `units` words (1, 2 or 4) are served together, as the exponent of a power of two."""
    return min(max(g.shared_row_shift - (units >> 1), 0), LANES_SHIFT)


@device
def groups_in_use(g: Gpu, mask: int, units: int) -> int:
    """Return how many of an access's groups have a lane in `mask`: the passes that no data layout can save."""
    shift = group_shift(g, units)
    if mask == FULL or shift == LANES_SHIFT:
        return LANES >> shift
    used = 0
    for q in range(LANES >> shift):
        if (mask >> (q << shift)) & ((1 << (1 << shift)) - 1):
            used += 1
    return used


@device
def all_apart(g: Gpu, s: Sm, part: int) -> int:
    """Return 1 if no two lanes of `part` access the same bank, else 0."""
    shift, last = 2 + g.shared_bank_shift, g.shared_banks - 1
    banks = 0
    for t in range(g.lanes):
        banks |= ((part >> t) & 1) << ((s.addr[t] >> shift) & last)
    return 1 if count_bits(banks) == count_bits(part) else 0


@device
def congestion(g: Gpu, s: Sm, part: int, units: int, low: int, high: int) -> int:
    """Return the largest number of rows that the lanes of `part` access in one bank. They belong to one group, the
    lanes from `low` up to, but not including, `high`."""
    if units == 1 and all_apart(g, s, part):
        return 1
    for b in range(g.shared_banks):
        s.bank_count[b] = 0
    most = 0
    before = -1
    for t in range(low, high):
        if (part >> t) & 1 and s.addr[t] != before:
            before = s.addr[t]
            for k in range(units):
                word = (s.addr[t] >> 2) + k
                row = word >> g.shared_row_shift
                b = (word >> g.shared_bank_shift) & (g.shared_banks - 1)
                n = s.bank_count[b]
                i = n - 1
                while i >= 0 and s.bank_words[b, i] != row:
                    i -= 1
                if i < 0:
                    s.bank_words[b, n] = row
                    s.bank_count[b] = n + 1
                    most = max(most, n + 1)
    return most


@device
def grouped(g: Gpu, s: Sm, mask: int, units: int) -> int:
    """Return the passes of the access at `s.addr`, counted group by group."""
    shift = group_shift(g, units)
    total = 0
    for q in range(LANES >> shift):
        part = mask & (((1 << (1 << shift)) - 1) << (q << shift))
        if part:
            total += congestion(g, s, part, units, q << shift, (q + 1) << shift)
    return total


@device
def strided(g: Gpu, s: Sm, units: int) -> int:
    """Return the passes of an even access of all lanes, with 32 banks. Returns -1 if its words are not at one stride,
    because lanes access parts of words."""
    lanes = group_shift(g, units)
    step = s.step
    if -WORD < step < WORD:
        return LANES >> lanes  # a group's words are one, or follow one another
    if step & (WORD * units - 1):
        return -1
    shift = 2 + (units >> 1)
    step >>= shift
    first = s.origin >> shift
    hop = step
    if units == 1 and g.shared_bank_shift:
        if step & 1:
            return odd_stride(step, first)
        step >>= 1
        units = 2
    step = abs(step)
    columns = LANES_SHIFT + g.shared_bank_shift - (units >> 1)  # an element takes as many banks as make one column
    factor = min(step & -step, 1 << columns)  # the power of two in the stride: so many elements of each in a column
    most = (factor << lanes) >> columns
    if most == 1 or step != factor or g.shared_row_shift == LANES_SHIFT + g.shared_bank_shift:
        return most << (LANES_SHIFT - lanes)
    # Rows hold two elements of a column, and those of neighbours in it are neighbours: they pair up in the row's
    # middle, or, where the lower one is in an upper half, leave one over at each end.
    total = 0
    for q in range(LANES >> lanes):
        start = first + hop * (q << lanes)
        low = min(start, start + hop * ((1 << lanes) - 1))
        total += (most >> 1) + (0 if low & ((2 << columns) - 1) < factor else 1)
    return total


@device(inline=True)
def odd_stride(step: int, first: int) -> int:
    """Return the passes of 32 words of 4 bytes from word `first` on at an odd stride, in 32 banks of 8 bytes in 8-byte
    mode.

    Even and odd lanes each access 16 different banks. The two conflict in some bank unless the odd lanes have the other
    16.
    """
    if step == 1 or step == -1:
        return 1
    return 1 if step & 63 == (31 if first & 1 else 33) else 2


@device
def shared_passes(g: Gpu, s: Sm, mask: int, units: int) -> int:
    """Return the passes of an access of the lanes in `mask` to `units` words each at `s.addr`."""
    if s.even and g.shared_banks == LANES:
        passes = strided(g, s, units)
        if passes == LANES >> group_shift(g, units):
            return groups_in_use(g, mask, units)
        if passes > 0 and mask == FULL:
            return passes
    return grouped(g, s, mask, units)


@device
def shared_time(g: Gpu, s: Sm, mask: int, units: int, access: int) -> None:
    """Time a shared access: it takes the port for its passes. Atomics on one address follow one another."""
    k = shared_passes(g, s, mask, units)
    latency = g.shared_latency
    if access == AccessCode.ATOMIC:
        k = max(k, most_equal(g, s, mask))
        latency = g.shared_atomic_latency
    count_passes(g, s, mask, units, k, latency)


@device
def count_passes(g: Gpu, s: Sm, mask: int, units: int, k: int, latency: int) -> None:
    """Count a shared access of k passes, and set when its result arrives."""
    s.stat[Stat.SHARED_ACCESSES] += 1
    s.stat[Stat.SHARED_PASSES] += k
    s.stat[Stat.BANK_CONFLICT_CYCLES] += k - groups_in_use(g, mask, units)
    s.passes += k
    s.done_at = max(s.done_at, g.cycle + latency + k - 1)
