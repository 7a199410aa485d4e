"""The number of blocks by the emulator, which is asked about few levels: those that the model expects most of.

A run costs what many judgements of the model do. So every level is judged (`model.expectations`), one of three is run,
the most promising first, and what turned out fastest is taken: never anything slower than the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import Levels, cycles_of, run_level
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Tried

SHARE = 3
"""Of so many levels one is run."""


class Measured:
    """Levels above the original's and below it, each program once."""

    name = "measured"
    summary = "one of three levels in the emulator, those that the model expects most of; the fastest kept"
    measures = True

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The fastest of those run, if it is faster than the original."""
        from binalloc.pipeline.estimate.estimate import estimates_of
        from binalloc.pipeline.policies.model import expectations
        from binalloc.pipeline.steps import Tried, prove

        base = original.base
        levels = Levels(module, request, base)
        judged = list(expectations(levels, levels.all_others, estimates_of(module, request)))
        tried = [found for found, _ in judged]
        promising = _in_order(judged)
        chosen = promising[: max(1, len(promising) // SHARE)]
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
        those = f"{count(len(chosen), 'level')} run, of which the model expects most"
        if best is base:
            none = f"of {those}, none beats the original" if chosen else "there is no level but the original's"
            return Choice(tried, None, none)
        return Choice(tried, best, f"fewest cycles of {those}")


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
