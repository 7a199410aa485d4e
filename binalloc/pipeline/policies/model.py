"""The number of blocks by a model of ours: every feasible level, judged by its code, nothing is run.

A level's warps go through its code together, queueing for issue slots, execution units and memory
(`pipeline.estimate`); the level that gets through most warps is taken where that is so much more than the original that
the model is not mistaken about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import Levels, the_same
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.estimate.estimate import Estimates
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried, Version

GAIN = 1.025
"""What a level has to be expected to gain."""
UNSURE = 1.08
"""The same where how often code runs, or where it accesses memory, hangs on data."""

ABOUT = 1.05
"""How many times as fast a rewrite may be as the original's own code at the same number of blocks, by its order."""


class Model:
    """Levels from the original's up, each program once. Without a launch only those from which more blocks would gain
    something if nothing were spilled."""

    name = "model"
    summary = "every feasible number of blocks by a model of the SM; nothing is run"
    measures = False

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The version that gets through most warps a cycle (`most_promising`). Where the original was not run, the
        model judges its orders, too."""
        from binalloc.pipeline.estimate.estimate import estimates_of
        from binalloc.pipeline.steps.proof import prove

        estimates = estimates_of(module, request)
        base = original.base
        if base.cycles is None:
            base = better_order(module, request, estimates, original.given)
        levels = Levels(module, request, base)
        least = least_gain(estimates)
        judged = list(expectations(levels, levels.upwards, estimates, 0.0 if estimates.launched else least))
        best, gain = _taken(module, request, judged, least)
        tried = [found for found, _ in judged]
        if best is None:
            none = "by more than the model may be mistaken no level is expected to beat the original"
            try:
                return Choice(tried, None, none, prove(module, request, base))
            except Refused:
                return Choice(tried, None, none)
        blocks = count(best.blocks_per_sm, "block")
        reason = f"{blocks} expected to take {1 / gain:.1%} of the original's time, by the model"
        return Choice(tried, best, reason, base)


def _taken(
    module: Module, request: Request, judged: list[tuple[Tried, float]], least: float
) -> tuple[Version | None, float]:
    """The most promising version that can be proven, and what it is expected to gain; None where none gains more than
    so much. Those that cannot are marked so."""
    from binalloc.pipeline.steps.proof import prove
    from binalloc.pipeline.steps.version import Tried

    while max((expected for _, expected in judged), default=0.0) > least:
        found, expected = one = most_promising(judged)
        assert found.version is not None
        try:
            return prove(module, request, found.version), expected
        except Refused as e:
            judged[next(k for k, other in enumerate(judged) if other is one)] = Tried(found.budget, None, str(e)), 0.0
    return None, 0.0


def most_promising(judged: Sequence[tuple[Tried, float]]) -> tuple[Tried, float]:
    """The level of which most is expected; of those that the model cannot tell apart the one with least in local
    memory, whose cost hangs on caches, and then the one of the most blocks, which hide what the model does not know."""

    def rank(one: tuple[Tried, float]) -> tuple[int, int]:
        version = one[0].version
        assert version is not None
        return version.local_bytes, -version.blocks_per_sm

    most = max(expected for _, expected in judged)
    return min((one for one in judged if one[1] and one[1] * GAIN >= most), key=rank)


def least_gain(estimates: Estimates) -> float:
    """How many times as fast as the original a version has to be expected to be."""
    return GAIN if estimates.sure else UNSURE


def better_order(module: Module, request: Request, estimates: Estimates, given: Version) -> Version:
    """The input, or its other order, if the model expects it to gain."""
    from binalloc.pipeline.original import ordered_version

    ordered = ordered_version(module, request, given)
    if ordered is None:
        return given
    return ordered if estimates.rate(ordered) > least_gain(estimates) * estimates.rate(given) else given


def expectations(
    levels: Levels, budgets: Sequence[Budget], estimates: Estimates, least: float = 0.0
) -> Iterator[tuple[Tried, float]]:
    """The levels of these budgets, and how many times as fast as the original each should be; 0 where there is none,
    where it is the same program as one before, and where that could hardly be `least` were nothing spilled."""
    from binalloc.pipeline.steps.version import Tried

    tried: list[Tried] = []
    hopeless = _hopeless(levels, budgets, estimates, least)
    for budget in budgets:
        if budget in hopeless:
            yield Tried(budget, None, hopeless[budget]), 0.0
            continue
        before = estimates.rate(levels.original)
        try:
            version = levels.version(budget)
        except Refused as e:
            one = Tried(budget, None, str(e)), 0.0
        else:
            one = _expected(budget, version, tried, estimates, before)
        tried.append(one[0])
        yield one


def _hopeless(levels: Levels, budgets: Sequence[Budget], estimates: Estimates, least: float) -> dict[Budget, str]:
    """Budgets at which the original would not be so many times as fast if it had all registers it wants, and why
    nothing is allocated for them: a first look takes a tenth of the time then. None where it has values in local
    memory, which an allocation may save."""
    original = levels.original
    if not least or original.local_bytes or not budgets:
        return {}
    before = estimates.rate(original)
    ideal = ((budget, replace(original, blocks_per_sm=budget.blocks)) for budget in budgets)
    gains = ((budget, estimates.rate(version) / before) for budget, version in ideal if before)
    none = "x by the model if nothing were spilled: not built"
    return {budget: f"{gain:.3f}{none}" for budget, gain in gains if gain * ABOUT < least}


def _expected(
    budget: Budget, version: Version, tried: Sequence[Tried], estimates: Estimates, before: float
) -> tuple[Tried, float]:
    """before: the original's rate."""
    from binalloc.pipeline.steps.version import Tried

    again = the_same(version, tried)
    if again is not None:
        return Tried(budget, again.version, f"as {count(again.budget.blocks, 'block')}", again.expected), 0.0
    expected = estimates.rate(version) / before
    return Tried(budget, version, f"{expected:.3f}x by the model", expected), expected
