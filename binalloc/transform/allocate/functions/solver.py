"""This module is the solver of allocator `cpsat`: it chooses the spilled regions of each function exactly, by CP-SAT.

It needs the heuristic's allocation of the function, with the code before any spilling, in the order of that allocation.
It leaves the cheaper of the two allocations, with the solver's bound for that order. The exact model
(`models.allocation.cpsat`) prices every comeback as it is emitted (`spill.list_spills`). It has three gaps. It does not
see the registers that groups need side by side. It does not see the temporaries of recomputations. Operands of
a recomputation count as back for the lesser cost of a reload and one recomputation more. If its choice does not find
registers, or costs no less once it is emitted, the heuristic's allocation is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.cpsat import Solution, solve
from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import RegionChoice
from binalloc.transform.allocate.functions.procedure import cost_alone
from binalloc.transform.allocate.functions.registers import (
    Infeasible,
    RegisterAllocation,
    SpillOptions,
    allocate_registers,
)
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.contract import Contract


@dataclass(frozen=True)
class SolverReport:
    """A solver report gives the cost of the code taken for one function, and the solver's lower bound."""

    function: str
    value: float  #: loop-weighted cost of the code that was taken
    bound: float  #: proven lower bound of the cost of any choice of spilled regions
    status: str
    used: bool  #: the program was built from the solver's choice (source "solver"), else from the heuristic's

    @property
    def gap(self) -> float:
        return max(0.0, (self.value - self.bound) / self.value) if self.value > 0 else 0.0


def improve(
    heuristic: RegisterAllocation,
    available: int,
    contracts: Mapping[str, Contract],
    prices: Prices,
    limit: float,
    slots: int,
) -> tuple[RegisterAllocation, SolverReport]:
    """Return the better one of the heuristic's allocation and the exact model's. prices: of reloads and stores. limit:
    deterministic solver time. slots: how many there are, 0 where memory has the cost of `prices`."""
    solutions: list[Solution] = []

    def exact(homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> RegionChoice:
        choice = choose_homes(homes, pressure, capacity)
        if solutions or np.any(choice.pressure > capacity):
            return choice
        assert homes.spills is not None
        solution = solve(homes.spills(), pressure, capacity, choice, limit=limit)
        solutions.append(solution)
        assert solution.spilled is not None
        left = homes.slot.pressure_without(solution.spilled, pressure)
        return RegionChoice(solution.spilled, left, solution.value, solution.local, solution.kept)

    name = heuristic.code.function.name
    before = cost_alone(heuristic, slots, prices)
    try:
        candidate = allocate_registers(heuristic.given, available, contracts, SpillOptions(prices, exact, slots))
    except Infeasible:
        candidate = heuristic
    after = cost_alone(candidate, slots, prices)
    status = solutions[0].status if solutions else "unknown"
    bound = min(solutions[0].bound if solutions else 0.0, before, after)
    if after < before:
        return candidate, SolverReport(name, after, bound, status, used=True)
    return heuristic, SolverReport(name, before, bound, status, used=False)
