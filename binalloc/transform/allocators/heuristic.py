"""What allocators by graph colouring share: what does not fit goes to slots by a priority, then to local memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.known import Known


@dataclass(frozen=True)
class Heuristic:
    """slots: whether values may go to shared-memory slots. priority: which ones do (`models.allocation.slots`)."""

    name: str
    summary: str
    slots: bool
    priority: str

    def allocate(self, problem: Problem) -> Plan:
        return self.plan(self.attempt(problem), problem)

    def is_feasible(self, problem: Problem) -> bool:
        """No way of spilling does with fewer registers than another: what has to be there at once stays."""
        from binalloc.transform.allocate.functions.registers import Infeasible
        from binalloc.transform.allocate.passing import allocate_passing

        try:
            allocate_passing(problem.program, problem.registers, 0, clock=problem.clock, far=problem.far)
        except Infeasible:
            return False
        return True

    def attempt(self, problem: Problem) -> Attempt:
        """The registers, and the spill code of what does not fit."""
        return plain_attempt(problem if self.slots else replace(problem, slots=0))

    def plan(self, attempt: Attempt, problem: Problem) -> Plan:
        """The registers of `attempt`, and a place in memory for what it spills."""
        from binalloc.transform.allocate.memory_values import plan_memory

        slots = problem.slots if attempt.pointer >= 0 else 0
        return Plan(attempt, plan_memory(attempt, problem.kernel, slots, self.priority, layout=problem.layout))


def plain_attempt(problem: Problem, known: Known | None = None) -> Attempt:
    """Values leave the registers region by region. known: of other attempts at the problem."""
    from binalloc.transform.allocate.budgets import allocate_with_budgets

    return allocate_with_budgets(
        problem.program, problem.registers, problem.slots, problem.clock, known=known, far=problem.far
    )


def own_slots(problem: Problem) -> int:
    """The smaller of the budget asked for and the vendor's compiler's own, where it is known what for."""
    from binalloc.models.machines.ptxas_slots import ptxas_slots

    if problem.machine is None:
        return problem.slots
    info = problem.program[problem.kernel].fn.info
    return min(problem.slots, ptxas_slots(problem.machine, info, problem.dynamic_shared))
