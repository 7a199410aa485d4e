"""This module defines page policies."""

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


@dataclass(frozen=True)
class PagePolicy(SmPolicy):
    """A page policy chooses the line of L2 and DRAM that a line of an SM is. One object of each policy is in
    `table`."""

    #: physical(g, source, line): a device function that returns the line whose slice, set, channel, bank and row the
    #: request goes to. It is not negative and below 2^56, and two lines never become one. source: number of the SM that
    #: asks. line: the line that it asks for, an address / 128. Local memory, code and constants have lines beyond those
    #: of all addresses.
    physical: Callable[[Gpu, int, int], int]
