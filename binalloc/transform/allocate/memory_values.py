"""This module gives slots or local words to the values that spill code keeps in memory, over the whole call graph."""

from __future__ import annotations

from collections.abc import Callable

from binalloc.bitset import mask_from
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT
from binalloc.models.allocation.stack.slots import Procedure, SlotPlan, plan_slots
from binalloc.models.allocation.terms import Value
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.functions.procedure import procedure_of

Candidate = Callable[[str, Value], bool]  # says whether a memory value of a function may have a slot


def plan_memory(
    attempt: Attempt,
    kernel: str,
    slots: int,
    priority: str,
    candidate: Candidate | None = None,
    *,
    layout: str = DEFAULT_LAYOUT,
) -> SlotPlan:
    """Return slots or local words for the memory values of the whole call graph. candidate: says which of them may have
    slots; all if None. layout: of the slots of callers and callees, by name."""
    candidates = None
    if candidate is not None:
        candidates = {
            name: mask_from(k for k, v in enumerate(allocation.memory) if candidate(name, v))
            for name, allocation in attempt.allocations.items()
        }
    procedures = memory_procedures(attempt)
    return plan_slots(procedures, kernel, slots, priority, candidates, layout=layout, far=attempt.far)


def memory_procedures(attempt: Attempt) -> dict[str, Procedure]:
    """Return the memory values of every function, callers first. They are numbered as in
    `RegisterAllocation.memory`."""
    frequency = attempt.program.runs
    return {
        name: procedure_of(attempt.allocations[name], attempt.scratch[name], frequency[name])
        for name in attempt.program.graph.top_down
    }
