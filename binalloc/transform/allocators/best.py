"""This module has allocator `best`, which spills region by region, gives slots by the cost of local memory, and avoids
moves.

Other ways are taken where they are cheaper: no slots at all, since their pointer takes a register; the slots of
`ptxas-smem`; in a function, whole values in memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.heuristic import Heuristic, own_slots, plain_attempt

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.known import ResultStore


FEW = 2
"""Slots that one trial expects, whatever number there is, because the expected number changes the choice of spilled
regions. Chosen by hand."""


class Best(Heuristic):
    """Allocator `best` takes the cheapest of all plans that it tries."""

    def attempt(self, problem: Problem, below: float = inf, known: ResultStore | None = None) -> Attempt:
        """Return the cheapest attempt found. below: upper bound of the cost (exclusive); if nothing costs less, it does
        not apply. known: of other attempts at the problem."""
        from binalloc.transform.allocate.budgets import allocate_with_budgets
        from binalloc.transform.allocate.cheaper import by_regions_or_whole
        from binalloc.transform.allocate.known import ResultStore

        known = known or ResultStore()
        found = allocate_with_budgets(
            problem.program, problem.registers, problem.slots, problem.clock, by_regions_or_whole, below, known,
            for_pointer=True, far=problem.far,
        )  # fmt: skip
        if found.pointer >= 0 or not found.cost or len(problem.program.functions) == 1:
            return found
        # the cheapest code for a callee may be dearer for its callers, so the baseline's search is done, too
        plain = plain_attempt(replace(problem, slots=0), known)
        return plain if plain.cost < found.cost else found

    def allocate(self, problem: Problem) -> Plan:
        from binalloc.transform.allocate.known import ResultStore

        known = ResultStore()
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

    def _without_slots(self, problem: Problem, found: Plan, below: float, known: ResultStore) -> Plan | None:
        """Return the cheapest plan without slots. found: a plan with slots. below: upper bound of the cost
        (exclusive)."""
        from binalloc.transform.allocate.cheaper import without_slots

        without = replace(problem, slots=0)
        if len(problem.program.functions) > 1:
            return self.plan(self.attempt(without, below, known), without)
        attempt = without_slots(found.attempt, below)
        return self.plan(attempt, without) if attempt is not None else None


def _by_cost(plan: Plan) -> float:
    return plan.cost.cost


BEST = Best("best", "slots by loop-weighted cost, moves only where slots are short", True, "cost")
