"""This module has the part of an SM's record that warp schedulers keep, by warp slot or by scheduler."""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import CODE_WORDS, MAX_BLOCKS, MAX_SCHEDULERS, MAX_WARPS

LOAD_SHIFT = 5  # log2 of the code words in a word of `Gpu.load_bits`
LOAD_WORDS = (CODE_WORDS >> LOAD_SHIFT) + 1  # staged code has one word more
VICTIM_SETS, VICTIM_WAYS = 2, 8
"""Sets and ways of a warp's victim tags, powers of two: those of the authors' public simulator (ccws-2012)."""
VICTIM_TAGS = VICTIM_SETS * VICTIM_WAYS
# columns of what ccws keeps for a warp: its score when it rose last, the cycle of that, for each set the way that the
# next victim takes, and for each tag the line + 1 of a victim, 0 for none
LOST_SCORE, LOST_AT, LOST_NEXT = 0, 1, 2
LOST_VICTIM = LOST_NEXT + VICTIM_SETS
LOST_COLUMNS = LOST_VICTIM + VICTIM_TAGS


class SchedulerRecord:
    """The first fields are for every policy. Fields that single policies remember follow them."""

    warps_started: int  #: warps of the SM that have started so far
    batches: int  #: batches with a resident block
    batch_area: int  #: cycles in which batches have left less those in which they have come, summed
    victim_hits: int  #: ccws: loads so far that asked for a victim of their own warp
    scores_end: int  #: ccws: the cycle from which on all scores are the base again
    running_batch: int  #: tbas: the running batch + 1, 0 for none
    running_since: int  #: tbas: its `batch_since`
    blocks_begun: int  #: tbas: blocks that have come so far
    age: Annotated[Words, MAX_WARPS]  #: how many warps had started when this one did: the lower, the older it is
    last: Annotated[Words, MAX_SCHEDULERS]  #: bit index of the warp that issued last, -1 before the first
    #: mask of the warps that the policy has promoted and for which `promoted` has not been called
    promotions: Annotated[Words, MAX_SCHEDULERS]
    #: by block slot: the block's batch; behind these, for tbas, the number of the first block of that batch in the SM
    block_batch: Annotated[Words, 2 * MAX_BLOCKS]
    greedy: Annotated[Words, MAX_SCHEDULERS]  #: gto: 1 + bit index of the warp that it stays with, 0 for none
    active: Annotated[Words, MAX_SCHEDULERS]  #: two_level: mask of the active warps
    #: two_level: the cycle since which a warp that is not active has been pending
    pending_since: Annotated[Words, MAX_WARPS]
    lost: Annotated[Words, MAX_WARPS * LOST_COLUMNS]  #: ccws: [warp slot, column], flat
    running_warps: Annotated[Words, MAX_SCHEDULERS]  #: tbas: mask of the running batch's warps
    gathered: Annotated[Words, MAX_SCHEDULERS]  #: tbas: mask of the warps of the batch looked at last
    #: tbas, owl: mask of the warps that last began to wait for a result of memory that comes at an unknown time
    asleep: Annotated[Words, MAX_SCHEDULERS]
    group_turns: Annotated[Words, MAX_SCHEDULERS]  #: owl: how far the running group is behind the SM's first, by number
    #: owl: [group, scheduler], flat: 1 + bit index of the warp of the group that issued last, 0 before the first
    group_last: Annotated[Words, MAX_BLOCKS * MAX_SCHEDULERS]
