"""The cheapest choice of regions to leave the registers, by OR-Tools CP-SAT, with a proven bound.

Needs what `regions.choose` needs, and its choice for a start. Leaves a choice never dearer than that one, and a lower
bound of what any choice costs. One variable per region (away or not), one for whether memory holds its value there;
comebacks on borders and stores on ways follow from those two; at each point so many regions are away that the rest
fits. Points at which the same regions lie are one constraint. The objective is what the emitted code costs where
everything comes back as its region's price has it: a recomputation that finds an operand away costs more, never less.

Deterministic: one worker, a fixed seed, a limit in deterministic time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.regions import Regions
from binalloc.models.allocation.stores import DEFINED

SCALE = 1024
"""Costs are exact multiples of 1/1024 at best: finer ones are rounded, in the bound as in the objective."""


@dataclass(frozen=True)
class Solution:
    """away: regions, ascending; None where nothing was found. value, bound: its cost and a proven lower bound of any
    choice's. status: "optimal", "feasible" (a limit was hit), "infeasible" or "unknown" (a limit was hit and nothing
    found). work: deterministic time spent, in CP-SAT's units."""

    away: list[int] | None
    value: float
    bound: float
    status: str
    work: float

    @property
    def gap(self) -> float:
        """(value - bound) / value, 0 when proven optimal."""
        if self.away is None or self.value <= 0:
            return 0.0
        return max(0.0, (self.value - self.bound) / self.value)


def solve(
    regions: Regions,
    pressure: NDArray[np.int32],
    capacity: NDArray[np.int32],
    start: list[int] | None = None,
    *,
    limit: float = 4.0,
    seed: int = 1,
) -> Solution:
    """The cheapest choice found within `limit` units of deterministic time (about seconds). start: a choice that fits,
    which is the answer where nothing cheaper is found."""
    from ortools.sat.python import cp_model

    model = _Model(cp_model.CpModel(), regions)
    model.fit(pressure, capacity)
    if start is not None:
        model.hint(set(start))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = limit
    solver.parameters.linearization_level = 2  # linear programming bounds counts at points best
    code = solver.solve(model.model)
    status = {cp_model.OPTIMAL: "optimal", cp_model.FEASIBLE: "feasible", cp_model.INFEASIBLE: "infeasible"}.get(
        code, "unknown"
    )
    work = float(solver.deterministic_time)
    away, value = start, regions.cost(start) if start is not None else float("inf")
    bound = 0.0 if status == "unknown" else float(solver.best_objective_bound) / SCALE
    if status in ("optimal", "feasible"):
        found = [r for r, variable in enumerate(model.away) if solver.boolean_value(variable)]
        cost = regions.cost(found)
        if cost < value:
            away, value = found, cost
    if status == "infeasible":
        return Solution(None, value, float("inf"), status, work)
    return Solution(away, value, min(bound, value), status, work)


class _Model:
    """away, held: per region, whether its value has left the registers, and whether memory holds it there."""

    def __init__(self, model: Any, regions: Regions) -> None:
        self.model, self.regions = model, regions
        count = range(len(regions.value))
        self.away = [model.new_bool_var(f"a{r}") for r in count]
        self.held = [model.new_bool_var(f"m{r}") for r in count]
        terms: list[Any] = []
        comes: dict[tuple[int, int], Any] = {}
        for r in count:
            if regions.exits[r]:
                terms.append(_scaled(regions.exits[r]) * self.away[r])
            if regions.stored[r]:
                model.add_implication(self.away[r], self.held[r])
            for border in regions.borders[r]:
                if border.out:
                    comes[r, border.region] = self._comes_back(r, border.region)
                    terms.append(_scaled(border.out) * comes[r, border.region])
            for other, cost in regions.together[r]:
                if r < other:
                    both = model.new_bool_var("")
                    model.add_bool_or([both, self.away[r].negated(), self.away[other].negated()])
                    terms.append(_scaled(cost) * both)
            for source, cost in regions.ways[r]:
                terms.append(_scaled(cost) * self._store(source, r))
        for region, other, leaf, cost in regions.crossings:
            if (region, other) not in comes:
                comes[region, other] = self._comes_back(region, other)
            more = model.new_bool_var("")
            model.add_bool_or([more, comes[region, other].negated(), self.away[leaf].negated()])
            terms.append(_scaled(cost) * more)
        model.minimize(sum(terms))

    def _comes_back(self, r: int, other: int) -> Any:
        """Whether a value comes back on the border from region r to the other."""
        comes = self.model.new_bool_var("")
        self.model.add_bool_or([comes, self.away[r].negated(), self.away[other]])
        return comes

    def _store(self, source: int, r: int) -> Any:
        """Whether a store stands on the way into region r."""
        if source == DEFINED:
            return self.held[r]
        store = self.model.new_bool_var("")
        self.model.add_bool_or([store, self.held[r].negated(), self.held[source]])
        # what is in no register cannot be stored
        self.model.add_bool_or([store.negated(), self.away[source].negated()])
        return store

    def fit(self, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> None:
        over = np.flatnonzero(pressure > capacity)
        there: list[list[int]] = [[] for _ in range(len(over))]
        for r, pieces in enumerate(self.regions.points):
            for start, end in pieces:
                for at in range(int(np.searchsorted(over, start)), int(np.searchsorted(over, end))):
                    there[at].append(r)
        needed: dict[tuple[int, ...], int] = {}
        for point, regions in zip(over.tolist(), there, strict=True):
            key = tuple(regions)
            needed[key] = max(needed.get(key, 0), int(pressure[point] - capacity[point]))
        for key, count in sorted(needed.items()):
            self.model.add(sum(self.away[r] for r in key) >= count)

    def hint(self, away: set[int]) -> None:
        for r, variable in enumerate(self.away):
            self.model.add_hint(variable, r in away)


def _scaled(cost: float) -> int:
    return round(cost * SCALE)
