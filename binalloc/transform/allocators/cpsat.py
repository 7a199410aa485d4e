"""This module has allocator `cpsat`: where the heuristic spills, CP-SAT places the values of each function.

It does so with slots, and without (their pointer takes a register), and takes the cheapest of both plans and the plan
of `best`. In kernels with calls, all functions are first solved at once. This finds the best number of registers for
each callee to overwrite, and the bound.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import CPSAT, Plan, Problem
from binalloc.transform.allocators.best import BEST

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from binalloc.models.allocation.joint import JointSolution
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.functions.registers import RegisterAllocation
    from binalloc.transform.allocate.functions.solver import SolverReport


class Cpsat:
    """Allocator `cpsat` does what `best` does, but CP-SAT places each function, starting from the heuristic's
    placement."""

    name = CPSAT
    summary = "as best, each function placed by CP-SAT"

    def is_feasible(self, problem: Problem) -> bool:
        return BEST.is_feasible(problem)

    def allocate(self, problem: Problem) -> Plan:
        first = BEST.allocate(problem)
        if not first.cost.cost:
            return replace(first, bound=0.0)
        ways = (True, False) if problem.slots and problem.registers > 1 else (False,)
        plans = _plans(problem, first.attempt, ways)
        calls = len(problem.program.functions) > 1
        graph = _Graph(problem)
        if calls:
            plans += _with_budgets(graph, first.attempt, ways)
        if not plans:
            return first
        cheapest = min(plans, key=lambda plan: plan.cost.cost)
        if first.cost.cost < cheapest.cost.cost:
            cheapest = replace(first, solver=_unused(first.attempt, plans, problem.slots))
        bound = graph.bound(cheapest.attempt, ways) if calls else _bound(plans)
        return replace(cheapest, bound=bound)


def _plans(problem: Problem, like: Attempt, ways: Iterable[bool]) -> list[Plan]:
    """Return a feasible plan for each of `ways`, with the slot pointer or without."""
    from binalloc.transform.allocate.functions.registers import Infeasible

    plans = []
    for pointer in ways:
        with suppress(Infeasible):  # without the slot pointer there is one register more
            plans.append(_exact(problem, like, pointer=pointer))
    return plans


def _with_budgets(graph: _Graph, like: Attempt, ways: Iterable[bool]) -> list[Plan]:
    """Return plans in which callees have as many registers as in the solution of all functions at once."""
    plans = []
    for pointer in ways:
        found = graph.solution(like, pointer=pointer)
        if found is not None and found.registers is not None:
            plans += _plans(graph.problem, replace(like, limits=found.registers), (pointer,))
    return plans


class _Graph:
    """`_Graph` keeps solutions of the exact model of all functions at once, by the orders of code and by whether there
    is a slot pointer."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: dict[Hashable, JointSolution | None] = {}

    def solution(self, like: Attempt, *, pointer: bool) -> JointSolution | None:
        """Return the solution for the orders of `like`."""
        from binalloc.transform.allocate.jointly import solve_graph

        key = pointer, tuple((name, one.given.order) for name, one in sorted(like.allocations.items()))
        if key not in self.found:
            limit = self.problem.solver_limit * len(like.allocations)
            self.found[key] = solve_graph(_way(self.problem, like, pointer=pointer), limit)
        return self.found[key]

    def bound(self, like: Attempt, ways: Iterable[bool]) -> float | None:
        """Return a lower bound of the cost of all plans in the orders of `like`; None if a solver's limit was hit."""
        found = [self.solution(like, pointer=pointer) for pointer in ways]
        bounds = [one.bound for one in found if one is not None and one.status in ("optimal", "infeasible")]
        return min(bounds) if len(bounds) == len(found) else None


def _way(problem: Problem, like: Attempt, *, pointer: bool) -> Attempt:
    """Return the same attempt, with the slot pointer or without."""
    left = problem.registers - pointer
    return replace(
        like,
        available=problem.program.isa.limits.allocatable(left),
        pointer=left if pointer else -1,
        slots=problem.slots if pointer else 0,
    )


def _exact(problem: Problem, like: Attempt, *, pointer: bool) -> Plan:
    """Return the plan of the exact model. like: an attempt for the same kernel."""
    from binalloc.transform.allocate.attempt import colour_functions
    from binalloc.transform.allocate.functions.solver import improve

    reports: list[SolverReport] = []
    way = _way(problem, like, pointer=pointer)
    attempt = replace(way, contracts={}, allocations={}, scratch={})

    def place(attempt: Attempt, name: str, found: RegisterAllocation) -> RegisterAllocation:
        prices = attempt.prices
        if not found.rounds:
            return found
        better, report = improve(
            found, attempt.registers_of(name), attempt.contracts, prices, problem.solver_limit, attempt.slots
        )
        reports.append(report)
        return better

    colour_functions(attempt, improve=place)
    return replace(BEST.plan(attempt, problem), solver=reports)


def _unused(attempt: Attempt, plans: list[Plan], slots: int) -> list[SolverReport]:
    """Return the solver's reports for a plan with `attempt`, which is not the solver's."""
    from binalloc.transform.allocate.functions.procedure import cost_alone

    said = next((plan for plan in plans if (plan.attempt.pointer < 0) == (attempt.pointer < 0)), plans[0])
    slots = slots if attempt.pointer >= 0 else 0
    reports = []
    for report in said.solver:
        name = report.function
        value = cost_alone(attempt.allocations[name], slots, attempt.prices)
        reports.append(replace(report, value=value, bound=min(report.bound, value), used=False))
    return reports


def _bound(plans: list[Plan]) -> float | None:
    """Return a lower bound of the cost of all plans, for a kernel without calls: the smallest bound. Return None if a
    solver's limit was hit."""
    if any(report.status != "optimal" for plan in plans for report in plan.solver):
        return None
    return min(sum(report.bound for report in plan.solver) for plan in plans)
