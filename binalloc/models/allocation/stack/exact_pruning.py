"""This module selects the memory variables with the highest total cost that fit together in slots. It solves exactly
what `pruning` does by cost.

Needs a call graph of `Procedure`s and variables that fit. Leaves others whose cost is higher, where there are any. The
integer program has one 0-1 variable for each memory variable, and one variable for the Max-live of each procedure
(unified paper, section 3.2.2).

The solver computes in whole numbers, so a cost that is a thousand million times smaller than another may not count.

Deterministic: the solver stops by its own measure of work, not by time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from binalloc.bitset import bits
from binalloc.models.allocation.stack.procedures import Procedure, Variable, all_variables, call_order

WORK = 0.5
"""Limit on the solver's deterministic time, about seconds. Chosen by hand: a longer search delays each plan of
slots."""
MOST_TERMS = 50_000
"""Larger programs are not begun. Chosen by hand: building one of them takes time that WORK does not limit."""


def prune_exactly(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    start: Mapping[str, int],
    candidates: Mapping[str, int] | None = None,
) -> Mapping[str, int]:
    """Return, for each reachable procedure, the bitset of variables that go to slots.

    Max-live is at most `slots`, and the cost of all variables in slots is highest. `start` is returned where it is
    optimal, where nothing better is found in time, or where the program is too large. candidates: as in `prune`.
    """
    order = call_order(procedures, kernel)
    wanted = all_variables(procedures) if candidates is None else candidates
    may = {name: wanted.get(name, 0) for name in order}
    lines = {name: {live & may[name] for live in procedures[name].live_sets()} - {0} for name in order}
    if sum(live.bit_count() for found in lines.values() for live in found) > MOST_TERMS:
        return start
    found = _Model(procedures, order, slots, may, start).solved(lines)
    return found if _worth(procedures, found) > _worth(procedures, start) else start


def _worth(procedures: Mapping[str, Procedure], kept: Mapping[str, int]) -> float:
    return sum(procedures[name].cost_of(v) for name, mask in kept.items() for v in bits(mask))


class _Model:
    """The integer program chooses the memory variables that go to slots.

    order: procedures, callers first. may: for each procedure the variables that may be kept.
    """

    def __init__(
        self,
        procedures: Mapping[str, Procedure],
        order: list[str],
        slots: int,
        may: Mapping[str, int],
        start: Mapping[str, int],
    ) -> None:
        from ortools.linear_solver import pywraplp

        self.procedures, self.order, self.may = procedures, order, may
        self.solver = solver = pywraplp.Solver.CreateSolver("SAT")
        solver.SetSolverSpecificParametersAsString(f"max_deterministic_time:{WORK} num_workers:1")
        self.kept: dict[Variable, Any] = {(name, v): solver.BoolVar("") for name in order for v in bits(may[name])}
        self.most = {name: solver.IntVar(0, slots, "") for name in order}
        for (name, v), chosen in self.kept.items():
            solver.Objective().SetCoefficient(chosen, procedures[name].cost_of(v))
        solver.Objective().SetMaximization()
        solver.SetHint(list(self.kept.values()), [float(start[name] >> v & 1) for name, v in self.kept])

    def solved(self, lines: Mapping[str, set[int]]) -> dict[str, int]:
        """Return for each procedure the variables that are kept. lines: for each procedure the sets of variables live
        together."""
        for name in self.order:
            for live in sorted(lines[name]):
                self._fits(name, live)
            across = {(site.callee, site.live_across & self.may[name]) for site in self.procedures[name].calls}
            for callee, live in sorted(across):
                self._fits(name, live, callee)
        found = dict.fromkeys(self.order, 0)
        if self.solver.Solve() not in (self.solver.OPTIMAL, self.solver.FEASIBLE):
            return found
        for (name, v), chosen in self.kept.items():
            if chosen.solution_value() > 0.5:
                found[name] |= 1 << v
        return found

    def _fits(self, name: str, live: int, callee: str = "") -> None:
        """Require that the kept variables in `live`, together with the callee's, number at most the procedure's
        Max-live."""
        row = self.solver.Constraint(-self.solver.infinity(), 0.0)
        row.SetCoefficient(self.most[name], -1.0)
        if callee:
            row.SetCoefficient(self.most[callee], 1.0)
        for v in bits(live):
            row.SetCoefficient(self.kept[name, v], 1.0)
