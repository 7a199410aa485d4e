"""This policy chooses the number of blocks by a model of ours, from the code of every feasible level. Nothing is run.

The warps of a level go through its code together, and queue for issue slots, execution units and memory
(`pipeline.estimate`). The level that completes most warps per cycle is taken, if its gain over the original is larger
than the model's likely error (docs/model.md).
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
"""Expected speedup from which on a level is taken; levels closer than this count as equal. Chosen with the samples in
view (docs/model.md)."""
UNSURE = 1.08
"""The same threshold for kernels whose executions or addresses depend on data. Chosen with the samples in view."""

ABOUT = 1.05
"""Gain by a better order of instructions that is granted to a level before it is built, over the original's own code at
as many blocks. A smaller one leaves out more levels unbuilt. Chosen by hand."""


class Model:
    """This policy estimates the levels from the original's up, each program once.

    Without a launch it builds only levels whose number of blocks would gain something if nothing were spilled.
    """

    name = "model"
    summary = "every feasible number of blocks by a model of the SM; nothing is run"
    measures = False

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the version that completes most warps per cycle (`most_promising`).

        If the original was not run, the model chooses between its orders, too.
        """
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
    """Return the most promising version that can be proven, and its expected speedup.

    Versions that cannot be proven are marked in `judged`. The result is (None, 0.0) if none is expected to be more than
    `least` times as fast as the original.
    """
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
    """Return the level with the largest expected speedup.

    Levels within `GAIN` of it count as equal. Among these the one with least local memory is taken, since the cost of
    local memory depends on caches; then the one with the most blocks, since more warps hide unknown latencies.
    """

    def rank(one: tuple[Tried, float]) -> tuple[int, int]:
        version = one[0].version
        assert version is not None
        return version.local_bytes, -version.blocks_per_sm

    most = max(expected for _, expected in judged)
    return min((one for one in judged if one[1] and one[1] * GAIN >= most), key=rank)


def least_gain(estimates: Estimates) -> float:
    """Return the expected speedup from which on a version is taken."""
    return GAIN if estimates.sure else UNSURE


def better_order(module: Module, request: Request, estimates: Estimates, given: Version) -> Version:
    """Return the input in another order if the model expects this to gain enough, else the input as it is."""
    from binalloc.pipeline.original import ordered_version

    ordered = ordered_version(module, request, given)
    if ordered is None:
        return given
    return ordered if estimates.rate(ordered) > least_gain(estimates) * estimates.rate(given) else given


def expectations(
    levels: Levels, budgets: Sequence[Budget], estimates: Estimates, least: float = 0.0
) -> Iterator[tuple[Tried, float]]:
    """Yield the level of each budget, and its expected speedup over the original.

    The speedup is 0 if the budget is infeasible, if its program is the same as one before, and if it could hardly be
    `least` even with nothing spilled (such a level is not built).
    """
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
    """Return the budgets that need not be built, each with the reason in words.

    At these the original would not be `least` times as fast even with all the registers it wants. A first look takes a
    tenth of the time so. There are none if the original has values in local memory, which an allocation may save.
    """
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
    """Return the level of a version with its expected speedup, 0 if the same program was tried before.

    tried: levels before. before: the original's rate.
    """
    from binalloc.pipeline.steps.version import Tried

    again = the_same(version, tried)
    if again is not None:
        return Tried(budget, again.version, f"as {count(again.budget.blocks, 'block')}", again.expected), 0.0
    expected = estimates.rate(version) / before
    return Tried(budget, version, f"{expected:.3f}x by the model", expected), expected
