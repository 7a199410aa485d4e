"""The cheapest choice of regions to leave the registers, by OR-Tools CP-SAT, with a proven bound.

Needs what `regions.choose` needs, and its choice for a start. Leaves a choice never dearer than that one, and a lower
bound of what any choice costs. One variable per region (away or not), one for whether memory holds its value there;
comebacks on borders and stores on ways follow from those two; at each point so many regions are away that the rest
fits. Points at which the same regions lie are one constraint. The objective is what the emitted code costs where
everything comes back as its region's price has it: a recomputation that finds an operand away costs more, never less.

With `Homes` it is joint over registers, slots and local memory: one more variable per value (in local memory or in a
slot), and nowhere more values in slots than there are slots. What cannot be told to take a slot takes none, so that the
bound stays one.

Deterministic: one worker, a fixed seed, a limit in deterministic time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.homes import Homes, crossings, pairs
from binalloc.models.allocation.regions import Choice
from binalloc.models.allocation.stores import DEFINED

SCALE = 1024
"""Costs are exact multiples of 1/1024 at best: finer ones are rounded, in the bound as in the objective."""


@dataclass(frozen=True)
class Solution:
    """away: regions, ascending; None where nothing was found. value, bound: its cost and a proven lower bound of any
    choice's. status: "optimal", "feasible" (a limit was hit), "infeasible" or "unknown" (a limit was hit and nothing
    found). work: deterministic time spent, in CP-SAT's units. local: values away for which there is no slot, where that
    was asked."""

    away: list[int] | None
    value: float
    bound: float
    status: str
    work: float
    local: frozenset[int] = frozenset()

    @property
    def gap(self) -> float:
        """(value - bound) / value, 0 when proven optimal."""
        if self.away is None or self.value <= 0:
            return 0.0
        return max(0.0, (self.value - self.bound) / self.value)


def solve(
    homes: Homes,
    pressure: NDArray[np.int32],
    capacity: NDArray[np.int32],
    start: Choice | None = None,
    *,
    limit: float = 4.0,
    seed: int = 1,
) -> Solution:
    """The cheapest choice found within `limit` units of deterministic time (about seconds). start: a choice that fits,
    which is the answer where nothing cheaper is found."""
    from ortools.sat.python import cp_model

    model = _Model(cp_model.CpModel(), homes)
    model.fit(pressure, capacity)
    if start is not None:
        model.hint(set(start.away), start.local)
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
    if status == "infeasible":
        return Solution(None, float("inf"), float("inf"), status, work)
    bound = 0.0 if status == "unknown" else float(solver.best_objective_bound) / SCALE
    found = (start.away, start.local) if start is not None else None
    if status in ("optimal", "feasible"):
        away = [r for r, variable in enumerate(model.away) if solver.boolean_value(variable)]
        local = frozenset(v for v, variable in model.local.items() if solver.boolean_value(variable))
        if found is None or homes.cost(away, local) < homes.cost(*found):
            found = away, local
    if found is None:
        return Solution(None, float("inf"), bound, status, work)
    value = homes.cost(*found)
    return Solution(found[0], value, min(bound, value), status, work, found[1])


class _Model:
    """away, held: per region, whether its value has left the registers, and whether memory holds it there. local: by
    value, whether it lies in local memory and not in a slot, where that is a question."""

    def __init__(self, model: Any, homes: Homes) -> None:
        self.model, self.regions, self.dear = model, homes.slot, homes.local
        regions = self.regions
        count = range(len(regions.value))
        self.away = [model.new_bool_var(f"a{r}") for r in count]
        self.held = [model.new_bool_var(f"m{r}") for r in count]
        self.local: dict[int, Any] = {}
        if homes.slots:
            self._slots(homes)
        self.terms: list[Any] = []
        self.comes: dict[tuple[int, int], Any] = {}
        for r in count:
            self._region(r)
        self._recomputations(homes)
        model.minimize(sum(self.terms))

    def _slots(self, homes: Homes) -> None:
        """Nowhere more values in slots than there are."""
        crowds = homes.crowds()
        value = self.regions.value
        asked = {value[r] for crowd in crowds for r in crowd} | homes.rather_recomputed
        self.local = {v: self.model.new_bool_var(f"l{v}") for v in sorted(asked)}
        takes: dict[int, Any] = {}
        for r in sorted({r for crowd in crowds for r in crowd}):
            takes[r] = self.model.new_bool_var("")
            self.model.add_bool_or([takes[r], self.away[r].negated(), self.local[value[r]]])
        for crowd in crowds:
            self.model.add(sum(takes[r] for r in crowd) <= homes.slots)

    def _charge(self, variable: Any, prices: Sequence[float], values: Iterable[int]) -> None:
        """What it costs where `variable` holds, as `Homes.cost` has it: with none of the values in local memory, and
        with all of them there; between the two the less."""
        slot, local = prices
        always, more = min(slot, local), abs(local - slot)
        asked = dict.fromkeys(values)
        homes = [self.local[v] for v in asked if v in self.local]
        if local > slot and len(homes) < len(asked):  # one of them is in no local memory
            more = 0.0
        if always:
            self.terms.append(_scaled(always) * variable)
        if more:
            extra = self.model.new_bool_var("")
            others = [home.negated() for home in homes] if local > slot else homes
            self.model.add_bool_or([extra, variable.negated(), *others])
            self.terms.append(_scaled(more) * extra)

    def _region(self, r: int) -> None:
        regions, dear, v = self.regions, self.dear, self.regions.value[r]
        self._charge(self.away[r], (regions.exits[r], dear.exits[r]), [v])
        if regions.stored[r] and dear.stored[r]:
            self.model.add_implication(self.away[r], self.held[r])
        elif regions.stored[r]:  # in local memory it would rather be recomputed
            home = [self.local[v]] if v in self.local else []
            self.model.add_bool_or([self.held[r], self.away[r].negated(), *home])
        for border, there in zip(regions.borders[r], dear.borders[r], strict=True):
            if border.out:
                self._charge(self._comes_back(r, border.region), (border.out, there.out), [v])
        for (source, cost), (_, local) in zip(regions.ways[r], dear.ways[r], strict=True):
            self._charge(self._store(source, r), (cost, local), [v])

    def _recomputations(self, homes: Homes) -> None:
        """What recomputations cost more that find an operand away."""
        value = self.regions.value
        for (r, other), prices in sorted(pairs(homes).items()):
            both = self.model.new_bool_var("")
            self.model.add_bool_or([both, self.away[r].negated(), self.away[other].negated()])
            self._charge(both, prices, [value[r], value[other]])
        for (region, other, leaf), prices in sorted(crossings(homes).items()):
            more = self.model.new_bool_var("")
            comes = self._comes_back(region, other)
            self.model.add_bool_or([more, comes.negated(), self.away[leaf].negated()])
            self._charge(more, prices, [value[region], value[leaf]])

    def _comes_back(self, r: int, other: int) -> Any:
        """Whether a value comes back on the border from region r to the other."""
        if (r, other) not in self.comes:
            comes = self.comes[r, other] = self.model.new_bool_var("")
            self.model.add_bool_or([comes, self.away[r].negated(), self.away[other]])
        return self.comes[r, other]

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

    def hint(self, away: set[int], local: frozenset[int]) -> None:
        for r, variable in enumerate(self.away):
            self.model.add_hint(variable, r in away)
        for v, variable in self.local.items():
            self.model.add_hint(variable, v in local)


def _scaled(cost: float) -> int:
    return round(cost * SCALE)
