"""Allocator `cpsat`: where the heuristic spills, the values of each function are placed by CP-SAT.

With slots, and without (whose pointer takes a register): the cheapest of both and of what `best` finds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.best import BEST

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.registers import RegisterAllocation
    from binalloc.transform.allocate.solver import SolverReport


class Cpsat:
    """As `best`, each function placed by CP-SAT, which the heuristic's placement starts."""

    name = "cpsat"
    summary = "as best, each function placed by CP-SAT"

    def allocate(self, problem: Problem) -> Plan:
        from binalloc.transform.allocate.registers import Infeasible

        first = BEST.allocate(problem)
        if not first.cost.cost:
            return replace(first, bound=0.0)
        plans = []
        for pointer in (True, False) if problem.slots and problem.registers > 1 else (False,):
            with suppress(Infeasible):  # the pointer's register may be the one that is missing
                plans.append(_exact(problem, first.attempt, pointer=pointer))
        if not plans:
            return first
        cheapest = min(plans, key=lambda plan: plan.cost.cost)
        if first.cost.cost < cheapest.cost.cost:
            cheapest = replace(first, solver=_unused(first.attempt, plans, problem.slots))
        return replace(cheapest, bound=_bound(plans))


def _exact(problem: Problem, like: Attempt, *, pointer: bool) -> Plan:
    """like: an attempt for the same kernel."""
    from binalloc.transform.allocate.attempt import colour_functions
    from binalloc.transform.allocate.cost import emitted_cost
    from binalloc.transform.allocate.solver import improve

    reports: list[SolverReport] = []

    def place(attempt: Attempt, name: str, found: RegisterAllocation) -> RegisterAllocation:
        prices = attempt.prices
        if not emitted_cost(found.code, prices):
            return found
        better, report = improve(
            found, attempt.registers_of(name), attempt.contracts, prices, problem.solver_limit, slots
        )
        reports.append(report)
        return better

    left = problem.registers - pointer
    slots = problem.slots if pointer else 0
    available = problem.program.isa.limits.allocatable(left)
    pointed = left if pointer else -1
    attempt = replace(
        like, available=available, pointer=pointed, slots=slots, contracts={}, allocations={}, scratch={}
    )
    colour_functions(attempt, improve=place)
    return replace(BEST.plan(attempt, problem), solver=reports)


def _unused(attempt: Attempt, plans: list[Plan], slots: int) -> list[SolverReport]:
    """What the solver said, where `attempt` is taken, which it had no part in."""
    from binalloc.transform.allocate.procedure import cost_alone

    said = next((plan for plan in plans if (plan.attempt.pointer < 0) == (attempt.pointer < 0)), plans[0])
    slots = slots if attempt.pointer >= 0 else 0
    reports = []
    for report in said.solver:
        name = report.function
        value = cost_alone(attempt.allocations[name], slots, attempt.prices)
        reports.append(replace(report, value=value, bound=min(report.bound, value), used=False))
    return reports


def _bound(plans: list[Plan]) -> float | None:
    """What no plan costs less than: the least bound of all. None where a solver's limit was hit, and for kernels with
    calls, as what a caller spills follows from the registers of its callees."""
    if any(len(plan.attempt.program.functions) > 1 for plan in plans):
        return None
    if any(report.status != "optimal" for plan in plans for report in plan.solver):
        return None
    return min(sum(report.bound for report in plan.solver) for plan in plans)
