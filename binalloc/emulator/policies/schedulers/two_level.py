"""This scheduler has two levels: a few active warps take turns, and warps that wait for memory or at a barrier make
room for pending ones.

As in Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors" (ISCA 2011), a
warp leaves the active set at a dependence on a result of long latency, and a pending warp enters it once it is ready.
Narasiman et al., "Improving GPU Performance via Large Warps and Two-Level Warp Scheduling" (MICRO 2011), have fixed
groups of warps in place of the set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.loose_round_robin import loose_round_robin
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.counters import Stall
from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import SCOREBOARDS
from binalloc.emulator.state.scan import count_bits, lowest_bit

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

ACTIVE_WARPS = 8
"""Active warps of a scheduler. Gebhart et al. find that a quarter of a scheduler's warps, which are 32 there, is
enough."""


@device
def longest_pending(g: Gpu, s: Sm, sch: int, pending: int) -> int:
    """Return the warp of the mask that has been pending longest, of several the oldest."""
    best = lowest_bit(pending)
    rest = pending & (pending - 1)
    while rest:
        i = lowest_bit(rest)
        rest &= rest - 1
        w = i * g.schedulers + sch
        b = best * g.schedulers + sch
        since = s.pending_since[w] - s.pending_since[b]
        if since < 0 or (since == 0 and s.age[w] < s.age[b]):
            best = i
    return best


@device
def two_level(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    """Make eligible pending warps active while there is room, and return the next of the eligible active ones."""
    active = s.active[sch]
    pending = eligible & ~active
    room = ACTIVE_WARPS - count_bits(active)
    while room > 0 and pending:
        bit = 1 << longest_pending(g, s, sch, pending)
        pending &= ~bit
        active |= bit
        s.promotions[sch] |= bit
        room -= 1
    s.active[sch] = active
    if eligible & active == 0:
        return ~Stall.PENDING
    return loose_round_robin(g, s, sch, eligible & active)


@device
def begin_pending(g: Gpu, s: Sm, w: int) -> None:
    """Note that the warp is pending from now on, as it starts."""
    s.pending_since[w] = g.cycle


@device
def leave(g: Gpu, s: Sm, w: int) -> None:
    """Make the warp pending, if it was active."""
    sch = g.scheduler_of[w]
    bit = g.bit_of[w]
    if s.active[sch] & bit:
        s.active[sch] &= ~bit
        s.pending_since[w] = g.cycle


@device
def leave_for_memory(g: Gpu, s: Sm, w: int, boards: int) -> None:
    """Make the warp pending if it waits for a result that comes at an unknown time."""
    for board in range(SCOREBOARDS):
        if (boards >> board) & 1 and s.board_open[w, board]:
            leave(g, s, w)


@device
def leave_for_lock(g: Gpu, s: Sm, w: int, gate: int) -> None:
    """Make the warp pending if it waits for shared memory that its block's partner has.

    Else a set full of such warps would keep those of the partner out, and neither would ever go on.
    """
    if s.kept_out[w]:
        leave(g, s, w)


TWO_LEVEL = WarpScheduler(
    "two_level", f"{ACTIVE_WARPS} active warps take turns, others replace those that wait for memory or at a barrier",
    two_level,
    hears={
        "started": begin_pending, "ended": leave, "waits": leave_for_memory, "arrived": leave, "closed": leave_for_lock,
    },
)  # fmt: skip
