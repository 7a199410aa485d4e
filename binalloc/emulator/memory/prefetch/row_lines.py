"""The functions here name the lines that lie in one row of DRAM: the inverse of `memory.places`."""

from __future__ import annotations

from binalloc.emulator.channels.memories import memory_of
from binalloc.emulator.memory.places import line_in_channel, lines_of, mixed, remainder, spread
from binalloc.emulator.pages.parts import put_together, take_apart
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import LINE_SHIFT
from binalloc.emulator.state.parts.pages import AddressPart
from binalloc.emulator.state.records import Gpu
from binalloc.emulator.state.scan import quotient


@device(inline=True)
def lines_of_row(g: Gpu, channel: int) -> int:
    """Return the number of lines in a row of a channel."""
    return g.row_bytes[memory_of(g, channel)] >> LINE_SHIFT


@device
def line_of_number(g: Gpu, channel: int, n: int) -> int:
    """Return the n-th line of a channel, where there are no pages. Lines go round the channel's slices; in a slice they
    are in the order of their numbers."""
    inside = quotient(n, g.slices_per_channel)
    k = channel * g.slices_per_channel + n - inside * g.slices_per_channel
    lines = lines_of(g)
    turn = quotient(inside, lines)
    place = remainder(k + g.slices - remainder(mixed(turn), g.slices), g.slices)
    return (turn * g.slices + place) * lines + inside - turn * lines


@device
def line_behind(g: Gpu, channel: int, line: int, distance: int) -> int:
    """Return the line that is `distance` places behind a line of the channel in their row. Behind the row's last line
    comes its first one."""
    each = lines_of_row(g, channel)
    if g.paged:
        take_apart(g, line)
        bank, row = g.address_part[AddressPart.BANK], g.address_part[AddressPart.ROW]
        m = memory_of(g, channel)
        column = remainder(g.address_part[AddressPart.COLUMN] + distance, each)
        return put_together(g, m, channel - m * g.dram_channels, bank, row, column)
    n = line_in_channel(g, spread(quotient(line, lines_of(g)), g.slices), line)
    first = quotient(n, each) * each
    return line_of_number(g, channel, first + remainder(n - first + distance, each))
