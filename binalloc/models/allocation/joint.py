"""This module chooses the cheapest spills in all functions of a call graph at once, with a lower bound.

Needs for each function the same as `cpsat`, and the values that live in it at each point. Leaves the number of
registers that each callee should have, and a lower bound on the cost of the whole graph. Each callee has two variables:
the registers that it overwrites, and the registers that it needs at once. Callers cannot use either across the call.
Slots lie on a stack, one variable per callee. A spilled value may be in a register that is free. The bound holds
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
    """A call in the joint model has the caller's values that live on behind it, and its arguments."""

    callee: str  #: name of the callee
    point: int  #: point inside the call, covered by the regions that continue behind it
    survivors: frozenset[int]  #: values that live on behind the call
    passed: frozenset[int]  #: values that are arguments of the call


@dataclass(frozen=True)
class JointFunction:
    """A function in the joint model has its possible spill code and its calls. All values that live across a call have
    regions."""

    name: str  #: name of the function
    spills: Spills  #: its possible spill code
    runs: float  #: executions per run of the kernel
    pressure: NDArray[np.int32]  #: registers needed at each point
    #: values that live at each point, without the arguments, which may stay where the caller put them
    own: NDArray[np.int32]
    arguments: frozenset[int]  #: values that are arguments of the function
    calls: Sequence[JointCall]  #: its calls; their points are behind all others


@dataclass(frozen=True)
class JointSolution:
    """A joint solution is the solver's answer for all functions of a call graph."""

    #: for each callee the most registers it has at once, its own callees' included; None if none found
    registers: dict[str, int] | None
    value: float  #: cost of the choice, as in `cpsat.Solution`, of the whole graph
    bound: float  #: as in `cpsat.Solution`, of the whole graph
    status: str  #: as in `cpsat.Solution`
    work: float  #: as in `cpsat.Solution`


def solve_jointly(
    functions: Sequence[JointFunction], registers: int, *, limit: float, seed: int = 1
) -> JointSolution:
    """Solve the joint model of a call graph.

    functions: callees first, the kernel last. registers: how many there are. limit: deterministic time.
    """
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
    """The joint model covers all functions of a call graph.

    models: for each function its model. overwritten: for each callee the registers that it and its own callees
    overwrite. taken: for each callee the registers that it has at once. demands: for each callee the expressions that
    `taken` must cover. Each has the name of a function whose registers are added, since the expression is for a call of
    it, or "". slots: for each function the slots of it and its callees.
    """

    def __init__(self, model: Any, registers: int) -> None:
        self.model, self.registers = model, registers
        self.models: dict[str, SpillModel] = {}
        self.overwritten: dict[str, Any] = {}
        self.taken: dict[str, Any] = {}
        self.demands: dict[str, list[tuple[Any, str]]] = {}
        self.slots: dict[str, Any] = {}

    def add(self, function: JointFunction, *, is_kernel: bool) -> None:
        """Add a function, whose callees are there already."""
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
        """Require that `taken` covers `count` registers, and the callee's on top."""
        self.demands[name].append((count, callee))
        self.model.add(count + (self.taken[callee] if callee else 0) <= self.taken[name])

    def _call(self, function: JointFunction, call: JointCall, *, is_kernel: bool) -> None:
        """Add the constraints of one call."""
        mine, spills, name = self.models[function.name], function.spills, function.name
        lying = [r for r, pieces in enumerate(spills.points) if any(a <= call.point < b for a, b in pieces)]

        def kept(values: frozenset[int]) -> Any:
            """Return how many of those values stay in registers."""
            return len(values) - sum(mine.spilled[r] for r in lying if spills.value[r] in values)

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
        """Return the least value of `taken` in the solution."""
        found: dict[str, int] = {"": 0}
        for name, demands in self.demands.items():
            found[name] = max((int(solver.value(count)) + found[callee] for count, callee in demands), default=0)
        del found[""]
        return found
