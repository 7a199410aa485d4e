"""This module has the parts that allocators by graph colouring share. Values that do not fit get slots by a priority,
then local memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.known import ResultStore


@dataclass(frozen=True)
class Heuristic:
    """A heuristic allocator colours, and spills by estimated cost."""

    name: str
    summary: str
    slots: bool  #: values may get slots in shared memory
    priority: str  #: decides which values get slots (`models.allocation.stack.slots`)

    def allocate(self, problem: Problem) -> Plan:
        return self.plan(self.attempt(problem), problem)

    def is_feasible(self, problem: Problem) -> bool:
        """Say whether the problem can be solved. This does not depend on the way of spilling: values needed at once
        stay in any case."""
        from binalloc.transform.allocate.functions.registers import Infeasible
        from binalloc.transform.allocate.passing import allocate_passing

        try:
            allocate_passing(problem.program, problem.registers, 0, clock=problem.clock, far=problem.far)
        except Infeasible:
            return False
        return True

    def attempt(self, problem: Problem) -> Attempt:
        """Return the registers, and the spill code of values that do not fit."""
        return plain_attempt(problem if self.slots else replace(problem, slots=0))

    def plan(self, attempt: Attempt, problem: Problem) -> Plan:
        """Return the registers of `attempt`, and a place in memory for all that it spills."""
        from binalloc.transform.allocate.memory_values import plan_memory

        slots = problem.slots if attempt.pointer >= 0 else 0
        return Plan(attempt, plan_memory(attempt, problem.kernel, slots, self.priority, layout=problem.layout))


def plain_attempt(problem: Problem, known: ResultStore | None = None) -> Attempt:
    """Return an attempt with values spilled region by region. known: of other attempts at the problem."""
    from binalloc.transform.allocate.budgets import allocate_with_budgets

    return allocate_with_budgets(
        problem.program, problem.registers, problem.slots, problem.clock, known=known, far=problem.far
    )


def own_slots(problem: Problem) -> int:
    """Return the smaller of the budget and the budget of the vendor's compiler, if the machine is known."""
    from binalloc.models.machines.ptxas_slots import ptxas_slots

    if problem.machine is None:
        return problem.slots
    info = problem.program[problem.kernel].fn.info
    return min(problem.slots, ptxas_slots(problem.machine, info, problem.dynamic_shared))
