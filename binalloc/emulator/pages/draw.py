"""It is drawn here in which memory a page lies. The same seed draws the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.memory_layout import Memory

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu

SHARE_BITS = 20
_LOW = (1 << 31) - 1  # bits that are multiplied: products have at most 62
_ODD = 0x45D9F3B  # of a usual integer hash, two rounds of which let each bit change all others


@device
def drawn(seed: int, n: int) -> int:
    """Return the n-th number of a seed, below 2^SHARE_BITS."""
    x = (n + seed * _ODD) & _LOW
    x = ((x ^ (x >> 16)) * _ODD) & _LOW
    x = ((x ^ (x >> 15)) * _ODD) & _LOW
    return (x ^ (x >> 16)) & ((1 << SHARE_BITS) - 1)


@device
def memory_for(g: Gpu) -> int:
    """Return the memory for the next page of an SM."""
    if g.far_share and drawn(g.page_seed, g.pages_used) < g.far_share:
        return Memory.FAR
    return Memory.NEAR
