"""The part of an SM's record that warp schedulers keep: by warp slot, or by the number of the scheduler."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_SCHEDULERS, MAX_WARPS


class SchedulerRecord:
    """What the SM tells every policy; then what single ones remember."""

    # warps of the SM that have started so far; how many of them had when this one did: the lower, the older it is
    warps_started: int
    age: Annotated[Words, MAX_WARPS]
    # bit index of the warp that issued last, -1 before the first
    last: Annotated[Words, MAX_SCHEDULERS]
    # mask of the warps that the policy has promoted and that nobody has been told of
    promotions: Annotated[Words, MAX_SCHEDULERS]
    # gto: 1 + bit index of the warp that it stays with, 0 for none
    greedy: Annotated[Words, MAX_SCHEDULERS]
    # two_level: mask of the active warps; the cycle since which a warp that is not has been pending
    active: Annotated[Words, MAX_SCHEDULERS]
    pending_since: Annotated[Words, MAX_WARPS]
