"""The functions here map a line of memory to its slice of L2, its set there, and its bank and row of DRAM.

Chunks of `interleave` bytes are distributed round-robin over the slices. Each round starts at another slice, chosen by
a hash of the round's number, so that strides do not all meet in one slice. Rows are distributed over the banks of a
channel in the same way. Where pages are on (`pages`), channel, bank and row are parts of the physical line instead.
"""

from __future__ import annotations

from binalloc.emulator.pages.parts import line_of_channel, take_apart
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import FIRST_LOCAL_LINE, LINE_SHIFT, MAX_BANKS_OF_DRAM, Memory
from binalloc.emulator.state.parts.pages import AddressPart
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import quotient


@device(inline=True)
def mixed(x: int) -> int:
    """Return a hash to which all bits of `x` >= 0 contribute."""
    x ^= x >> 15
    x ^= x >> 7
    return x ^ (x >> 3)


@device(inline=True)
def remainder(x: int, y: int) -> int:
    """Return x % y for x >= 0, y > 0."""
    return x - quotient(x, y) * y


@device(inline=True)
def spread(i: int, places: int) -> int:
    """Return the place of the i-th item, where items are distributed round-robin over `places` places. Each round
    starts at another place."""
    return remainder(i + mixed(quotient(i, places)), places)


@device
def is_spill(g: Gpu, line: int) -> int:
    """Return 1 if a line of local memory is in the part behind the program's own, which holds spilled values, else
    0."""
    return 1 if ((line - FIRST_LOCAL_LINE) % (g.local_total >> 2)) << 2 >= g.local_user else 0


@device(inline=True)
def channel_of(g: Gpu, k: int) -> int:
    """Return the channel of DRAM behind slice k."""
    return quotient(k, g.slices_per_channel)


@device(inline=True)
def lines_of(g: Gpu) -> int:
    """Return the number of lines in a chunk."""
    return g.interleave >> LINE_SHIFT


@device
def find_paged(g: Gpu, r: int) -> None:
    """Do what `find_place` does, where pages are on: the channel is a part of the line. Chunks of the channel's lines
    go round its slices."""
    take_apart(g, g.home[r])
    i = line_of_channel(g)
    lines = lines_of(g)
    chunk = quotient(i, lines)
    first = g.address_part[AddressPart.CHANNEL] * g.slices_per_channel
    k = first + spread(chunk, g.slices_per_channel)
    inside = quotient(chunk, g.slices_per_channel) * lines + i - chunk * lines
    g.at_slice[r] = k
    g.at_way[r] = (k * g.l2_sets + spread(inside, g.l2_sets)) * g.l2_ways


@device
def find_place(g: Gpu, r: int) -> None:
    """Find where request r's line belongs: its slice `g.at_slice[r]`, and the index of the first way of its set,
    `g.at_way[r]`."""
    if g.paged:
        find_paged(g, r)
        return
    lines = lines_of(g)
    chunk = quotient(g.home[r], lines)
    k = spread(chunk, g.slices)
    inside = quotient(chunk, g.slices) * lines + g.home[r] - chunk * lines
    g.at_slice[r] = k
    g.at_way[r] = (k * g.l2_sets + spread(inside, g.l2_sets)) * g.l2_ways


@device(inline=True)
def line_in_channel(g: Gpu, k: int, line: int) -> int:
    """Return the number of a line of slice k among the lines of its channel."""
    if g.paged:
        take_apart(g, line)
        return line_of_channel(g)
    lines = lines_of(g)
    chunk = quotient(line, lines)
    inside = quotient(chunk, g.slices) * lines + line - chunk * lines  # among those of the slice
    return inside * g.slices_per_channel + remainder(k, g.slices_per_channel)


@device
def row_of(g: Gpu, k: int, line: int) -> int:
    """Return the number of the DRAM row of a line of slice k, among all rows of its channel: row in the bank times
    MAX_BANKS_OF_DRAM, plus the bank."""
    if g.paged:
        take_apart(g, line)
        return g.address_part[AddressPart.ROW] * MAX_BANKS_OF_DRAM + g.address_part[AddressPart.BANK]
    row = quotient(line_in_channel(g, k, line), g.row_bytes[Memory.NEAR] >> LINE_SHIFT)
    return quotient(row, g.dram_banks[Memory.NEAR]) * MAX_BANKS_OF_DRAM + spread(row, g.dram_banks[Memory.NEAR])
