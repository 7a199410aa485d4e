"""This scheduler is strict oldest: it always takes the warp that has been there longest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import lowest_bit

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def oldest(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return the eligible warp that started first: blocks in order of dispatch, then warps by their numbers in the
    block."""
    best = lowest_bit(eligible)
    rest = eligible & (eligible - 1)
    while rest:
        i = lowest_bit(rest)
        rest &= rest - 1
        if s.age[i * g.schedulers + sch] < s.age[best * g.schedulers + sch]:
            best = i
    return best


OLDEST = WarpScheduler("oldest", "the warp whose block came first, then the lowest in the block", oldest)
