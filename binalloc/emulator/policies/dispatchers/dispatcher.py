"""This module defines block dispatchers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.policy import SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def at_interval(g: Gpu, s: Sm) -> int:
    """Let an SM take a block when the machine's interval after its last block is over."""
    return s.launch_free


@device(inline=True)
def nothing_to_note(g: Gpu, s: Sm, block: int) -> None:
    """Do nothing: the dispatcher remembers nothing of the blocks that have been taken."""


@dataclass(frozen=True)
class BlockDispatcher(SmPolicy):
    """A block dispatcher assigns blocks to SMs, and decides when. One object of each dispatcher is in `table`.

    Its three functions are device functions. An SM needs a free slot and shared memory for a block; `sm.dispatch` sees
    to that, SM after SM in each cycle. Blocks that no SM takes although nothing runs any more are a deadlock. The
    memory of a dispatcher is in `state.parts.dispatcher`. The blocks that are run follow from `g.first_block` and
    `g.blocks`; `g.dispatched` says how many of them have been taken.
    """

    #: block(g, s): the block that the SM takes next, -1 if there is none for it at present. It is called often, and
    #: changes nothing. Where an event at one SM changes another SM's answer, the event's listener sets `g.recall`, and
    #: all SMs ask again in the next cycle.
    block: Callable[[Gpu, Sm], int]
    when: Callable[[Gpu, Sm], int] = at_interval  #: when(g, s): the first cycle in which the SM may take that block
    took: Callable[[Gpu, Sm, int], None] = nothing_to_note  #: took(g, s, block): the SM has taken the block
