"""What an allocator is: from a call graph and a budget to registers, slots and local words.

The rows of the table are asked for their names by the command line's help: what allocates is imported where it is used.
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
    from binalloc.transform.order.clock import Clock

CPSAT = "cpsat"
"""The name of the allocator that has a solver."""
SOLVER_LIMIT = 4.0
"""Deterministic solver time per function, about seconds, where none is given."""


@dataclass(frozen=True)
class Problem:
    """program: the kernel's call graph, guarded calls made plain. registers, slots: the budget per thread.

    solver_limit: deterministic solver time per function, for allocators that have a solver. machine: whose latencies
    the order of instructions is to hide and say what local memory costs; and, with dynamic_shared (bytes per block that
    the launch adds), for allocators with a budget of their own; None where it is not known. layout: of the slots of
    callers and callees, see `models.allocation.layouts`.
    """

    program: ProgramAnalysis
    kernel: str
    registers: int
    slots: int
    solver_limit: float
    machine: Machine | None = None
    dynamic_shared: int = 0
    layout: str = DEFAULT_LAYOUT

    @property
    def clock(self) -> Clock | None:
        """What the order of instructions goes by."""
        from binalloc.transform.order.clock import Clock

        return Clock(self.machine) if self.machine is not None else None

    @property
    def far(self) -> float:
        """What an access to local memory costs, in accesses to a slot."""
        from binalloc.models.machines.local_price import local_price
        from binalloc.transform.spill.prices import LOCAL_COST

        return local_price(self.machine) if self.machine is not None else LOCAL_COST


@dataclass(frozen=True)
class Plan:
    """attempt: registers and spill code of every function. memory: where what is spilled lies. solver: its reports.
    bound: no plan for the problem costs less whose code is in that order and passes the same arguments in memory; None
    where that is not proven."""

    attempt: Attempt
    memory: SlotPlan
    solver: list[SolverReport] = field(default_factory=list)
    bound: float | None = None

    @cached_property
    def cost(self) -> SpillCost:
        """Of all spill code."""
        from binalloc.transform.allocate.spill_cost import spill_cost

        return spill_cost(self.attempt, self.memory)


class Allocator(Protocol):
    """One object of each is in `table`."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def summary(self) -> str:
        """For the command line's help."""

    def allocate(self, problem: Problem) -> Plan:
        """Raises Infeasible where the registers do not even hold one instruction's operands."""

    def is_feasible(self, problem: Problem) -> bool:
        """Whether it allocates, sooner told."""
