"""The functions here take a physical line apart into channel, bank, row and line in the row, and put it together.

The order of the parts comes from the machine's section `pages`, as in Fig. 2 of "Thread Batching for High-performance
Energy-efficient GPU Memory Design": for each kind of pages and each memory another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.channels.memories import memory_of
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import FAR_LINE, Memory
from binalloc.emulator.state.parts.pages import MAX_DIGITS, AddressPart
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def take_apart(g: Gpu, line: int) -> None:
    """Set `g.address_part` to the parts of a physical line."""
    m = Memory.FAR if line >= FAR_LINE else Memory.NEAR
    g.address_part[AddressPart.CHANNEL] = g.dram_channels if m == Memory.FAR else 0
    g.address_part[AddressPart.BANK] = 0
    g.address_part[AddressPart.COLUMN] = 0
    g.address_part[AddressPart.ROW] = 0
    rest = line - FAR_LINE if m == Memory.FAR else line
    first = m * MAX_DIGITS
    for i in range(first, first + g.digits[m]):
        left = quotient(rest, g.digit_radix[i])
        g.address_part[g.digit_part[i]] += (rest - left * g.digit_radix[i]) * g.digit_weight[i]
        rest = left
    g.address_part[AddressPart.ROW] += rest * g.row_weight[m]


@device
def put_together(g: Gpu, m: int, channel: int, bank: int, row: int, column: int) -> int:
    """Return the physical line of memory m with these parts. channel: its number in that memory."""
    line = 0
    place = 1
    first = m * MAX_DIGITS
    for i in range(first, first + g.digits[m]):
        part = g.digit_part[i]
        value = row
        if part == AddressPart.CHANNEL:
            value = channel
        elif part == AddressPart.BANK:
            value = bank
        elif part == AddressPart.COLUMN:
            value = column
        value = quotient(value, g.digit_weight[i])
        line += (value - quotient(value, g.digit_radix[i]) * g.digit_radix[i]) * place
        place *= g.digit_radix[i]
    line += quotient(row, g.row_weight[m]) * place
    return line + FAR_LINE if m == Memory.FAR else line


@device
def line_of_channel(g: Gpu) -> int:
    """Return the number of the line that has been taken apart, among all of its channel."""
    m = memory_of(g, g.address_part[AddressPart.CHANNEL])
    bank = g.address_part[AddressPart.ROW] * g.dram_banks[m] + g.address_part[AddressPart.BANK]
    return bank * g.row_lines[m] + g.address_part[AddressPart.COLUMN]
