"""This policy hands out physical pages in the order in which pages are asked for first.

With the usual order of address parts each lies in all channels: Fig. 2(b) of "Thread Batching for High-performance
Energy-efficient GPU Memory Design".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.frames import next_in_all
from binalloc.emulator.pages.page import PAGE_BYTES, PagePolicy
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def next_page(g: Gpu, m: int, source: int, high: int) -> int:
    """Return the first line of the next free page."""
    return next_in_all(g, m, high)


INTERLEAVED = PagePolicy(
    "interleaved", "pages lie in all channels, in the order in which they are asked for first", next_page,
    parameters=(PAGE_BYTES,),
)  # fmt: skip
