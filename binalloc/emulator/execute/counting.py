"""The functions here serve accesses of any form: they count an access, and find the buffer of an address."""

from __future__ import annotations

from binalloc.emulator.state.counters import S_BYTES_FROM_COUNT
from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.emulator.state.scan import count_bits


@device
def count_access(s: Sm, index: int, mask: int, size: int) -> None:
    """Count one access of `mask` lanes in counter `index` and in the byte counter beside it."""
    s.stat[index] += 1
    s.stat[index + S_BYTES_FROM_COUNT] += count_bits(mask) * size


@device
def buffer_of(g: Gpu, address: int) -> int:
    """Return the index of the buffer that holds `address`, or -1 if none does (binary search; buffers are sorted)."""
    low = 0
    high = g.buffers
    while low < high:
        middle = (low + high) >> 1
        if g.buffer_end[middle] > address:
            high = middle
        else:
            low = middle + 1
    return low if low < g.buffers and g.buffer_start[low] <= address else -1
