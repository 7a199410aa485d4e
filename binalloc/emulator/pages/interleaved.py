"""This policy hands out physical pages in the order in which pages are asked for first.

With the usual order of address parts each lies in all channels: Fig. 2(b) of "Thread Batching for High-performance
Energy-efficient GPU Memory Design".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.page import PAGE_BYTES, PagePolicy
from binalloc.emulator.pages.tables import enter, line_in, offset_of, place_in_table
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def next_page(g: Gpu, source: int, line: int) -> int:
    """Return the physical line of a line. Its page is the next free one, if it has not been asked for before."""
    offset = offset_of(g, line)
    page = offset >> g.page_shift
    at = place_in_table(g, page)
    if g.page_key[at] == 0:
        enter(g, at, page, g.frames[0] << g.page_shift, 0)
        g.frames[0] += 1
    return line_in(g, at, source, offset)


INTERLEAVED = PagePolicy(
    "interleaved", "pages lie in all channels, in the order in which they are asked for first", next_page,
    parameters=(PAGE_BYTES,),
)  # fmt: skip
