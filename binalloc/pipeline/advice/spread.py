"""A spread shows the speedups of the levels that a policy looked at, from the worst to the best, and of its choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from binalloc.pipeline.pipeline import Outcome
from binalloc.pipeline.steps.version import Tried


class LevelSpeedup(NamedTuple):
    """An entry is the speedup of one level."""

    speedup: float  #: over the original
    blocks: int  #: resident blocks


@dataclass(frozen=True)
class Spread:
    """A spread has the worst and the best level, and the one chosen."""

    emulated: bool  #: whether speedups are by runs; otherwise they are by policy `model`'s estimate
    auto: LevelSpeedup  #: the version chosen
    best: LevelSpeedup  #: the best of the original and all levels whose speedup is known in the same way
    worst: LevelSpeedup  #: the worst of them


def spread(outcome: Outcome) -> Spread | None:
    """Return the spread of the levels looked at; None if no level was run or estimated."""
    original = LevelSpeedup(1.0, outcome.original.blocks_per_sm)
    emulated = any(_emulated(t, outcome) for t in outcome.tried)
    by_module: dict[int, LevelSpeedup] = {}
    for t in outcome.tried:
        gain = _emulated(t, outcome) if emulated else t.expected
        if gain is not None and t.version is not None:
            by_module[id(t.version.module)] = LevelSpeedup(gain, t.version.blocks_per_sm)
    if (outcome.multiplexed or outcome.paired is not None) and outcome.speedup is not None:
        by_module[id(outcome.rewritten.module)] = LevelSpeedup(outcome.speedup, outcome.rewritten.blocks_per_sm)
        emulated = True
    if not by_module:
        return None
    every = [original, *by_module.values()]
    auto = by_module.get(id(outcome.rewritten.module), original)
    return Spread(emulated, auto, max(every, key=_speedup), min(every, key=_speedup))


def _emulated(tried: Tried, outcome: Outcome) -> float | None:
    """Return the speedup of a level by its run; None if it was not run."""
    before, version = outcome.original.cycles, tried.version
    return before / version.cycles if before and version is not None and version.cycles else None


def _speedup(one: LevelSpeedup) -> float:
    return one.speedup
