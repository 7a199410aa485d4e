"""This module estimates how many warps per cycle an SM completes, from the time they wait and the resources they share.

Needs the steps of a warp, with the demand of each on shared resources, and the number of resident warps and blocks. The
warps are followed step by step, each by its own clock: the one that is ready first continues. A resource serves
requests in the order in which they arrive. Blocks meet at barriers, and make room for others when all their warps are
done. So warps fall in step with one another and out of it again, which no formula of averages shows. Values do not
exist here: the demand of a step is all that is known of it.

Where it would take too long to follow all steps, a part is followed. The warps' progress by then is measured with the
time that a warp alone needs for the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

BOARDS = 8
"""Upper limit on scoreboards of a warp. The tables below have one entry for each set of them."""
_BOARDS = [[b for b in range(BOARDS) if waits >> b & 1] for waits in range(1 << BOARDS)]
"""For each set of boards, as bits, the list of its members."""
DISPATCH = 20
"""Estimated cycles between the end of a block and the first instructions of the one that takes its room. Chosen by
hand; `dispatch.interval` of machine files is another time, between two blocks that start."""
MOST_STEPS = 160_000
"""Upper limit on steps followed, of all warps together. Chosen by hand: a larger one costs time for each level
estimated."""
WAVES = 3
"""Blocks that run one after the other in the room of each resident one. Chosen by hand: more of them cost steps."""


class WarpStep(NamedTuple):
    """A step is the work of a warp between two points at which it may have to wait."""

    waits: int  #: boards that have to be free before it begins, as bits
    issues: float  #: issue slots of its scheduler
    cycles: float  #: cycles from its first issue to its end, if nothing delays it
    #: (resource, cycles) pairs: the resource is busy so long, and the step ends no earlier
    uses: tuple[tuple[int, float], ...]
    #: board that is taken at its end, -1 for none; freed `latency` cycles after all `requests` are served
    board: int = -1
    latency: float = 0.0  #: cycles that the board stays taken after the step's end and after the last request
    requests: tuple[tuple[int, float], ...] = ()  #: (resource, cycles) pairs that are served after the step's end
    places: int = 64  #: requests that a resource accepts before it has served the first of them; the next one waits
    reads_board: int = -1  #: another board, taken for `reads` cycles from the step's end, -1 for none
    reads: float = 0.0  #: cycles that `reads_board` stays taken
    #: no warp of the block continues until all its unfinished warps have come to the end of the step
    barrier: bool = False
    #: as `uses`, for resources of which each scheduler has one for its own warps
    own: tuple[tuple[int, float], ...] = ()


def throughput(
    ways: Sequence[Sequence[WarpStep]], warps: int, blocks: int, schedulers: int, most: int = MOST_STEPS
) -> float:
    """Return the number of warps per cycle that complete all their steps; 0 without steps.

    ways: the steps of each warp of a block (warps that do the same may share one list), or one list for all. warps: per
    block. blocks: resident blocks. All three are >= 1. most: upper limit on steps followed, of all warps together.
    """
    if not all(ways):
        return 0.0
    alone = {id(steps): _Sm([steps], 1, 1, 1) for steps in ways}
    for one in alone.values():
        one.run(1, 2 * len(one.steps[0]) + 2)  # a step, and the time that it is waited for
    sm = _Sm(ways, warps, blocks, schedulers)
    sm.run(WAVES * blocks, most)
    sole = [alone[id(steps)] for steps in sm.steps]
    each = (one.came[at] / one.now for one, at in zip(sole, sm.reached(), strict=True))
    return (sm.finished * warps + sum(each)) / sm.now


class _Sm:
    """The modelled SM has resident warps, numbered block by block.

    steps: the steps of each warp. at: the next step of each warp. came: for each step the time at which the last warp
    came to it. now: time of the last event. finished: number of blocks that are done.
    """

    def __init__(self, ways: Sequence[Sequence[WarpStep]], warps: int, blocks: int, schedulers: int) -> None:
        self.warps = warps  #: warps of a block
        count = warps * blocks
        self.steps = [ways[w % len(ways)] for w in range(warps)] * blocks  #: steps of each warp
        self.at = [0] * count  #: next step of each warp
        self.came = [0.0] * (max(map(len, ways)) + 1)  #: for each step, the time at which the last warp came to it
        self.now, self.finished = 0.0, 0  #: time of the last event; number of blocks that are done
        self._busy = [0.0] * count
        self._boards = [[0.0] * BOARDS for _ in range(count)]
        self._issue = [0.0] * schedulers
        used = (r for steps in ways for s in steps for r, _ in (*s.uses, *s.requests))
        self._free = [0.0] * (1 + max(used, default=-1))
        owned = 1 + max((r for steps in ways for s in steps for r, _ in s.own), default=-1)
        self._owned = [[0.0] * owned for _ in range(schedulers)]
        self._ready = [(0.0, w) for w in range(count)]
        self._met: list[list[int]] = [[] for _ in range(blocks)]
        self._left = [warps] * blocks

    def reached(self) -> list[int]:
        """Return for each warp the first step that is not done by now."""
        return [at - (busy > self.now and at > 0) for at, busy in zip(self.at, self._busy, strict=True)]

    def run(self, blocks: int, most: int) -> None:
        """Run until `blocks` blocks are done, or `most` steps."""
        at, ready = self.at, self._ready
        for _ in range(most):
            if self.finished >= blocks:
                return
            self.now, w = heappop(ready)
            k, steps = at[w], self.steps[w]
            if k == len(steps):
                self._through(w // self.warps)
                continue
            step = steps[k]
            if step.waits and (free := self._waited_for(w, step.waits)) > self.now:
                heappush(ready, (free, w))
                continue
            end = self._take(w, step)
            at[w], self.came[k + 1], self._busy[w] = k + 1, end, end
            if not step.barrier:
                heappush(ready, (end, w))
                continue
            self._met[w // self.warps].append(w)
            self._open(w // self.warps)

    def _open(self, block: int) -> None:
        """Open the barrier of a block, if all its unfinished warps have come to it."""
        met = self._met[block]
        if len(met) == self._left[block]:
            last = max(map(self._busy.__getitem__, met))
            for w in met:
                heappush(self._ready, (last, w))
            met.clear()

    def _waited_for(self, w: int, waits: int) -> float:
        """Return the time at which all of these boards are free."""
        boards = self._boards[w]
        return max([boards[b] for b in _BOARDS[waits]])

    def _take(self, w: int, step: WarpStep) -> float:
        """Let a warp do a step, and return the time at which it may continue.

        (Plain comparisons, since most of the time is spent here.)
        """
        _, issues, cycles, uses, board, latency, requests, places, reads_board, reads, _, own = step
        q, free = w % len(self._issue), self._free
        start = self._issue[q]
        if start < self.now:
            start = self.now
        self._issue[q] = start + issues
        end = start + cycles
        for r, taken in uses:
            until = free[r]
            free[r] = until = (start if until < start else until) + taken
            if until > end:
                end = until
        if own:
            free_here = self._owned[q]
            for r, taken in own:
                until = free_here[r]
                free_here[r] = until = (start if until < start else until) + taken
                if until > end:
                    end = until
        if board >= 0 or requests:
            served = end
            for r, taken in requests:
                until = free[r]
                if until - places * taken > end:
                    end = until - places * taken
                free[r] = until = (end if until < end else until) + taken
                if until > served:
                    served = until
            if board >= 0:
                self._boards[w][board] = served + latency
        if reads_board >= 0:
            self._boards[w][reads_board] = end + reads
        return end

    def _through(self, block: int) -> None:
        """Record that a warp of the block is done; if it is the last, the next block takes its room."""
        self._left[block] -= 1
        if self._left[block]:
            self._open(block)
            return
        self.finished += 1
        self._left[block] = self.warps
        for w in range(block * self.warps, (block + 1) * self.warps):
            self.at[w], self._boards[w] = 0, [0.0] * BOARDS
            heappush(self._ready, (self.now + DISPATCH, w))
