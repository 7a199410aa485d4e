"""This module defines gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.policy import SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Grid
    from binalloc.emulator.state.records import Gpu, Sm
    from binalloc.models.machines.model import Machine


UNTIL_CALLED = -1
"""The gate stays closed until the warp is called (`call`). Every cycle is above it."""


@device(inline=True)
def call(g: Gpu, s: Sm, w: int) -> None:
    """Have the gates asked about the warp again, in this cycle if its SM has not looked yet, else in the next."""
    s.knocking[g.scheduler_of[w]] |= g.bit_of[w]
    s.called = 1


@dataclass(frozen=True)
class Gate(SmPolicy):
    """A warp has to pass every gate before each instruction. One object of each gate is in `table`.

    Warps pass the gates in the order of the table; a warp that waits at a gate goes on from there. The gate's `name` is
    what results call the issue slots lost for it. `closed`, `lets_pair` and `passes` are device functions. Code that
    opens the gate to a warp before its time calls the warp (`call`): answers of memory do so for the caches, or the
    gate's listeners.
    """

    awaited: str  #: what a warp waits for at the gate, in words
    before: bool  #: whether the gate comes before the scoreboards
    stands: Callable[[Machine], bool]  #: stands(machine): whether runs on the machine have the gate
    #: closed(g, s, program, w, pc, again): 0 if warp w may issue the instruction at word pc now. Otherwise the later
    #: cycle in which to ask again, or UNTIL_CALLED. again: 1 if the warp has waited here
    closed: Callable[[Gpu, Sm, Grid, int, int, int], int]
    #: lets_pair(g, s, program, w, pc): 1 if the instruction could pass now as the second of a pair; changes nothing
    lets_pair: Callable[[Gpu, Sm, Grid, int, int], int]
    passes: Callable[[Gpu, Sm, Grid, int, int], None]  #: passes(g, s, program, w, pc): the instruction passes
