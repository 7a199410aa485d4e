"""This dispatcher hands out blocks in the order of their numbers, each to the first SM that has room. Neighbours run on
different SMs, at about the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.dispatchers.dispatcher import BlockDispatcher
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def next_in_order(g: Gpu, s: Sm) -> int:
    """Return the lowest block that is left, whichever SM asks; -1 for none."""
    return g.first_block + g.dispatched if g.dispatched < g.blocks else -1


INTERLEAVED = BlockDispatcher("interleaved", "blocks in the order of their numbers, SMs in turn", next_in_order)
