"""Where a line of memory lives: its slice of L2, its set there, its bank and row of DRAM.

Chunks of `interleave` bytes go round the slices; from one round to the next the first slice is moved by a hash of the
round's number, so that strides do not all meet in one slice. Banks of a channel take rows in the same way.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import LINE_BYTES, MAX_BANKS_OF_DRAM
from binalloc.emulator.state.records import Gpu


@device(inline=True)
def mixed(x: int) -> int:
    """A number in which all bits of `x` >= 0 have a say."""
    x ^= x >> 15
    x ^= x >> 7
    return x ^ (x >> 3)


@device(inline=True)
def slice_of(g: Gpu, line: int) -> int:
    """The slice of L2 that a line belongs to."""
    chunk = line // (g.interleave // LINE_BYTES)
    return (chunk + mixed(chunk // g.slices)) % g.slices


@device(inline=True)
def line_in_slice(g: Gpu, line: int) -> int:
    """The line's number among those of its slice."""
    lines = g.interleave // LINE_BYTES
    return line // (lines * g.slices) * lines + line % lines


@device(inline=True)
def first_way(g: Gpu, line: int) -> int:
    """Index of the first way of the line's set in L2."""
    inside = line_in_slice(g, line)
    place = (inside + mixed(inside // g.l2_sets)) % g.l2_sets
    return (slice_of(g, line) * g.l2_sets + place) * g.l2_ways


@device(inline=True)
def row_of(g: Gpu, line: int) -> int:
    """Number of the DRAM row among all of its channel: row in the bank times banks, plus the bank."""
    part = slice_of(g, line) % g.slices_per_channel
    inside = line_in_slice(g, line) * g.slices_per_channel + part
    row = inside // (g.row_bytes // LINE_BYTES)
    places = row // g.dram_banks
    return places * MAX_BANKS_OF_DRAM + (row + mixed(places)) % g.dram_banks
