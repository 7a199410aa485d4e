"""What a block dispatcher is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.policy import Policy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def at_interval(g: Gpu, s: Sm) -> int:
    """An SM takes a block when the machine's interval after the last one is over."""
    return s.launch_free


@device(inline=True)
def nothing_to_note(g: Gpu, s: Sm, block: int) -> None:
    """The dispatcher remembers nothing of the blocks that have gone."""


@dataclass(frozen=True)
class BlockDispatcher(Policy):
    """Chooses which SM takes which block, and when. One object of each is in `table`; all three are device functions.

    block(g, s): the block that the SM takes next, -1 if none is for it at present. It is asked often, and changes
    nothing. Where an event at one SM makes another SM's answer a different one, its listener sets `g.recall`: all SMs
    look again in the next cycle. when(g, s): the first cycle in which the SM may take it. took(g, s, block): the SM has
    taken it. Blocks that are left and that no SM takes although nothing runs any more are a deadlock.

    An SM has to have a slot and shared memory for a block, which `sm.dispatch` sees to, SM after SM in each cycle. What
    a dispatcher remembers is in `state.parts.dispatcher`; `g.first_block` and `g.blocks` say which blocks are run,
    `g.dispatched` how many of them have been taken.
    """

    block: Callable[[Gpu, Sm], int]
    when: Callable[[Gpu, Sm], int] = at_interval
    took: Callable[[Gpu, Sm, int], None] = nothing_to_note
