"""Virtual blocks of a merged block that hand on a turn are checked here: one has it at a time, and each gets it.

Needs the virtual blocks that the grid has of one merged block; leaves findings. What is proven:

- *One turn.* The last virtual block gives the first turn to the first one, before it takes any. Whoever has the turn
  gives it to the next one, or the last one to the first. Each takes it at a barrier of its own, at which nobody but the
  one before it arrives.
- *No new deadlock.* All come to the same turns and barriers of the whole merged block, in the same order, and wait for
  nobody in their turn. No thread may have ended before it comes to a counted barrier: these wait for warps that have
  ended, too.
- A barrier of a virtual block's own has a number that no other one uses.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from binalloc.verify.multiplex.merged.beside import moments
from binalloc.verify.multiplex.merged.places import Place
from binalloc.verify.multiplex.merged.roles import Role
from binalloc.verify.multiplex.merged.virtual import VirtualBlock

Fail = Callable[[str, Place, str], None]


def check_handing(virtuals: list[VirtualBlock], differing: set[int], lacking: set[int], fail: Fail) -> None:
    """Check all virtual blocks of a merged block. differing: nodes of turnings whose condition may differ. lacking:
    nodes of barriers before which threads may have ended."""
    if not any(virtual.named for virtual in virtuals):
        return
    for virtual in virtuals:
        for message, place in virtual.turn.faults:
            fail(message, place, f"virtual block {virtual.number}")
        for place in virtual.named:
            if place.node in lacking:
                fail("threads may have ended before they come to a counted barrier", place, "")
    _numbers(virtuals, fail)
    for one, other in combinations(virtuals, 2):
        for moment in moments(one, other, differing, one.events, other.events):
            a, b = moment.first, moment.second
            if (a.role != b.role and not any(moment.ended)) or (
                any(moment.ended) and (b if moment.ended[0] else a).role == Role.TAKE
            ):
                fail("virtual blocks may come to different turns", b if moment.ended[0] else a,
                     f"virtual blocks {one.number} and {other.number}")  # fmt: skip


def _numbers(virtuals: list[VirtualBlock], fail: Fail) -> None:
    """Check which virtual block comes to which barrier."""
    whose: dict[int, tuple[Role, int]] = {}
    takes: dict[int, int] = {}
    for v, virtual in enumerate(virtuals):
        for place in virtual.named:
            if place.role in (Role.OWN, Role.TAKE):
                mine = place.role, v
                if whose.setdefault(place.number, mine) != mine:
                    fail("another virtual block, or another barrier, has this number", place, f"barrier {place.number}")
            if place.role == Role.TAKE and takes.setdefault(v, place.number) != place.number:
                fail("waits for its turn at several barriers", place, f"barrier {place.number}")
    for v, virtual in enumerate(virtuals):
        for place in virtual.named:
            next_one = 0 if place in virtual.turn.first else (v + 1) % len(virtuals)
            if place.role == Role.GIVE and takes.get(next_one) != place.number:
                fail("gives the turn to another virtual block than the next", place, f"barrier {place.number}")
