"""Every number of blocks measured in the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import cycles_of, run_level, tried_before, worth_a_look
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Tried, Version


class Exhaustive:
    """Of the levels that are worth a look (`levels.worth_a_look`) each is run."""

    name = "exhaustive"
    summary = "every feasible number of blocks in the emulator, the fastest kept"
    measures = True

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The version of the fewest cycles, if they are fewer than the original's."""
        tried: list[Tried] = []
        base = original.base
        for budget in worth_a_look(module, request, base):
            request.progress(
                f"{request.kernel}: {count(budget.blocks, 'block')}, {count(budget.registers, 'register')}, "
                f"{count(budget.slots, 'slot')}"
            )
            tried.append(tried_before(budget, tried) or _build(module, request, budget, base))
        measured = [t.version for t in tried if t.version is not None]
        best = min(measured, key=cycles_of, default=None)
        if best is None or cycles_of(best) >= cycles_of(base):
            none = "no level beats the original" if tried else "there is no level above the original"
            return Choice(tried, None, none)
        distinct = len({(t.budget.registers, t.budget.slots) for t in tried})
        reason = f"fewest cycles of {distinct} level{'s' * (distinct > 1)} above the original's"
        return Choice(tried, best, reason)


def _build(module: Module, request: Request, budget: Budget, original: Version) -> Tried:
    from binalloc.pipeline.steps import Tried, build_version

    try:
        version = build_version(module, request, budget.registers, budget.slots)
    except Refused as e:
        return Tried(budget, None, str(e))
    return Tried(budget, run_level(version, request, original))
