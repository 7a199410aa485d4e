"""This module defines gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Cube, Grid
    from binalloc.emulator.state.records import Gpu, Sm
    from binalloc.models.machines.model import Machine


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
    #: stands(machine, pairs): whether runs on the machine have the gate; pairs: of blocks that share memory on an SM
    stands: Callable[[Machine, int], bool]
    #: closed(g, s, program, regs, w, pc, again): 0 if warp w may issue the instruction at word pc now. Otherwise the
    #: later cycle in which to ask again, or UNTIL_CALLED. again: 1 if the warp has waited here
    closed: Callable[[Gpu, Sm, Grid, Cube, int, int, int], int]
    #: lets_pair(g, s, program, regs, w, pc): 1 if the instruction could pass now as the second of a pair. It changes
    #: nothing
    lets_pair: Callable[[Gpu, Sm, Grid, Cube, int, int], int]
    #: passes(g, s, program, regs, w, pc): the instruction passes
    passes: Callable[[Gpu, Sm, Grid, Cube, int, int], None]
