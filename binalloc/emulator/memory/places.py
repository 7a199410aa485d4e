"""Where a line of memory lives: its slice of L2, its set there, its bank and row of DRAM.

Chunks of `interleave` bytes go round the slices; from one round to the next the first slice is moved by a hash of the
round's number, so that strides do not all meet in one slice. Banks of a channel take rows in the same way.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import FIRST_LOCAL_LINE, LINE_SHIFT, MAX_BANKS_OF_DRAM
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import quotient


@device(inline=True)
def mixed(x: int) -> int:
    """A number in which all bits of `x` >= 0 have a say."""
    x ^= x >> 15
    x ^= x >> 7
    return x ^ (x >> 3)


@device(inline=True)
def remainder(x: int, y: int) -> int:
    """x % y; x >= 0, y > 0."""
    return x - quotient(x, y) * y


@device(inline=True)
def spread(i: int, places: int) -> int:
    """The place of the i-th thing of many that go round so many places, each round from another one on."""
    return remainder(i + mixed(quotient(i, places)), places)


@device
def is_spill(g: Gpu, line: int) -> int:
    """Whether a line of local memory is of the part behind the program's own, where spilled values lie."""
    return 1 if ((line - FIRST_LOCAL_LINE) % (g.local_total >> 2)) << 2 >= g.local_user else 0


@device(inline=True)
def channel_of(g: Gpu, k: int) -> int:
    """The channel of DRAM behind slice k."""
    return quotient(k, g.slices_per_channel)


@device(inline=True)
def lines_of(g: Gpu) -> int:
    """Lines of a chunk."""
    return g.interleave >> LINE_SHIFT


@device
def find_place(g: Gpu, r: int) -> None:
    """Where request r's line belongs: `g.at_slice[r]`, and the index of the first way of its set in `g.at_way[r]`."""
    lines = lines_of(g)
    chunk = quotient(g.home[r], lines)
    k = spread(chunk, g.slices)
    inside = quotient(chunk, g.slices) * lines + g.home[r] - chunk * lines
    g.at_slice[r] = k
    g.at_way[r] = (k * g.l2_sets + spread(inside, g.l2_sets)) * g.l2_ways


@device
def row_of(g: Gpu, k: int, line: int) -> int:
    """Number of the DRAM row among all of its channel of a line of slice k: row in the bank times MAX_BANKS_OF_DRAM,
    plus the bank."""
    lines = lines_of(g)
    chunk = quotient(line, lines)
    inside = quotient(chunk, g.slices) * lines + line - chunk * lines  # among those of the slice
    inside = inside * g.slices_per_channel + remainder(k, g.slices_per_channel)
    row = quotient(inside, g.row_bytes >> LINE_SHIFT)
    return quotient(row, g.dram_banks) * MAX_BANKS_OF_DRAM + spread(row, g.dram_banks)
