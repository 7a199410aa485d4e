"""Allocator `best`: values leave region by region, slots go by what local memory would cost, moves are avoided.

Where others' ways are cheaper, they are taken: no slots at all, whose pointer takes a register; in a function, whole
values in memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.heuristic import Heuristic

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt, Spill
    from binalloc.transform.allocate.known import Known


class Best(Heuristic):
    """The cheapest of what it tries."""

    def attempt(self, problem: Problem, below: float = inf, known: Known | None = None) -> Attempt:
        """As others do. below: what costs as much is of no use, but where there is nothing else. known: of other
        attempts at the problem."""
        from binalloc.transform.allocate.attempt import by_regions
        from binalloc.transform.allocate.budgets import allocate_with_budgets
        from binalloc.transform.allocate.cheaper import by_regions_or_whole
        from binalloc.transform.allocate.known import Known

        known = known or Known()

        def searched(slots: int, spill: Spill, below: float) -> Attempt:
            return allocate_with_budgets(
                problem.program, problem.registers, slots, problem.clock, spill, below, known, for_pointer=True,
                far=problem.far,
            )  # fmt: skip

        found = searched(problem.slots, by_regions_or_whole, below)
        if found.pointer >= 0 or not found.cost or len(problem.program.functions) == 1:
            return found
        # what is cheapest for a callee alone may be dearer for its callers: the baseline's search, to its end
        plain = searched(0, by_regions, inf)
        return plain if plain.cost < found.cost else found

    def allocate(self, problem: Problem) -> Plan:
        from binalloc.transform.allocate.known import Known

        known = Known()
        found = self.plan(self.attempt(problem, known=known), problem)
        if found.attempt.pointer < 0 or not found.cost.cost:
            return found
        other = self._without_slots(problem, found, known)
        return other if other is not None and other.cost.cost < found.cost.cost else found

    def _without_slots(self, problem: Problem, found: Plan, known: Known) -> Plan | None:
        """found: a plan with them, which it has to cost less than."""
        from binalloc.transform.allocate.cheaper import without_slots

        without, below = replace(problem, slots=0), found.cost.cost
        if len(problem.program.functions) > 1:
            return self.plan(self.attempt(without, below, known), without)
        attempt = without_slots(found.attempt, below)
        return self.plan(attempt, without) if attempt is not None else None


BEST = Best("best", "slots by loop-weighted cost, moves only where slots are short", True, "cost")
