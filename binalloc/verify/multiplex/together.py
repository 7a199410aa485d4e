"""The walk's assumptions are checked here, and walks are repeated until none is wrong.

Threads part at a branch whose condition may differ among them. They are apart until they meet again, at the first
place that all their ways to a barrier pass. Whatever is computed meanwhile may differ among them, and no barrier may
lie between. A load gives all threads the same if all of them read one address, and no thread may write there before
they all pass the next barrier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from binalloc.bitset import bits
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.spread import Mask
from binalloc.verify.multiplex.walk import Again, Assumed, TooLong, Walk

WALKS = 60
"""Most walks; each but the last finds a wrong assumption. Chosen by hand: kernels need some three to ten."""


def settle(
    make: Callable[[Assumed], Walk], graph: Graph, barriers: int, points: dict[int, int], assumed: Assumed | None = None
) -> tuple[Walk, Meetings, Assumed]:
    """Return the first walk whose assumptions hold. barriers: mask of the blocks that begin with one. points: by the
    block of a branch, the block at which its lanes meet again. assumed: assumptions to begin with."""
    assumed = assumed or Assumed()
    for _ in range(WALKS):
        walk = make(assumed)
        try:
            walk.run()
        except Again:
            continue
        meetings = Meetings(walk.edges, barriers)
        wrong = [check(walk, meetings, assumed) for check in (_apart, _unequal)]
        wrong.append(_uncounted(walk, meetings, assumed, points))
        missing = [check(walk, meetings, assumed) for check in (_lost, _strewn)]
        if not any([*wrong, *missing] if walk.memory.follows else wrong):
            return walk, meetings, assumed  # what is missing or strewn concerns bytes that are followed, nothing else
    raise TooLong


def region(meetings: Meetings, block: int) -> int:
    """Return the blocks in which threads that part behind `block` may be apart."""
    meeting = meetings.meeting(block)
    return meetings.region(block, -1 if meeting is None else meeting)


def _apart(walk: Walk, meetings: Meetings, assumed: Assumed) -> bool:
    apart = 0
    for b in walk.parted:
        apart |= region(meetings, b)
    if not apart & ~assumed.apart:
        return False
    assumed.apart |= apart
    return True


def _uncounted(walk: Walk, meetings: Meetings, assumed: Assumed, points: dict[int, int]) -> bool:
    """Give up the rounds of loops in which threads that meet may be in different ones: some have come there from where
    they parted through the loop's head, others without."""
    wrong = False
    for b in walk.parted:
        for stop in (meetings.meeting(b), points.get(b)):
            if stop is None or stop == meetings.sink:
                continue
            inside = meetings.region(b, stop)
            for head in walk.graph.chains[b]:
                meet_within = walk.graph.loops[head] >> stop & 1
                if head not in assumed.fixed and meet_within and inside >> head & 1:
                    assumed.fixed.add(head)
                    wrong = True
    return wrong


def _lost(walk: Walk, meetings: Meetings, assumed: Assumed) -> bool:
    """Note which threads may have ended before a barrier at which others are."""
    wrong = False
    around = {b: region(meetings, b) for b in walk.parted}
    home = {n: b for b, words in enumerate(walk.graph.words) for n in words}
    for n, ended in walk.ends.items():
        block = home[n]
        beyond = meetings.beyond(block)
        for b, inside in around.items():
            if inside >> block & 1:
                beyond |= meetings.beyond(b)
        for b in bits(beyond & meetings.barriers):
            before = assumed.lost.get(b, np.zeros(len(ended), np.bool_))
            if (ended & ~before).any():
                assumed.lost[b] = before | ended
                wrong = True
    return wrong


def _strewn(walk: Walk, meetings: Meetings, assumed: Assumed) -> bool:
    """Note what threads may have written while they were apart: those that ended then come to no barrier with it."""
    wrong = False
    home = {n: b for b, words in enumerate(walk.graph.words) for n in words}
    for b in walk.parted:
        inside = region(meetings, b)
        touched: Mask = np.zeros(walk.memory.span, np.bool_)
        for n, stored in walk.stored.items():
            if inside >> home[n] & 1:
                touched = touched | stored
        for barrier in bits(meetings.beyond(b) & meetings.barriers) if touched.any() else ():
            before = assumed.strewn.get(barrier, np.zeros_like(touched))
            if (touched & ~before).any():
                assumed.strewn[barrier] = before | touched
                wrong = True
    return wrong


def _unequal(walk: Walk, meetings: Meetings, assumed: Assumed) -> bool:
    """Note loads whose bytes another thread may write at the time."""
    home = {n: b for b, words in enumerate(walk.graph.words) for n in words}
    wrong = False
    for phase in meetings.phases(walk.graph.entry):
        written: Mask = np.zeros(walk.memory.span, np.bool_)
        for n, touched in walk.stored.items():
            if phase >> home[n] & 1:
                written = written | touched
        for n, read in walk.common.items():
            if phase >> home[n] & 1 and n not in assumed.unequal and (read & written).any():
                assumed.unequal.add(n)
                wrong = True
    return wrong
