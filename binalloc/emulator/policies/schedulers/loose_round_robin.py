"""This scheduler is loose round robin: each warp has its turn, and warps that cannot issue are passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import lowest_bit

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device(inline=True)
def next_after(last: int, eligible: int) -> int:
    """Return the next warp of a mask after warp `last`, the lowest where that is -1."""
    above = eligible & -(2 << last) if last >= 0 else eligible
    return lowest_bit(above if above else eligible)


@device(inline=True)
def loose_round_robin(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return the next eligible warp after the one that issued last."""
    return next_after(s.last[sch], eligible)


LRR = WarpScheduler("lrr", "each warp in its turn, those that cannot issue passed over", loose_round_robin)
