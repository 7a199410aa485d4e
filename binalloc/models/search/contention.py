"""How many warps an SM gets through that all take the same steps: what they wait for, and what they take from others.

Needs the steps of a warp, with what each asks of shared resources, and how many warps are resident in how many blocks.
The warps are followed step by step, each by its own clock: the one that is ready first goes on. A resource serves one
after the other in the order in which they come; blocks meet at barriers, and make room for others when all their warps
are done. So warps get in step with one another and out of it again, which no formula of averages tells. Values are
nowhere: what a step takes is all that is known of it.

Where the whole of it would take too long, as much as fits is followed, and how far the warps have come by then is
counted by what the steps take a warp that is alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

BOARDS = 8
"""Of scoreboards and the like that a warp has at most."""
_BOARDS = [[b for b in range(BOARDS) if waits >> b & 1] for waits in range(1 << BOARDS)]
"""By set of them, as bits."""
DISPATCH = 20
"""Cycles between the end of a block and the first instructions of the one that takes its room."""
MOST_STEPS = 160_000
"""Of all warps together."""
WAVES = 3
"""Blocks that come one after the other into the room of each resident one."""


class WarpStep(NamedTuple):
    """What a warp does between two times that it may have to wait.

    waits: boards that have to be free before it begins, as bits. issues: issue slots of its scheduler. cycles: that it
    takes by itself from there. uses: (resource, cycles) that nobody else has it meanwhile, and that it is over no
    earlier than. board: taken from its end on, -1 for none; for latency cycles, and until each of (resource, cycles) of
    requests has served it and latency cycles have passed from then; places: of requests that a resource takes before it
    has served the first of them, the next waits. reads_board: another, taken for reads cycles.
    barrier: all warps of the block that are not through come to its end before one of them goes on. own: as uses, of
    resources of which each scheduler has one for its own warps.
    """

    waits: int
    issues: float
    cycles: float
    uses: tuple[tuple[int, float], ...]
    board: int = -1
    latency: float = 0.0
    requests: tuple[tuple[int, float], ...] = ()
    places: int = 64
    reads_board: int = -1
    reads: float = 0.0
    barrier: bool = False
    own: tuple[tuple[int, float], ...] = ()


def throughput(
    ways: Sequence[Sequence[WarpStep]], warps: int, blocks: int, schedulers: int, most: int = MOST_STEPS
) -> float:
    """Runs of all their steps by a warp, per cycle. ways: the steps of each warp of a block (those that do the same
    may be one list), or of one for all; warps: of a block; blocks: resident; all three >= 1. most: of steps followed,
    of all warps together. 0 without steps."""
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
    """The resident warps, numbered block by block. steps: of each; at: their next ones; came: when the last of them
    came to each step; now: when the last thing happened; finished: blocks that are through."""

    def __init__(self, ways: Sequence[Sequence[WarpStep]], warps: int, blocks: int, schedulers: int) -> None:
        self.warps = warps
        count = warps * blocks
        self.steps = [ways[w % len(ways)] for w in range(warps)] * blocks
        self.at = [0] * count
        self.came = [0.0] * (max(map(len, ways)) + 1)
        self.now, self.finished = 0.0, 0
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
        """By warp, the first step that is not done by now."""
        return [at - (busy > self.now and at > 0) for at, busy in zip(self.at, self._busy, strict=True)]

    def run(self, blocks: int, most: int) -> None:
        """Until so many blocks are through, or so many steps are done."""
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
        """The barrier, if all warps have come to it that are not through."""
        met = self._met[block]
        if len(met) == self._left[block]:
            last = max(map(self._busy.__getitem__, met))
            for w in met:
                heappush(self._ready, (last, w))
            met.clear()

    def _waited_for(self, w: int, waits: int) -> float:
        """When all of these boards are free."""
        boards = self._boards[w]
        return max([boards[b] for b in _BOARDS[waits]])

    def _take(self, w: int, step: WarpStep) -> float:
        """The warp does the step; when it may go on. (Plain comparisons: this is where the time goes.)"""
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
        """A warp of the block is through; if it is the last, the next block takes its room."""
        self._left[block] -= 1
        if self._left[block]:
            self._open(block)
            return
        self.finished += 1
        self._left[block] = self.warps
        for w in range(block * self.warps, (block + 1) * self.warps):
            self.at[w], self._boards[w] = 0, [0.0] * BOARDS
            heappush(self._ready, (self.now + DISPATCH, w))
