"""The levels that policies look at one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Tried, Version


def worth_a_look(module: Module, request: Request, original: Version) -> list[Budget]:
    """Below the original's level there is nothing to gain, and at it only where the original has values in local memory
    that registers or slots could take: levels from there up, ascending."""
    from binalloc.models.machines.budget import levels
    from binalloc.pipeline.steps import kernel_use

    every = levels(request.machine, kernel_use(module.function(request.kernel), request.launch))
    lowest = original.blocks_per_sm + (original.local_bytes == 0)
    return [b for b in every if b.blocks >= lowest]


def own_level(ordered: Version) -> Tried:
    """The original's own number of blocks, where `ordered` is the original in another order."""
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.steps import Tried

    return Tried(Budget(ordered.blocks_per_sm, ordered.registers, 0), ordered, "the original in another order")


def tried_before(budget: Budget, tried: list[Tried]) -> Tried | None:
    """Another number of blocks with the same registers and slots is the same program."""
    from binalloc.pipeline.steps import Tried

    for t in tried:
        if (t.budget.registers, t.budget.slots) == (budget.registers, budget.slots):
            return Tried(budget, t.version, t.reason or f"as {count(t.budget.blocks, 'block')}", t.expected)
    return None


def run_level(version: Version, request: Request, original: Version) -> Version:
    """The version with its run. Refused where that leaves other results than the original's."""
    from binalloc.pipeline.steps import measure, same_results

    ran = measure(version, request)
    if same_results(request, original, ran) is False:
        blocks = count(version.blocks_per_sm, "block")
        raise Refused(f"{request.kernel}: results differ at {blocks}", remedy="Nothing was written.")
    return ran


def cycles_of(version: Version) -> int:
    """Of a version that was run."""
    assert version.cycles is not None
    return version.cycles
