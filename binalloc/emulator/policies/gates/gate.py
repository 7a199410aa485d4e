"""What a gate is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.device import device
from binalloc.emulator.state.policy import Policy

if TYPE_CHECKING:
    from binalloc.emulator.state.arrays import Grid
    from binalloc.emulator.state.records import Gpu, Sm
    from binalloc.models.machines.model import Machine


UNTIL_CALLED = -1
"""The gate stays closed until somebody calls the warp."""


@device(inline=True)
def call(g: Gpu, s: Sm, w: int) -> None:
    """Have the gates asked about the warp again: in this cycle where its SM has yet to look, else in the next."""
    s.knocking[g.scheduler_of[w]] |= g.bit_of[w]
    s.called = 1


@dataclass(frozen=True)
class Gate(Policy):
    """Something that a warp has to pass before each instruction. One object of each is in `table`, whose order is that
    in which they are passed; a warp that waits in front of one goes on from there.

    name: what results call issue slots that are lost for it. awaited: what a warp waits for there, in words. before:
    whether it comes before the scoreboards. stands(machine): whether runs on that machine have it.

    Three device functions: closed(g, s, program, w, pc, again): 0 if warp w may issue the instruction at word pc now,
    else the later cycle in which to ask again, or UNTIL_CALLED; again: 1 if it has waited here.
    lets_pair(g, s, program, w, pc): 1 if the instruction could pass now, as the second of a pair; changes nothing.
    passes(g, s, program, w, pc): it does.

    Whoever opens the gate to a warp before its time calls it (`call`), as the answers of memory do for the caches, or a
    listener of the gate's own.
    """

    awaited: str
    before: bool
    stands: Callable[[Machine], bool]
    closed: Callable[[Gpu, Sm, Grid, int, int, int], int]
    lets_pair: Callable[[Gpu, Sm, Grid, int, int], int]
    passes: Callable[[Gpu, Sm, Grid, int, int], None]
