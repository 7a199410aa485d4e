"""What allocators by graph colouring share: what does not fit goes to slots by a priority, then to local memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt


@dataclass(frozen=True)
class Heuristic:
    """slots: whether values may go to shared-memory slots. priority: which ones do (`models.allocation.slots`)."""

    name: str
    summary: str
    slots: bool
    priority: str

    def allocate(self, problem: Problem) -> Plan:
        return self.plan(self.attempt(problem), problem)

    def attempt(self, problem: Problem) -> Attempt:
        """The registers, and the spill code of what does not fit."""
        from binalloc.transform.allocate.budgets import allocate_with_budgets

        slots = problem.slots if self.slots else 0
        return allocate_with_budgets(problem.program, problem.registers, slots, problem.clock, far=problem.far)

    def plan(self, attempt: Attempt, problem: Problem) -> Plan:
        """The registers of `attempt`, and a place in memory for what it spills."""
        from binalloc.transform.allocate.memory_values import plan_memory

        slots = problem.slots if attempt.pointer >= 0 else 0
        return Plan(attempt, plan_memory(attempt, problem.kernel, slots, self.priority, layout=problem.layout))
