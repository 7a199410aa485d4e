"""Physical pages are handed out in order here, in each memory and to each SM on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.parts import put_together
from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import MAX_SMS, MEMORIES
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

HIGH_ROW = 1 << 16
"""The first of the high rows. All memory of a launch fits into the rows in front of it, on every machine."""


@device
def take_frame(g: Gpu, m: int, owner: int, high: int) -> int:
    """Return how many pages of memory m have been handed out to an owner before this one, which is handed out now."""
    i = (high * MEMORIES + m) * MAX_SMS + owner
    g.frames[i] += 1
    return g.frames[i] - 1


@device
def next_in_all(g: Gpu, m: int, high: int) -> int:
    """Return the first physical line of memory m's next page in the order of physical lines."""
    return put_together(g, m, 0, 0, high * HIGH_ROW, 0) + (take_frame(g, m, 0, high) << g.page_shift)


@device(inline=True)
def first_bank(g: Gpu, m: int, channels: int, sm: int) -> int:
    """Return the first of an SM's banks, numbered over all channels of memory m. SMs differ by one bank at most."""
    return quotient(sm * channels * g.dram_banks[m], g.sms)


@device
def next_in_banks(g: Gpu, m: int, sm: int, high: int) -> int:
    """Return the first physical line of the next page in an SM's banks of memory m. A row is filled before the next
    bank has its turn."""
    k = take_frame(g, m, sm, high)
    channels = g.all_channels - g.dram_channels if m else g.dram_channels
    in_row = quotient(g.row_lines[m], 1 << g.page_shift)  # pages of a row
    u = quotient(k, in_row)
    first = first_bank(g, m, channels, sm)
    banks = first_bank(g, m, channels, sm + 1) - first
    row = quotient(u, banks)
    b = first + u - row * banks
    row += high * HIGH_ROW
    column = (k - u * in_row) << g.page_shift
    if g.bank_of_one:
        channel = quotient(b, g.dram_banks[m])
        return put_together(g, m, channel, b - channel * g.dram_banks[m], row, column)
    bank = quotient(b, channels)
    return put_together(g, m, b - bank * channels, bank, row, column)
