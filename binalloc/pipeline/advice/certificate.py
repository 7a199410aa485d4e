"""What a version's spill code costs, and what no allocation of the same registers and slots costs less than.

Costs are those that allocators price spill code by (`transform.allocate.spill_cost`): accesses to a slot, per run of
the kernel, by loops and calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.pipeline import Outcome
from binalloc.pipeline.steps.build import build_unproven
from binalloc.pipeline.steps.version import Version
from binalloc.transform.allocators.allocator import CPSAT


@dataclass(frozen=True)
class Certificate:
    """achieved: what the spill code costs. bound: no allocation of the budget costs less; None where that is not known.
    by: what says so, "" where nothing does."""

    achieved: float
    bound: float | None
    by: str

    @property
    def gap(self) -> float | None:
        """The share of what is achieved that a better allocation may save; None where there is no bound."""
        if self.bound is None:
            return None
        return (self.achieved - self.bound) / self.achieved if self.achieved else 0.0


def certificate(module: Module, outcome: Outcome, solve: bool) -> Certificate | None:
    """Of what was chosen; None where no allocator made that. solve: where nothing else gives a bound, the exact
    allocator is asked for one, for as long as the request lets it."""
    chosen = outcome.rewritten
    if chosen.cost is None:
        return None
    achieved = chosen.cost.cost
    if not achieved:
        return Certificate(achieved, 0.0, "nothing is spilled")
    if chosen.bound is not None:
        return Certificate(achieved, chosen.bound, outcome.request.allocator)
    bound = _solved(module, outcome, chosen) if solve else None
    return Certificate(achieved, bound, "" if bound is None else CPSAT)


def _solved(module: Module, outcome: Outcome, chosen: Version) -> float | None:
    request = outcome.request
    request.progress(f"{request.kernel}: {CPSAT} looks for a bound")
    budget = next(t.budget for t in outcome.tried if t.version is not None and t.version.module is chosen.module)
    try:
        return build_unproven(module, request, budget.registers, budget.slots, CPSAT).bound
    except Refused:
        return None
