"""What a warp scheduler is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.emulator.state.policy import Policy

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm


@dataclass(frozen=True)
class WarpScheduler(Policy):
    """Chooses which of the warps that could issue does. One object of each is in `table`.

    pick(g, s, sch, eligible): a device function of the device's record, the SM's, the number of the scheduler in the
    SM, and its eligible warps as a bit mask, not 0 (bit i = warp slot i * schedulers + sch). It returns the bit index
    of the warp that issues now, or ~reason, a `counters.Stall`, to have none of them issue in this cycle.

    `pick` is asked in every cycle in which a warp is eligible, and in no other; so what a policy remembers may change
    there and as it hears of events, and at no other time. It is in `state.parts.scheduler`. A policy that promotes
    warps notes them in `s.promotions`.
    """

    pick: Callable[[Gpu, Sm, int, int], int]
