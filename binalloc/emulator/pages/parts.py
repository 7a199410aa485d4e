"""The functions here take a physical line apart into channel, bank, row and line in the row, and put it together.

The order of the parts comes from the machine's section `pages`, as in Fig. 2 of "Thread Batching for High-performance
Energy-efficient GPU Memory Design": for each kind of pages another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.parts.pages import AddressPart
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def take_apart(g: Gpu, line: int) -> None:
    """Set `g.address_part` to the parts of a physical line."""
    g.address_part[AddressPart.CHANNEL] = 0
    g.address_part[AddressPart.BANK] = 0
    g.address_part[AddressPart.COLUMN] = 0
    g.address_part[AddressPart.ROW] = 0
    rest = line
    for i in range(g.digits):
        left = quotient(rest, g.digit_radix[i])
        g.address_part[g.digit_part[i]] += (rest - left * g.digit_radix[i]) * g.digit_weight[i]
        rest = left
    g.address_part[AddressPart.ROW] += rest * g.row_weight


@device
def put_together(g: Gpu, channel: int, bank: int, row: int, column: int) -> int:
    """Return the physical line with these parts."""
    line = 0
    place = 1
    for i in range(g.digits):
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
    return line + quotient(row, g.row_weight) * place


@device
def line_of_channel(g: Gpu) -> int:
    """Return the number of the line that has been taken apart, among all of its channel."""
    bank = g.address_part[AddressPart.ROW] * g.dram_banks + g.address_part[AddressPart.BANK]
    return bank * g.row_lines + g.address_part[AddressPart.COLUMN]
