"""This module lets OR-Tools CP-SAT choose the cheapest spill code, and proves a lower bound on its cost.

Needs all possible parts of spill code (`spills`), pressure and capacity at each point, and a choice to start from.
Leaves a choice, and a lower bound on the cost of the code that one round of spilling emits for any choice. Each region
has two variables: whether it is spilled, and whether memory holds its value there. A value that may be kept in memory
or recomputed has one. So has each comeback or store that follows from those. At each point enough regions are spilled
for the rest to fit, unless the item at the point is left out. Points with the same regions share one constraint.

With slots the model is joint over registers, slots and local memory. Each value has one more variable (local memory or
slot), and no point has more values in registers and slots than there are of both. Spill code moves while registers are
free (`overlap`), so a spilled value may be back early, or not be stored yet. A region takes no slot in the model unless
it surely needs one, so the bound stays a lower bound.

Deterministic: one worker, a fixed seed, a limit in deterministic time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.regions import RegionChoice
from binalloc.models.allocation.spills import NONE, Comeback, Spills
from binalloc.models.allocation.stores import DEFINED

SCALE = 1024
"""CP-SAT wants integers, so a cost is counted in units of 1/1024. Finer parts are rounded down, in the bound as in the
objective."""


@dataclass(frozen=True)
class Solution:
    """A solution is the solver's answer for one function: the regions to spill, and a lower bound."""

    spilled: list[int] | None  #: spilled regions, ascending; None where nothing was found
    value: float  #: cost of the choice
    bound: float  #: proven lower bound on the cost of any choice
    #: "optimal", "feasible" (a limit was hit), "infeasible" or "unknown" (a limit was hit and nothing found)
    status: str
    work: float  #: deterministic time spent, in CP-SAT's units
    local: frozenset[int] = frozenset()  #: spilled values for which there is no slot, where that was asked
    #: spilled values that are kept in memory and not recomputed; None where nothing was found
    kept: frozenset[int] | None = None


def solve(
    spills: Spills,
    pressure: NDArray[np.int32],
    capacity: NDArray[np.int32],
    start: RegionChoice | None = None,
    *,
    limit: float = 4.0,
    seed: int = 1,
) -> Solution:
    """Return the cheapest choice found within `limit` units of deterministic time (about seconds).

    start: a choice that fits, returned where nothing is found.
    """
    from ortools.sat.python import cp_model

    short = spills.crowded(np.maximum(pressure - capacity - spills.slots, 0), spills.takers()) if spills.slots else []
    model = SpillModel(cp_model.CpModel(), spills, {spills.value[r] for (_, lying), _ in short for r in lying})
    model.fit(pressure, capacity)
    if start is not None:
        model.hint(set(start.spilled), start.local)
    solver, status = solved(model.model, model.terms, limit, seed)
    work = float(solver.deterministic_time)
    if status == "infeasible":
        return Solution(None, inf, inf, status, work)
    if status == "unknown":
        if start is None:
            return Solution(None, inf, 0.0, status, work)
        return Solution(start.spilled, start.cost, 0.0, status, work, start.local)
    spilled = [r for r, variable in enumerate(model.spilled) if solver.boolean_value(variable)]
    local = frozenset(v for v, variable in model.local.items() if solver.boolean_value(variable))
    kept = frozenset(v for v in dict.fromkeys(spills.value) if solver.boolean_value(model.is_kept(v)))
    value, bound = float(solver.objective_value) / SCALE, float(solver.best_objective_bound) / SCALE
    return Solution(spilled, value, max(0.0, min(bound, value)), status, work, local, kept)


def solved(model: Any, terms: list[Any], limit: float, seed: int) -> tuple[Any, str]:
    """Minimise the sum of `terms`; return the solver, and its answer in the words of `Solution.status`."""
    from ortools.sat.python import cp_model

    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = limit
    solver.parameters.linearization_level = 2  # linear programming bounds counts at points best
    code = solver.solve(model)
    known = {cp_model.OPTIMAL: "optimal", cp_model.FEASIBLE: "feasible", cp_model.INFEASIBLE: "infeasible"}
    return solver, known.get(code, "unknown")


class SpillModel:
    """A spill model states the spill choices of one function as variables and constraints of CP-SAT; its costs are
    `terms`.

    asked: values that may find no slot. runs: factor on all costs, for a function that runs more than once.

    spilled, held: for each region, whether it is spilled, and whether memory holds the value there. kept: for each
    value, whether memory holds it wherever it comes back. local: for each value that may lie in a slot or in local
    memory, whether it lies in local memory. takes: for each region that may take a slot, whether it does. needless: for
    each item of `Spills.needless`, whether it is left out.
    """

    def __init__(self, model: Any, spills: Spills, asked: Collection[int], runs: float = 1.0) -> None:
        self.model, self.spills, self.scale = model, spills, runs * SCALE
        count = range(len(spills.value))
        self.spilled = [model.new_bool_var(f"a{r}") for r in count]
        self.held = [model.new_bool_var(f"m{r}") for r in count]
        self.kept = {v: model.new_bool_var(f"k{v}") for v in sorted(spills.asked)}
        self.needless = [self._left_out(n) for n in range(len(spills.needless))]
        self.local = {v: model.new_bool_var(f"l{v}") for v in sorted(asked)}
        self.takes: dict[int, Any] = {}
        self.terms: list[Any] = []
        for before, behind in sorted(spills.written):
            model.add_bool_or([self.held[before], self.spilled[before].negated(), self.held[behind].negated()])
        self._comebacks()
        self._stores()
        if asked:
            self._take_slots()

    def _left_out(self, n: int) -> Any:
        """Return the variable that says whether needless item `n` is left out."""
        item = self.spills.needless[n]
        out = self.model.new_bool_var(f"n{n}")
        for r in item.behind:
            self.model.add_implication(out, self.spilled[r])
            self.model.add_implication(out, self.is_kept(self.spills.value[r]).negated())
        for before, after in item.operands:
            if after != NONE:
                self.model.add_bool_or([out.negated(), self.spilled[before].negated(), self.spilled[after]])
        return out

    def is_kept(self, v: int) -> Any:
        """Return a literal: memory holds value `v` wherever it comes back."""
        if v in self.kept:
            return self.kept[v]
        return self.model.new_constant(int(v not in self.spills.recomputed))

    def _must_hold(self, variable: Any, r: int) -> None:
        """Require that memory holds the value of region r where `variable` is true."""
        self.model.add_implication(variable, self.held[r])
        self.model.add_implication(variable, self.is_kept(self.spills.value[r]))

    # -- costs

    def _charge(self, variable: Any, near: float, far: float, v: int) -> None:
        """Add the cost where `variable` is true: `near` if value v lies in a slot, `far` if it lies in local memory."""
        if near:
            self.terms.append(int(near * self.scale) * variable)
        if far > near and v in self.local:
            extra = self.model.new_bool_var("")
            self.model.add_bool_or([extra, variable.negated(), self.local[v].negated()])
            self.terms.append(int((far - near) * self.scale) * extra)

    def _memory(self, variable: Any, weight: float, v: int, at_most: float = inf) -> None:
        """Add the cost of an access to memory, or `at_most` where that is less."""
        near, far = min(self.spills.near, at_most), min(self.spills.far, at_most)
        self._charge(variable, weight * near, weight * far, v)

    def _comebacks(self) -> None:
        """Add the cost of all comebacks; equal ones are merged."""
        alike: dict[Comeback, float] = {}
        for back in self.spills.comebacks:
            kind = back._replace(weight=0.0)
            alike[kind] = alike.get(kind, 0.0) + back.weight
        crossing: dict[tuple[int, int], Any] = {}
        for back, weight in alike.items():
            if back.item != NONE:
                comes = self._comes(back, self.needless[back.item])
            elif back.to == NONE:
                comes = self.spilled[back.region]
            else:
                key = back.region, back.to
                if key not in crossing:
                    crossing[key] = self._comes(back, self.spilled[back.to])
                comes = crossing[key]
            self._back(comes, back, weight)

    def _comes(self, back: Comeback, unless: Any) -> Any:
        """Return the variable that is true where the region of `back` is spilled and `unless` is false."""
        comes = self.model.new_bool_var("")
        self.model.add_bool_or([comes, self.spilled[back.region].negated(), unless])
        self.model.add_implication(comes, self.spilled[back.region])
        self.model.add_implication(comes, unless.negated())
        return comes

    def _back(self, comes: Any, back: Comeback, weight: float) -> None:
        """Add the cost of one comeback: a read of memory, or a recomputation."""
        spills, r = self.spills, back.region
        v = spills.value[r]
        if back.again == inf:
            self._must_hold(comes, r)
            self._memory(comes, weight, v)
            return
        again = comes
        if v in self.kept:
            read, again = self.model.new_bool_var(""), self.model.new_bool_var("")
            self.model.add_bool_or([read, comes.negated(), self.kept[v].negated()])
            self.model.add_bool_or([again, comes.negated(), self.kept[v]])
            self.model.add_implication(read, self.held[r])
            self._memory(read, weight, v)
        self.terms.append(int(weight * back.again * self.scale) * again)
        for leaf in back.leaves:
            both = self.model.new_bool_var("")
            self.model.add_bool_or([both, again.negated(), *(self.spilled[x].negated() for x in leaf.regions)])
            self._memory(both, weight, leaf.value, leaf.again)

    def _stores(self) -> None:
        alike: dict[tuple[int, int, bool], float] = {}
        for way in self.spills.ways:
            key = way.source, way.region, way.border
            alike[key] = alike.get(key, 0.0) + way.weight
        for (source, r, border), weight in alike.items():
            v = self.spills.value[r]
            if source == DEFINED:
                self._memory(self.held[r], weight, v)
                continue
            store = self.model.new_bool_var("")
            self.model.add_bool_or([store, self.held[r].negated(), self.held[source]])
            if border:  # what is in no register cannot be stored
                self.model.add_bool_or([store.negated(), self.spilled[source].negated(), self.spilled[r].negated()])
            self._memory(store, weight, v)

    # -- room

    def _take_slots(self) -> None:
        """Decide which regions surely take slots.

        A region takes a slot if each way out of it, and out of the regions in its ring, needs memory.
        """
        spills = self.spills
        rings = spills.rings()
        ring_of = {r: n for n, ring in enumerate(rings) for r in ring}
        takes = self.takes = {r: self.model.new_bool_var("") for r in ring_of}
        without: list[list[Any]] = [[] for _ in rings]
        for back in dict.fromkeys(spills.comebacks):
            n = ring_of.get(back.region, NONE)
            if n == NONE:
                continue
            behind = spills.behind(back)
            unread = [self.needless[back.item]] if back.item != NONE else []
            if behind != NONE and ring_of.get(behind, NONE) != n:
                without[n].append(self._all([*unread, *self._takes_none(behind, takes)]))
            elif behind == NONE:
                without[n] += unread
        for r, n in ring_of.items():
            v = spills.value[r]
            local = [self.local[v]] if v in self.local else []
            escapes = [self.is_kept(v).negated(), *local, *without[n]]
            self.model.add_bool_or([takes[r], self.spilled[r].negated(), *escapes])
            self.model.add_implication(takes[r], self.spilled[r])

    def _takes_none(self, r: int, takes: dict[int, Any]) -> list[Any]:
        """Return the literals that are all true where region r is spilled and takes no slot."""
        return [self.spilled[r], *([takes[r].negated()] if r in takes else [])]

    def _all(self, literals: list[Any]) -> Any:
        """Return a variable that can be true only where all literals are."""
        every = self.model.new_bool_var("")
        for literal in literals:
            self.model.add_implication(every, literal)
        return every

    def fit(self, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> None:
        """Require that no point has more values than registers, nor more than registers and slots together."""
        for left in self.counts(pressure - capacity):
            self.model.add(left <= 0)
        if self.takes:
            for left in self.counts(pressure - capacity - self.spills.slots, slots=True):
                self.model.add(left <= 0)

    def counts(self, pressure: NDArray[np.int32], *, slots: bool = False) -> list[Any]:
        """Return how many registers are taken, as an expression for every crowd of regions and for every hole.

        pressure: points where it is above 0 are counted; the number of registers may already be subtracted from it.
        slots: count values in registers and in slots.
        """
        plain, every = pressure.copy(), range(len(self.spilled))
        for hole in self.spills.holes:
            plain[hole.point] -= hole.empty
        found = [self._left(key, count, slots) for key, count in self.spills.crowded(np.maximum(plain, 0), every)]
        for hole in self.spills.holes:
            if pressure[hole.point] > 0:
                here = np.zeros_like(pressure)
                here[hole.point] = pressure[hole.point]
                ((key, count),) = self.spills.crowded(here, every)
                found.append(self._left(key, count, slots) - hole.empty * sum(self.spilled[r] for r in hole.regions))
        return found

    def values_left(self, count: NDArray[np.int32], regions: Collection[int]) -> list[Any]:
        """Return how many of the counted values, which have these regions, are in registers, as an expression for every
        crowd of them."""
        return [self._left(key, most, slots=False) for key, most in self.spills.crowded(count, regions)]

    def _left(self, key: tuple[int, tuple[int, ...]], count: int, slots: bool) -> Any:
        """Return how many of `count` values stay at the points of one crowd. key: as in `Spills.crowded`."""
        n, lying = key
        spilled = sum(self.spilled[r] for r in lying)
        if slots:
            spilled -= self.taking(lying)
        return count - spilled - (count * self.needless[n] if n != NONE else 0)

    def taking(self, regions: Iterable[int]) -> Any:
        """Return an expression: how many of those regions take slots."""
        return sum(self.takes[r] for r in regions if r in self.takes)

    def hint(self, spilled: Iterable[int], local: frozenset[int]) -> None:
        """Give the solver a choice to start from."""
        spilled = set(spilled)
        for r, variable in enumerate(self.spilled):
            self.model.add_hint(variable, r in spilled)
        for v, variable in self.local.items():
            self.model.add_hint(variable, v in local)
