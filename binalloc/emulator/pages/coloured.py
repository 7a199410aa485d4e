"""This policy gives each SM banks of its own: a page lies in the banks of the SM that asks for it first.

It is the page colouring of "Thread Batching for High-performance Energy-efficient GPU Memory Design", section 3. A page
lies in one row of one bank (Fig. 2c). The paper leaves open which banks an SM has, so both ways are here: some of every
channel, or all of as few channels as possible. It does not say either what becomes of a page of several SMs: here it
stays where it is. Neighbouring pages of an SM fill a row before the next bank has its turn, as Fig. 9 shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.frames import next_in_banks
from binalloc.emulator.pages.page import CHANNELS, PAGE_BYTES, PagePolicy
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


@device
def page_of_sm(g: Gpu, m: int, source: int, high: int) -> int:
    """Return the first line of the next page in the banks of SM `source`."""
    return next_in_banks(g, m, source, high)


COLOURED = PagePolicy(
    "coloured", "a page lies in a row of a bank of the SM that asks for it first", page_of_sm,
    parameters=(PAGE_BYTES, CHANNELS),
)  # fmt: skip
