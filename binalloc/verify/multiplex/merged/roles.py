"""This module says what a barrier of a merged kernel is for.

Needs a barrier; leaves its role. A barrier of the whole merged block is for all virtual blocks. A counted one of as
many threads as the warps of one virtual block can have is its own. One of twice as many is a *hand-over*: a virtual
block waits there for its *turn*, and the one before it arrives without waiting. A *vote* is for all virtual blocks,
too, and tells them whether one of them has given "true". Which virtual block comes to which barrier is checked in
`handing.py`.
"""

from __future__ import annotations

from enum import StrEnum

from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.interface.places import LANES


class Role(StrEnum):
    """The role of a barrier in a merged kernel."""

    WHOLE = "whole"  # for all virtual blocks
    OWN = "own"  # for the threads of one virtual block
    TAKE = "take"  # waits for the turn
    GIVE = "give"  # gives the turn to another virtual block, and goes on


def role_of(barrier: Barrier, threads: int) -> Role | None:
    """Return the role of a barrier, None if it has none. threads: of a virtual block."""
    if barrier.plain or barrier.vote:
        return Role.WHOLE
    if barrier.combines or barrier.number == 0:
        return None
    whole = -(-threads // LANES) * LANES  # barriers count warps
    if barrier.threads == whole and barrier.waits:
        return Role.OWN
    if barrier.threads == 2 * whole:
        return Role.TAKE if barrier.waits else Role.GIVE
    return None
