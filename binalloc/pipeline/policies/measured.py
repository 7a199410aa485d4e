"""This policy chooses the number of blocks by emulated runs of a few levels: those that the model expects most of.

A run costs as much time as many estimates of the model. So the model estimates every level (`model.expectations`), and
one level of three is run, the most promising first. Levels below the original's are run only if they are expected to be
faster than it. The fastest version is taken, but never one that is slower than the original.

If this version spills, the other allocators of the unified paper's comparison are tried at its level, too (`local` in
`pipeline`), as long as no more than a third of `exhaustive`'s programs are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.emulator.host.figures.skew import LIMIT
from binalloc.errors import Refused
from binalloc.pipeline.policies.exhaustive import allocators
from binalloc.pipeline.policies.levels import Levels, cycles_of, run_level
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count
from binalloc.transform.allocators.table import BASELINE

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried

SHARE = 3
"""One level of this number of levels is run. A smaller number costs more runs, a larger one misses more of the best
levels; chosen by hand."""
NOISE = 1 + LIMIT
"""Speedup from which on a version is taken: cycles shift as much by resonance alone (`LIMIT`)."""
OTHERS = 2
"""Programs that other allocators make at the level taken: two of the three of `OF_EVERY_LEVEL`."""


class MeasuredPolicy:
    """This policy looks at levels above and below the original's, and runs each program once."""

    name = "measured"
    summary = "one of three levels in the emulator, those that the model expects most of; the fastest kept"
    measures = True

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the fastest version that was run, if it is faster than the original by more than noise."""
        from binalloc.pipeline.estimate.estimate import estimates_of
        from binalloc.pipeline.policies.model import expectations
        from binalloc.pipeline.steps.proof import prove
        from binalloc.pipeline.steps.version import Tried

        base = original.base
        levels = Levels(module, request, base)
        judged = list(expectations(levels, levels.all_others, estimates_of(module, request)))
        tried = [found for found, _ in judged]
        every = _in_order(judged)
        promising = [k for k in every if judged[k][1] > 1 or not levels.is_below(tried[k].budget)]
        chosen = promising[: max(1, len(every) // SHARE)]
        best = base
        for k in chosen:
            version, budget = tried[k].version, tried[k].budget
            assert version is not None
            request.progress(f"{request.kernel}: {count(budget.blocks, 'block')}")
            try:
                version = prove(module, request, version)
            except Refused as e:
                tried[k] = Tried(budget, None, str(e))
                continue
            ran = run_level(version, request, base)
            tried[k] = replace(tried[k], version=ran)
            best = min(best, ran, key=cycles_of)
        if best is not base and len(chosen) + OTHERS <= _programs(tried, request) // SHARE:
            tried += _by_others(levels, next(t.budget for t in tried if t.version is best))
            best = min((t.version for t in tried if t.version is not None and t.version.cycles), key=cycles_of)
        those = f"{count(len(chosen), 'level')} run, of which the model expects most"
        if cycles_of(base) < cycles_of(best) * NOISE:
            faster = "none beats" if best is base else f"none is more than {NOISE - 1:.0%} faster than"
            return Choice(tried, None, f"of {those}, {faster} the original" if chosen else _nothing_to_run(every))
        return Choice(tried, best, f"fewest cycles of {those}")


def _nothing_to_run(levels: Sequence[int]) -> str:
    """Return why no level was run. levels: indices of the levels with an expected speedup."""
    if not levels:
        return "there is no level but the original's"
    return "there is no level above, and none below is expected to beat the original"


def _programs(tried: Sequence[Tried], request: Request) -> int:
    """Return how many programs `exhaustive` would run at least. Without spills all allocators make the same program."""
    versions = {id(t.version.module): t.version for t in tried if t.version is not None}
    many = len(allocators(request))
    return sum(many if v.slots or v.local_bytes else 1 for v in versions.values())


def _by_others(levels: Levels, budget: Budget) -> list[Tried]:
    """Build and run the programs of the other allocators at a level; none if the request's own spills nothing there.

    `local` is left out: it runs when the factors of the speedup are found.
    """
    from binalloc.pipeline.steps.proof import prove
    from binalloc.pipeline.steps.version import Tried

    request, own = levels.request, levels.version(budget)
    found: list[Tried] = []
    for name in allocators(request) if own.slots or own.local_bytes else ():
        if name in (request.allocator, BASELINE):
            continue
        request.progress(f"{request.kernel}: {count(budget.blocks, 'block')}, by {name}")
        try:
            version = prove(levels.module, request, levels.version(budget, name))
        except Refused as e:
            found.append(Tried(budget, None, str(e)))
        else:
            found.append(Tried(budget, run_level(version, request, levels.original)))
    return found


def _in_order(judged: Sequence[tuple[Tried, float]]) -> list[int]:
    """Return the indices of the levels with an expected speedup, the most promising first."""
    from binalloc.pipeline.policies.model import most_promising

    left = [k for k, (_, expected) in enumerate(judged) if expected]
    order = []
    while left:
        taken = most_promising([judged[k] for k in left])
        order.append(next(k for k in left if judged[k] is taken))
        left.remove(order[-1])
    return order
