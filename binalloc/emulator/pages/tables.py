"""The table of pages says which physical page a page of memory is. A page gets its place when a line of it is asked for
first.

Buffers begin a page each, as do textures, the variables of the module, its code, its constants, and the local memory of
each SM. So the pages of a buffer do not depend on where it lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import FIRST_CODE_LINE, FIRST_CPU_LINE, FIRST_LOCAL_LINE, MAX_PAGES
from binalloc.emulator.state.scan import quotient

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

SM_SHIFT = 24  # log2 of the pages that the local memory of an SM may have: above them stands the SM's number
LOCAL_PAGES = 1 << 34  # the first page of local memory, beyond those of all objects
CODE_PAGES = 1 << 36  # the first page of code and constants
CPU_PAGES = 1 << 39  # the first page of CPU programs
_HASHED = (1 << 31) - 1  # bits of a page that the hash multiplies: the product has at most 63
_MULTIPLIER = 0x9E3779B1  # Knuth's multiplicative hash: 2^32 over the golden ratio, which spreads neighbours


@device
def object_of(g: Gpu, line: int) -> int:
    """Return the last object of global memory that begins at a line or before it, found by bisection."""
    low = 0
    high = g.objects
    while high - low > 1:
        middle = (low + high) >> 1
        if g.object_line[middle] <= line:
            low = middle
        else:
            high = middle
    return low


@device
def offset_of(g: Gpu, line: int) -> int:
    """Return a line's number counted from the first page of what it belongs to: page << `page_shift`, plus the line in
    the page."""
    if line < FIRST_LOCAL_LINE:
        i = object_of(g, line)
        return line - g.object_line[i] + (g.object_page[i] << g.page_shift)
    if line < FIRST_CODE_LINE:
        each = g.warp_limit * (g.local_total >> 2)  # lines of local memory of an SM
        sm = quotient(line - FIRST_LOCAL_LINE, each)
        return line - FIRST_LOCAL_LINE - sm * each + ((LOCAL_PAGES + (sm << SM_SHIFT)) << g.page_shift)
    if line < FIRST_CPU_LINE:
        return line - FIRST_CODE_LINE + (CODE_PAGES << g.page_shift)
    return line - FIRST_CPU_LINE + (CPU_PAGES << g.page_shift)


@device
def place_in_table(g: Gpu, page: int) -> int:
    """Return the place of a page in the table, or the free place that it is to have."""
    at = (((page ^ (page >> SM_SHIFT)) & _HASHED) * _MULTIPLIER >> 8) & (MAX_PAGES - 1)
    while g.page_key[at] and g.page_key[at] != page + 1:
        at = (at + 1) & (MAX_PAGES - 1)
    return at


@device
def enter(g: Gpu, at: int, page: int, line: int, owner: int) -> None:
    """Give a page its first physical line. owner: the SM in whose banks it lies + 1, 0 for none."""
    g.pages_used += 1
    g.page_key[at] = page + 1
    g.page_line[at] = line
    g.page_owner[at] = owner
