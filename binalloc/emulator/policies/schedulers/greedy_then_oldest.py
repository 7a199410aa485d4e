"""This scheduler is greedy, then oldest: a warp issues as long as it can, then the oldest takes over.

It is GTO of Rogers, O'Connor and Aamodt, "Cache-Conscious Wavefront Scheduling" (MICRO 2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.oldest import oldest
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@device
def greedy_then_oldest(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Return the warp that issued last if it is eligible, else the oldest eligible one."""
    i = s.greedy[sch] - 1
    if i < 0 or not (eligible >> i) & 1:
        i = oldest(g, s, sch, eligible)
        s.greedy[sch] = i + 1
    return i


@device
def leave_ended(g: Gpu, s: Sm, w: int) -> None:
    """Drop the warp, which has ended, so that a later one in its slot does not count as the last that issued."""
    if s.greedy[g.scheduler_of[w]] == w // g.schedulers + 1:
        s.greedy[g.scheduler_of[w]] = 0


GTO = WarpScheduler(
    "gto", "the warp that issued last as long as it can, then the oldest", greedy_then_oldest,
    hears={"ended": leave_ended},
)  # fmt: skip
