"""This module defines an allocator, which turns a call graph and a budget into registers, slots and local words.

The command line's help asks the rows of the table for their names. Therefore the modules that allocate are imported
where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT

if TYPE_CHECKING:
    from binalloc.analysis.program import ProgramAnalysis
    from binalloc.models.allocation.stack.slots import SlotPlan
    from binalloc.models.machines.model import Machine
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.functions.solver import SolverReport
    from binalloc.transform.allocate.spill_cost import SpillCost
    from binalloc.transform.order.clock import LatencyClock

CPSAT = "cpsat"  # the name of the allocator that has a solver
SOLVER_LIMIT = 4.0
"""Deterministic solver time per function where none is given, about seconds. More of it proves more bounds; chosen by
hand."""


@dataclass(frozen=True)
class Problem:
    """A problem is a kernel's call graph with a budget of registers and slots per thread."""

    program: ProgramAnalysis  #: the kernel's call graph, guarded calls made plain
    kernel: str  #: its name
    registers: int  #: budget per thread
    slots: int  #: budget per thread
    solver_limit: float  #: deterministic solver time per function, for allocators that have a solver
    #: gives latencies to hide, the cost of local memory and the budgets of some allocators; None if it is not known
    machine: Machine | None = None
    dynamic_shared: int = 0  #: bytes per block that the launch adds, for allocators with a budget of their own
    layout: str = DEFAULT_LAYOUT  #: of the slots of callers and callees, see `models.allocation.stack.layouts`

    @property
    def clock(self) -> LatencyClock | None:
        """Return the latencies that the order of instructions should hide."""
        from binalloc.transform.order.clock import LatencyClock

        return LatencyClock(self.machine) if self.machine is not None else None

    @property
    def far(self) -> float:
        """Return the cost of an access to local memory, in accesses to a slot."""
        from binalloc.models.machines.local_price import local_price
        from binalloc.transform.spill.prices import LOCAL_COST

        return local_price(self.machine) if self.machine is not None else LOCAL_COST


@dataclass(frozen=True)
class Plan:
    """A plan is an allocator's solution of a problem."""

    attempt: Attempt  #: registers and spill code of every function
    memory: SlotPlan  #: the places of spilled values
    solver: list[SolverReport] = field(default_factory=list)  #: the solver's reports
    #: lower bound of the cost of all plans for the problem with the same order of code and the same arguments passed in
    #: memory; None if not proven
    bound: float | None = None

    @cached_property
    def cost(self) -> SpillCost:
        """Return the cost of all spill code."""
        from binalloc.transform.allocate.spill_cost import spill_cost

        return spill_cost(self.attempt, self.memory)


class Allocator(Protocol):
    """An allocator takes a problem and makes a plan. `table` has one object of each."""

    @property
    def name(self) -> str:
        """Return the name on the command line."""

    @property
    def summary(self) -> str:
        """Return one line for the command line's help."""

    def allocate(self, problem: Problem) -> Plan:
        """Return a plan. Raises Infeasible where the registers do not even hold one instruction's operands."""

    def is_feasible(self, problem: Problem) -> bool:
        """Say whether `allocate` would succeed, in less time."""
