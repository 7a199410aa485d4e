"""This module has the shape of a page policy, and the parameters that policies share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import SmPolicy
from binalloc.rows import Parameter

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu


PAGE_BYTES = Parameter("bytes", "page_bytes", "bytes of a page, a power of two; 0 for the machine's", 0, 0, 2 << 20)
"""The parameter of policies with pages. 2 MB are the largest pages of CUDA's driver."""
CHANNELS = Parameter(
    "channels", "bank_of_one", "which banks an SM has: some of every channel, or of as few channels as possible", 0,
    words=("all", "one"),
)  # fmt: skip
"""The parameter of policies that give each SM banks of its own."""


@dataclass(frozen=True)
class PagePolicy(SmPolicy):
    """A page policy chooses where in DRAM a page of memory lies. One object of each policy is in `table`."""

    #: place(g, m, source, high): a device function that returns the first physical line of the next page, below 2^56.
    #: It never returns the same page twice. m: the memory, see `Memory`. source: number of the SM that asks for the
    #: page first. high: 1 for a page in the rows from `frames.HIGH_ROW` on, else 0.
    place: Callable[[Gpu, int, int, int], int]
