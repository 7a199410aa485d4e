"""What the levels that a policy looked at come to, from the worst to the best, and where among them its choice is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from binalloc.pipeline.pipeline import Outcome
from binalloc.pipeline.steps.version import Tried


class Reached(NamedTuple):
    """A speedup over the original, and the resident blocks that have it."""

    speedup: float
    blocks: int


@dataclass(frozen=True)
class Spread:
    """auto: what was chosen. best, worst: of the original and all levels known in the same way. emulated: by their
    runs; otherwise by policy `model`'s estimate."""

    emulated: bool
    auto: Reached
    best: Reached
    worst: Reached


def spread(outcome: Outcome) -> Spread | None:
    """None where there is no level whose run or estimate is known."""
    original = Reached(1.0, outcome.original.blocks_per_sm)
    emulated = any(_emulated(t, outcome) for t in outcome.tried)
    by_module: dict[int, Reached] = {}
    for t in outcome.tried:
        gain = _emulated(t, outcome) if emulated else t.expected
        if gain is not None and t.version is not None:
            by_module[id(t.version.module)] = Reached(gain, t.version.blocks_per_sm)
    if not by_module:
        return None
    every = [original, *by_module.values()]
    auto = by_module.get(id(outcome.rewritten.module), original)
    return Spread(emulated, auto, max(every, key=_speedup), min(every, key=_speedup))


def _emulated(tried: Tried, outcome: Outcome) -> float | None:
    """The speedup of a level that was run."""
    before, version = outcome.original.cycles, tried.version
    return before / version.cycles if before and version is not None and version.cycles else None


def _speedup(one: Reached) -> float:
    return one.speedup
