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

from collections.abc import Callable, Iterator
from itertools import combinations

from binalloc.verify.multiplex.merged.beside import moments
from binalloc.verify.multiplex.merged.places import Place
from binalloc.verify.multiplex.merged.roles import Role
from binalloc.verify.multiplex.merged.virtual import VirtualBlock

Fault = tuple[str, Place, str]
"""What is wrong, where, and what was found."""


def check_handing(
    virtuals: list[VirtualBlock], differing: set[int], lacking: set[int], fail: Callable[[str, Place, str], None]
) -> None:
    """Check all virtual blocks of a merged block. differing: nodes of turnings whose condition may differ. lacking:
    nodes of barriers before which threads may have ended."""
    if not any(virtual.named for virtual in virtuals):
        return
    faults = [*_faults(virtuals, lacking), *_numbers(virtuals)]
    for message, place, found in faults:
        fail(message, place, found)
    if faults:
        return
    for one, other in combinations(virtuals, 2):
        for moment in moments(one, other, differing, one.events, other.events):
            a, b = moment.first, moment.second
            if (a.role != b.role and not any(moment.ended)) or (
                any(moment.ended) and (b if moment.ended[0] else a).role == Role.TAKE
            ):
                fail("virtual blocks may come to different turns", b if moment.ended[0] else a,
                     f"virtual blocks {one.number} and {other.number}")  # fmt: skip


def _faults(virtuals: list[VirtualBlock], lacking: set[int]) -> Iterator[Fault]:
    """Yield what is wrong with single virtual blocks."""
    for virtual in virtuals:
        for message, place in virtual.turn.faults:
            yield message, place, f"virtual block {virtual.number}"
        for place in virtual.named:
            if place.node in lacking:
                yield "threads may have ended before they come to a counted barrier", place, ""


def _numbers(virtuals: list[VirtualBlock]) -> Iterator[Fault]:
    """Yield where a virtual block comes to another one's barrier."""
    whose: dict[int, tuple[Role, int]] = {}
    takes: dict[int, int] = {}
    for v, virtual in enumerate(virtuals):
        for place in virtual.named:
            if place.role in (Role.OWN, Role.TAKE):
                mine = place.role, v
                if whose.setdefault(place.number, mine) != mine:
                    yield "another virtual block, or another barrier, has this number", place, f"barrier {place.number}"
            if place.role == Role.TAKE and takes.setdefault(v, place.number) != place.number:
                yield "waits for its turn at several barriers", place, f"barrier {place.number}"
    for v, virtual in enumerate(virtuals):
        for place in virtual.named:
            next_one = 0 if place in virtual.turn.first else (v + 1) % len(virtuals)
            if place.role == Role.GIVE and takes.get(next_one) != place.number:
                yield "gives the turn to another virtual block than the next", place, f"barrier {place.number}"
