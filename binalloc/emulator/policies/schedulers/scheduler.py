"""This module defines warp schedulers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import SmPolicy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@dataclass(frozen=True)
class WarpScheduler(SmPolicy):
    """A warp scheduler chooses one of the warps that could issue. One object of each is in `table`.

    `pick` is called in every cycle in which a warp is eligible, and in no other. So the memory of a policy, which is in
    `state.parts.scheduler`, may change there and at events, and at no other time. A policy that promotes warps notes
    them in `s.promotions`.
    """

    #: pick(g, s, sch, eligible): a device function that returns the bit index of the warp that issues now. It returns
    #: ~reason, a `counters.Stall`, where no warp is to issue in this cycle. sch: number of the scheduler in the SM.
    #: eligible: its eligible warps as a bit mask, not 0; bit i is warp slot i * schedulers + sch
    pick: Callable[[Gpu, Sm, int, int], int]
    #: whether it asks for `g.load_bits`, which says which instructions load from off-chip memory
    asks_for_loads: bool = False
