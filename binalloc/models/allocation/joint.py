"""The cheapest choice of what leaves the registers in all functions of a call graph at once, with a bound.

Needs for each function what `cpsat` needs of one, and what lives in it where, by what its callers' registers have to do
with it. Leaves how many registers each callee had better do with, and a lower bound of what the whole graph costs.
What a callee overwrites its callers lack across the call, and what it has at once they lack as well: two variables per
callee. Slots lie on a stack, one variable per callee; what is away may be in a register that is free. The bound holds
whatever registers callees take their arguments in, and whatever calls overwrite.

Deterministic, as `cpsat` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.cpsat import SCALE, SpillModel, solved
from binalloc.models.allocation.spills import Spills


@dataclass(frozen=True)
class JointCall:
    """point: inside of the call, where the regions lie that go on behind it. survivors: the values that do so. passed:
    those that are its arguments."""

    callee: str
    point: int
    survivors: frozenset[int]
    passed: frozenset[int]


@dataclass(frozen=True)
class JointFunction:
    """One function. runs: per run of the kernel. pressure: registers needed, by point. own: values that live, by point,
    but for its arguments, which may stay where the caller put them. arguments: values that are. calls: their points
    are behind all others. All values that live across a call have regions."""

    name: str
    spills: Spills
    runs: float
    pressure: NDArray[np.int32]
    own: NDArray[np.int32]
    arguments: frozenset[int]
    calls: Sequence[JointCall]


@dataclass(frozen=True)
class JointSolution:
    """registers: by callee, how many it has at once at most, those of what it calls among them; None where nothing was
    found. value, bound, status, work: as in `cpsat.Solution`, of the whole graph."""

    registers: dict[str, int] | None
    value: float
    bound: float
    status: str
    work: float


def solve_jointly(
    functions: Sequence[JointFunction], registers: int, *, limit: float, seed: int = 1
) -> JointSolution:
    """functions: callees first, the kernel last. registers: that there are. limit: deterministic time."""
    from ortools.sat.python import cp_model

    joint = _Joint(cp_model.CpModel(), registers)
    for function in functions:
        joint.add(function, is_kernel=function is functions[-1])
    terms = [term for one in joint.models.values() for term in one.terms]
    solver, status = solved(joint.model, terms, limit, seed)
    work = float(solver.deterministic_time)
    if status == "infeasible":
        return JointSolution(None, inf, inf, status, work)
    bound = max(0.0, float(solver.best_objective_bound) / SCALE)
    if status == "unknown":
        return JointSolution(None, inf, bound, status, work)
    value = float(solver.objective_value) / SCALE
    return JointSolution(joint.needed(solver), value, min(bound, value), status, work)


class _Joint:
    """By function: its model; by callee: the registers that it and what it calls overwrite, and those that it has at
    once (`demands`: expressions of its own, those inside of calls with the callee, whose come on top); by function, the
    slots of both."""

    def __init__(self, model: Any, registers: int) -> None:
        self.model, self.registers = model, registers
        self.models: dict[str, SpillModel] = {}
        self.overwritten: dict[str, Any] = {}
        self.taken: dict[str, Any] = {}
        self.demands: dict[str, list[tuple[Any, str]]] = {}
        self.slots: dict[str, Any] = {}

    def add(self, function: JointFunction, *, is_kernel: bool) -> None:
        name, spills = function.name, function.spills
        self.slots[name] = spills.slots if is_kernel else self.model.new_int_var(0, spills.slots, "")
        asked = {spills.value[r] for r in spills.takers()} if spills.slots else set()
        mine = self.models[name] = SpillModel(self.model, spills, asked, function.runs)
        everywhere = function.pressure.copy()
        everywhere[[call.point for call in function.calls]] = 0
        if is_kernel:
            self.taken[name] = self.registers
            mine.fit(everywhere, np.full(len(everywhere), self.registers, np.int32))
        else:
            self.taken[name] = self.model.new_int_var(0, self.registers, "")
            self.overwritten[name] = self.model.new_int_var(0, self.registers, "")
            self.demands[name] = []
            for count in mine.counts(everywhere):
                self._demand(name, count)
            own = [r for r, v in enumerate(spills.value) if v not in function.arguments]
            for count in mine.values_left(function.own, own):
                self.model.add(count <= self.overwritten[name])
        if spills.slots:
            for count in mine.counts(everywhere, slots=True):
                self.model.add(count <= self.taken[name] + self.slots[name])
        for call in function.calls:
            self._call(function, call, is_kernel=is_kernel)

    def _demand(self, name: str, count: Any, callee: str = "") -> None:
        self.demands[name].append((count, callee))
        self.model.add(count + (self.taken[callee] if callee else 0) <= self.taken[name])

    def _call(self, function: JointFunction, call: JointCall, *, is_kernel: bool) -> None:
        mine, spills, name = self.models[function.name], function.spills, function.name
        lying = [r for r, pieces in enumerate(spills.points) if any(a <= call.point < b for a, b in pieces)]

        def kept(values: frozenset[int]) -> Any:
            """How many of those stay in registers."""
            return len(values) - sum(mine.away[r] for r in lying if spills.value[r] in values)

        overwritten, taken = self.overwritten[call.callee], self.taken[call.callee]
        apart = kept(call.survivors - call.passed)
        self.model.add(kept(call.survivors) + overwritten <= self.taken[name])
        if is_kernel:
            self.model.add(apart + taken <= self.registers)
        else:
            self._demand(name, apart, call.callee)
            self.model.add(kept(call.survivors - function.arguments) + overwritten <= self.overwritten[name])
        if spills.slots:
            both = kept(call.survivors) + overwritten + mine.taking(lying) + self.slots[call.callee]
            self.model.add(both <= self.taken[name] + self.slots[name])

    def needed(self, solver: Any) -> dict[str, int]:
        """The least that `taken` may be in the solution."""
        found: dict[str, int] = {"": 0}
        for name, demands in self.demands.items():
            found[name] = max((int(solver.value(count)) + found[callee] for count, callee in demands), default=0)
        del found[""]
        return found
