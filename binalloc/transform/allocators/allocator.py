"""What an allocator is: from a call graph and a budget to registers, slots and local words.

The rows of the table are asked for their names by the command line's help: what allocates is imported where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from binalloc.analysis.program import ProgramAnalysis
    from binalloc.models.allocation.slots import SlotPlan
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.solver import SolverReport


@dataclass(frozen=True)
class Problem:
    """program: the kernel's call graph, guarded calls made plain. registers, slots: the budget per thread.

    solver_limit: deterministic solver time per function, for allocators that have a solver.
    """

    program: ProgramAnalysis
    kernel: str
    registers: int
    slots: int
    solver_limit: float


@dataclass(frozen=True)
class Plan:
    """attempt: registers and spill code of every function. memory: where what is spilled lies. solver: its reports."""

    attempt: Attempt
    memory: SlotPlan
    solver: list[SolverReport] = field(default_factory=list)


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
