"""This policy gives each SM banks of its own: a page lies in the banks of the SM that asks for it first.

It is the page colouring of "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 3. A page
lies in one row of one bank (Fig. 2c). The paper leaves open which banks an SM has, so both ways are here: some of every
channel, or all of as few channels as possible. It does not say either what becomes of a page of several SMs: here it
stays where it is. Neighbouring pages of an SM fill a row before the next bank has its turn, as Fig. 9 shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.page import PAGE_BYTES, PagePolicy
from binalloc.emulator.pages.parts import put_together
from binalloc.emulator.pages.tables import enter, line_in, offset_of, place_in_table
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import quotient
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device(inline=True)
def first_bank(g: Gpu, sm: int) -> int:
    """Return the first of an SM's banks, numbered over all channels. SMs differ by one bank at most."""
    return quotient(sm * g.dram_channels * g.dram_banks, g.sms)


@device
def coloured_line(g: Gpu, sm: int, k: int) -> int:
    """Return the first physical line of the k-th page in an SM's banks."""
    in_row = quotient(g.row_lines, 1 << g.page_shift)  # pages of a row
    u = quotient(k, in_row)
    first = first_bank(g, sm)
    banks = first_bank(g, sm + 1) - first
    row = quotient(u, banks)
    b = first + u - row * banks
    column = (k - u * in_row) << g.page_shift
    if g.bank_of_one:
        channel = quotient(b, g.dram_banks)
        return put_together(g, channel, b - channel * g.dram_banks, row, column)
    bank = quotient(b, g.dram_channels)
    return put_together(g, b - bank * g.dram_channels, bank, row, column)


@device
def page_of_sm(g: Gpu, source: int, line: int) -> int:
    """Return the physical line of a line. Its page is the next one in the banks of SM `source`, if it has not been
    asked for before."""
    offset = offset_of(g, line)
    page = offset >> g.page_shift
    at = place_in_table(g, page)
    if g.page_key[at] == 0:
        enter(g, at, page, coloured_line(g, source, g.frames[source]), source + 1)
        g.frames[source] += 1
    return line_in(g, at, source, offset)


CHANNELS = Parameter(
    "channels", "bank_of_one", "which banks an SM has: some of every channel, or of as few channels as possible", 0,
    words=("all", "one"),
)  # fmt: skip
COLOURED = PagePolicy(
    "coloured", "a page lies in a row of a bank of the SM that asks for it first", page_of_sm,
    parameters=(PAGE_BYTES, CHANNELS),
)  # fmt: skip
