"""Slots or local words for the values that spill code keeps in memory, over the whole call graph."""

from __future__ import annotations

from binalloc.models.allocation.layouts import DEFAULT_LAYOUT
from binalloc.models.allocation.slots import Procedure, SlotPlan, plan_slots
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.frequencies import frequencies
from binalloc.transform.allocate.procedure import procedure_of


def plan_memory(
    attempt: Attempt, kernel: str, slots: int, priority: str, *, only_kernel: bool = False, layout: str = DEFAULT_LAYOUT
) -> SlotPlan:
    """Slots or local words for the memory values of the whole call graph. only_kernel: those of functions that it calls
    get no slots. layout: of the slots of callers and callees, by name."""
    procedures = memory_procedures(attempt)
    return plan_slots(procedures, kernel, slots, priority, only_kernel=only_kernel, layout=layout)


def memory_procedures(attempt: Attempt) -> dict[str, Procedure]:
    """The memory values of every function, callers first; numbered as in `RegisterAllocation.memory`."""
    frequency = frequencies(attempt.program)
    return {
        name: procedure_of(attempt.allocations[name], attempt.scratch[name], frequency[name])
        for name in attempt.program.graph.top_down
    }
