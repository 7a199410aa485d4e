"""A certificate compares the cost of a version's spill code with a lower bound for the same registers and slots.

Allocators price spill code by the same costs (`transform.allocate.spill_cost`): accesses to a slot per run of the
kernel, by loops and calls.
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
    """A certificate is the cost of spill code beside its lower bound."""

    achieved: float  #: cost of the spill code
    bound: float | None  #: lower bound on the cost for the same budget; None if none is known
    by: str  #: the allocator or the reason that gives the bound; "" if there is none

    @property
    def gap(self) -> float | None:
        """Return the share of the cost that a better allocation may save; None if there is no bound."""
        if self.bound is None:
            return None
        return (self.achieved - self.bound) / self.achieved if self.achieved else 0.0


def certificate(module: Module, outcome: Outcome, solve: bool) -> Certificate | None:
    """Return the certificate of the version chosen; None if no allocator made it.

    solve: whether the exact allocator may look for a bound if there is no other, for as long as the request allows. It
    looks for none if blocks use shared memory in turns, or share it two by two, since the code is another.
    """
    chosen = outcome.rewritten
    if chosen.cost is None:
        return None
    achieved = chosen.cost.cost
    if not achieved:
        return Certificate(achieved, 0.0, "nothing is spilled")
    if chosen.bound is not None:
        return Certificate(achieved, chosen.bound, outcome.request.allocator)
    other = outcome.multiplexed or outcome.paired is not None
    bound = _solved(module, outcome, chosen) if solve and not other else None
    return Certificate(achieved, bound, "" if bound is None else CPSAT)


def _solved(module: Module, outcome: Outcome, chosen: Version) -> float | None:
    """Return the bound that the exact allocator proves for the budget of the version chosen; None if it finds none."""
    request = outcome.request
    request.progress(f"{request.kernel}: {CPSAT} looks for a bound")
    budget = next(t.budget for t in outcome.tried if t.version is not None and t.version.module is chosen.module)
    try:
        return build_unproven(module, request, budget.registers, budget.slots, CPSAT).bound
    except Refused:
        return None
