"""This module has the part of an SM's record for blocks that share a part of their shared memory two by two.

After "Scratchpad Sharing in GPUs" (the sharing paper), section 7.1: `partner` is its table ShTB, `holds` its lock
variables.
"""

from __future__ import annotations

from typing import Annotated

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.layout import MAX_BLOCKS, MAX_WARPS


class PairFigures:
    """These figures of a launch say which block slots are pairs, and where their bytes lie.

    The first `lone_blocks` slots are those that an SM would have if nothing was shared; each has all its bytes in one
    place. The k-th slot behind them is the partner of slot k. It has its own bytes in a place behind all of these, and
    the shared ones in its partner's.
    """

    pairs: int  #: pairs on an SM, 0 where blocks share nothing
    lone_blocks: int  #: block slots in front of the additional ones
    private_bytes: int  #: bytes of a block of a pair, from address 0 on, that only this block accesses, slots aside
    private_rows: int  #: slots of a thread of a pair, from slot 0 on, that its block shares with no other
    partner_words: int  #: words that the place of an additional block has: its private bytes and its private slots


class PairRecord:
    """Of each pair at most one block holds the lock, and with it the bytes that the two share."""

    partner: Annotated[Words, MAX_BLOCKS]  #: 1 + the other block slot of the pair, 0 for none
    holds: Annotated[Words, MAX_BLOCKS]  #: whether the block holds the lock of its pair
    gave_up: Annotated[Words, MAX_BLOCKS]  #: whether all its threads have released the shared bytes, or have ended
    phase: Annotated[Words, MAX_BLOCKS]  #: what the block has had of the lock so far, a `policies.pairs.Phase`
    lock_fresh: Annotated[Words, MAX_BLOCKS]  #: whether it has got the lock since the checks looked last
    apart: Annotated[Words, MAX_BLOCKS]  #: whether what the block shares lies in its partner's place
    #: bytes of such a block, from address 0 on, in front of those: its private ones, maybe none; 0 in other blocks
    split: Annotated[Words, MAX_BLOCKS]
    #: first word of the slots, to the end of the block's place, where what it shares lies before its private ones;
    #: else 0
    own_slots: Annotated[Words, MAX_BLOCKS]
    phase_from: Annotated[Words, MAX_BLOCKS]  #: cycle in which that phase began
    released: Annotated[Words, MAX_WARPS]  #: lanes that have released the shared bytes
    kept_out: Annotated[Words, MAX_WARPS]  #: 1 + the cycle from which on the warp waits for the lock, 0: it does not
