"""This policy divides pages among the near and the far memory by their bandwidths.

It is BW-AWARE of "Page Placement Strategies for GPUs within Heterogeneous Memory Systems" (ASPLOS 2015), section 3: a
random number is drawn for each page when it is asked for first. The thread batching paper compares with it, and with
its own pages in either memory (Batching+BW): then a page lies in its SM's banks of the memory that was drawn for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.pages.frames import next_in_all, next_in_banks
from binalloc.emulator.pages.page import CHANNELS, PAGE_BYTES, PagePolicy
from binalloc.emulator.state.device import device
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

WITHIN = Parameter(
    "within", "coloured_within", "where in its memory a page lies: in all channels, or in its SM's banks", 0,
    words=("interleaved", "coloured"),
)  # fmt: skip
SEED = Parameter("seed", "page_seed", "seed from which it is drawn which pages lie in the far memory", 0, 0, 1 << 20)


@device
def page_of_either(g: Gpu, m: int, source: int, high: int) -> int:
    """Return the first line of the next page of memory m, in the banks of SM `source` or in all channels."""
    if g.coloured_within:
        return next_in_banks(g, m, source, high)
    return next_in_all(g, m, high)


BANDWIDTH = PagePolicy(
    "bandwidth", "pages are divided among near and far memory by their bandwidths, at random", page_of_either,
    parameters=(PAGE_BYTES, WITHIN, CHANNELS, SEED),
)  # fmt: skip
