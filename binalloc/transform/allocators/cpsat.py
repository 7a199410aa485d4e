"""Allocator `cpsat`: where the heuristic spills, the values of each function are placed by CP-SAT."""

from __future__ import annotations

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
        from binalloc.transform.allocate.attempt import Attempt, colour_functions
        from binalloc.transform.allocate.solver import improve

        first = BEST.attempt(problem)
        if not first.spilled:
            return BEST.plan(first, problem)
        reports: list[SolverReport] = []

        def place(attempt: Attempt, name: str, found: RegisterAllocation) -> RegisterAllocation:
            given, memory = attempt.virtual(name), attempt.memory_cost
            better, report = improve(
                given, found, attempt.available, attempt.contracts, memory, problem.solver_limit
            )
            reports.append(report)
            return better

        attempt = Attempt(problem.program, first.known, first.unwritten, first.available, first.pointer)
        colour_functions(attempt, improve=place)
        return replace(BEST.plan(attempt, problem), solver=reports)
