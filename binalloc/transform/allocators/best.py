"""Allocator `best`: values leave region by region, slots go by what local memory would cost, moves are avoided.

Where others' ways are cheaper, they are taken: no slots at all, whose pointer takes a register; what `ptxas-smem` does;
in a function, whole values in memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.heuristic import Heuristic, own_slots, plain_attempt

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.known import Known


FEW = 2
"""Slots that are expected, for a trial, of whatever number there is: what leaves the registers hangs on it."""


class Best(Heuristic):
    """The cheapest of what it tries."""

    def attempt(self, problem: Problem, below: float = inf, known: Known | None = None) -> Attempt:
        """As others do. below: what costs as much is of no use, but where there is nothing else. known: of other
        attempts at the problem."""
        from binalloc.transform.allocate.budgets import allocate_with_budgets
        from binalloc.transform.allocate.cheaper import by_regions_or_whole
        from binalloc.transform.allocate.known import Known

        known = known or Known()
        found = allocate_with_budgets(
            problem.program, problem.registers, problem.slots, problem.clock, by_regions_or_whole, below, known,
            for_pointer=True, far=problem.far,
        )  # fmt: skip
        if found.pointer >= 0 or not found.cost or len(problem.program.functions) == 1:
            return found
        # what is cheapest for a callee alone may be dearer for its callers: the baseline's search, to its end
        plain = plain_attempt(replace(problem, slots=0), known)
        return plain if plain.cost < found.cost else found

    def allocate(self, problem: Problem) -> Plan:
        from binalloc.transform.allocate.known import Known

        known = Known()
        found = self.plan(self.attempt(problem, known=known), problem)
        if found.attempt.pointer < 0 or not found.cost.cost:
            return found
        plans = [found]
        if found.cost.local:
            expected = {own_slots(problem), *([FEW] if len(problem.program.functions) == 1 else [])} - {0}
            plans += [
                self.plan(plain_attempt(replace(problem, slots=count), known), problem) for count in sorted(expected)
            ]
        below = min(plan.cost.cost for plan in plans)
        plans.append(self._without_slots(problem, found, below, known) or found)
        return min(plans, key=_by_cost)

    def _without_slots(self, problem: Problem, found: Plan, below: float, known: Known) -> Plan | None:
        """found: a plan with them. below: what costs as much is of no use."""
        from binalloc.transform.allocate.cheaper import without_slots

        without = replace(problem, slots=0)
        if len(problem.program.functions) > 1:
            return self.plan(self.attempt(without, below, known), without)
        attempt = without_slots(found.attempt, below)
        return self.plan(attempt, without) if attempt is not None else None


def _by_cost(plan: Plan) -> float:
    return plan.cost.cost


BEST = Best("best", "slots by loop-weighted cost, moves only where slots are short", True, "cost")
