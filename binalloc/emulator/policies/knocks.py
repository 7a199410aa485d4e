"""This module calls warps that wait at a gate."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm

UNTIL_CALLED = -1
"""A gate stays closed to a warp until the warp is called (`call`). Every cycle is above this value."""


@device(inline=True)
def call(g: Gpu, s: Sm, w: int) -> None:
    """Have the gates asked about the warp again, in this cycle if its SM has not looked yet, else in the next."""
    s.knocking[g.scheduler_of[w]] |= g.bit_of[w]
    s.called = 1
