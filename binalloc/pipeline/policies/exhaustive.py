"""This policy measures every number of blocks in the emulator, by each allocator of the unified paper's comparison and
by ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import Levels, cycles_of, run_level, the_same
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried

LEAST = 1.001
"""Speedup from which on a version is taken; less is not worth another binary (docs/policies.md). Chosen by hand."""


class Exhaustive:
    """This policy runs every level. All runs are kept as tried, so that there are a best and a worst.

    Of versions with equal cycles, the one with the fewest blocks is taken.
    """

    name = "exhaustive"
    summary = "every feasible number of blocks, by best, local and unified, in the emulator; the fastest kept"
    measures = True

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the version with the fewest cycles, if they are fewer than the original's."""
        base = original.base
        levels = Levels(module, request, base)
        tried: list[Tried] = []
        for budget in levels.all_others:
            tried += _at(levels, budget, allocators(request), tried)
        measured = [t.version for t in tried if t.version is not None]
        best = min(measured, key=cycles_of, default=None)
        if best is None or cycles_of(best) * LEAST > cycles_of(base):
            none = "no level beats the original" if tried else "there is no level but the original's"
            return Choice(tried, None, none)
        programs = len({id(version.module) for version in measured})
        return Choice(tried, best, f"fewest cycles of {count(programs, 'program')} at all levels")


def allocators(request: Request) -> Sequence[str]:
    """Return the allocators of the unified paper's comparison and ours, or the one that the request asks for."""
    from binalloc.transform.allocators.table import DEFAULT, OF_EVERY_LEVEL

    return OF_EVERY_LEVEL if request.allocator == DEFAULT else (request.allocator,)


def _at(levels: Levels, budget: Budget, names: Sequence[str], tried: Sequence[Tried]) -> list[Tried]:
    """Build and run the level's programs, each once.

    names: of allocators. tried: levels tried before; a program that is among them keeps the run that it had there.
    """
    from binalloc.pipeline.steps.proof import prove
    from binalloc.pipeline.steps.version import Tried

    request = levels.request
    found: list[Tried] = []
    for name in names:
        request.progress(
            f"{request.kernel}: {count(budget.blocks, 'block')}, {count(budget.registers, 'register')}, "
            f"{count(budget.slots, 'slot')}, by {name}"
        )
        try:
            version = levels.version(budget, name)
            if the_same(version, found) is not None:
                continue
            again = the_same(version, tried)
            if again is not None:
                found.append(Tried(budget, again.version, again.reason or f"as {count(again.budget.blocks, 'block')}"))
                continue
            version = prove(levels.module, request, version)
        except Refused as e:
            if not any(t.version is None and t.reason == str(e) for t in found):
                found.append(Tried(budget, None, str(e)))
            continue
        found.append(Tried(budget, run_level(version, request, levels.original)))
    return found
