"""This module has the part of an SM's record that warp schedulers keep, by warp slot or by scheduler."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_SCHEDULERS, MAX_WARPS


class SchedulerRecord:
    """The first fields are for every policy. Fields that single policies remember follow them."""

    warps_started: int  #: warps of the SM that have started so far
    age: Annotated[Words, MAX_WARPS]  #: how many warps had started when this one did: the lower, the older it is
    last: Annotated[Words, MAX_SCHEDULERS]  #: bit index of the warp that issued last, -1 before the first
    #: mask of the warps that the policy has promoted and for which `promoted` has not been called
    promotions: Annotated[Words, MAX_SCHEDULERS]
    greedy: Annotated[Words, MAX_SCHEDULERS]  #: gto: 1 + bit index of the warp that it stays with, 0 for none
    active: Annotated[Words, MAX_SCHEDULERS]  #: two_level: mask of the active warps
    #: two_level: the cycle since which a warp that is not active has been pending
    pending_since: Annotated[Words, MAX_WARPS]
