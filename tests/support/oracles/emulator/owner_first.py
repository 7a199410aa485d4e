"""When warps of one scheduler issue where blocks share memory two by two: a small scheduler of its own.

One instruction a cycle, the first warp in order of priority that can. An instruction may wait for the result of the one
before it. A shared access needs the lock of the warp's pair; who has it keeps it to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """An instruction: its latency in cycles, and whether it waits for the one before, and accesses shared bytes."""

    latency: int = 1
    waits: bool = False
    shared: bool = False


FIG_4 = (Step(), Step(5, shared=True), Step(waits=True))
"""The three instructions of the paper's Fig. 4: an addition, a load from shared memory, and a move of what it loads."""


@dataclass
class Runner:
    """A warp that is the only one of its block."""

    steps: Sequence[Step]
    partner: int = -1  #: number of the other warp of the pair, -1 for none
    begins: int = 1  #: first cycle in which it may issue
    issued: list[int] = field(default_factory=list)
    holds: bool = False
    finish: int = 0  #: the cycle in which the last result is there
    gone: bool = False  #: it has ended, and all its results are there

    @property
    def over(self) -> bool:
        return len(self.issued) == len(self.steps)


Rank = Callable[[int, Sequence[Runner]], int]


def owner_first(i: int, warps: Sequence[Runner]) -> int:
    """The paper's order; while nobody holds the lock the lower number of a pair is the owner, or who is left of it."""
    me = warps[i]
    if me.partner < 0:
        return 1
    other = warps[me.partner]
    owner = me.holds or (not other.holds and (i < me.partner or other.gone))
    return 0 if owner else 2


def simulate(warps: list[Runner], rank: Rank) -> list[Runner]:
    """Run to the end. rank: lower ones go first; of equals the one with the lower number."""
    cycle = 1
    while not all(warp.over for warp in warps):
        for me in warps:
            me.gone = me.over and me.finish < cycle
            if me.gone and me.holds:
                me.holds = False
                if not warps[me.partner].over:
                    warps[me.partner].holds = True
        can = [i for i, warp in enumerate(warps) if _can(warps, warp, cycle)]
        if can:
            me = warps[min(can, key=lambda i: (rank(i, warps), i))]
            step = me.steps[len(me.issued)]
            me.holds |= step.shared and me.partner >= 0
            me.issued.append(cycle)
            me.finish = max(me.finish, cycle + step.latency - 1)
        cycle += 1
    return warps


def _can(warps: Sequence[Runner], me: Runner, cycle: int) -> bool:
    if me.over or cycle < me.begins:
        return False
    step, done = me.steps[len(me.issued)], me.issued
    if done and cycle < done[-1] + (me.steps[len(done) - 1].latency if step.waits else 1):
        return False
    return not (step.shared and me.partner >= 0 and warps[me.partner].holds)
