"""The number of blocks by the emulator, which is asked about few levels: those that the model expects most of.

A run costs what many judgements of the model do. So every level is judged (`model.expectations`), one of three is run,
the most promising first, those below the original's level only if they are expected to be faster than it; and what
turned out fastest is taken: never anything slower than the original. Of what then spills, the unified paper's allocator
has its turn at the same level, as `local` has (`pipeline`), where that makes no more than one of three of
`exhaustive`'s programs.
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
"""Of so many levels one is run."""
NOISE = 1 + LIMIT
"""What is not so many times as fast as the original is not told from it: cycles shift as much by resonance."""
OTHERS = 2
"""Programs of other allocators at the level that is taken."""


class Measured:
    """Levels above the original's and below it, each program once."""

    name = "measured"
    summary = "one of three levels in the emulator, those that the model expects most of; the fastest kept"
    measures = True

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The fastest of those run, if it is faster than the original by more than noise."""
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
    """Why no level was run."""
    if not levels:
        return "there is no level but the original's"
    return "there is no level above, and none below is expected to beat the original"


def _programs(tried: Sequence[Tried], request: Request) -> int:
    """How many `exhaustive` would run, at least: where nothing is spilled allocators agree."""
    versions = {id(t.version.module): t.version for t in tried if t.version is not None}
    many = len(allocators(request))
    return sum(many if v.slots or v.local_bytes else 1 for v in versions.values())


def _by_others(levels: Levels, budget: Budget) -> list[Tried]:
    """What allocators but the request's own make of the level, run; `local` has its turn where the factors of the
    speedup are found. Nothing where its own has spilled nothing."""
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
    """The levels of which something is expected, the most promising first."""
    from binalloc.pipeline.policies.model import most_promising

    left = [k for k, (_, expected) in enumerate(judged) if expected]
    order = []
    while left:
        taken = most_promising([judged[k] for k in left])
        order.append(next(k for k in left if judged[k] is taken))
        left.remove(order[-1])
    return order
