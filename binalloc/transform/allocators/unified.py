"""This module has allocator `unified`, the unified paper's (section 3), with nothing of ours beyond what the paper
leaves open.

Values are whole variables (3.1). Each is in a register, in a slot or in a local word for all its life. Every access of
a value in memory is replaced, and nothing is recomputed. The paper takes the values in memory from the vendor's
compiler. Here the cheapest values per relieved point are spilled, as in its references [4] and [5]. Slots go by
frequency in composition instructions, and colouring takes the highest degree first (3.2.2). The moving stack packs all
live slots at every call (3.2.1). One register is the slot pointer. A second is set aside for moves where some call has
no free register (section 5), unless the budget then fails. Arguments are passed in registers as long as they fit; the
paper knows no others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Problem
from binalloc.transform.allocators.heuristic import Heuristic

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt
    from binalloc.transform.allocate.functions.registers import RegisterAllocation


def _whole(attempt: Attempt, name: str) -> RegisterAllocation:
    from binalloc.transform.allocate.functions.whole import whole_allocation

    return whole_allocation(attempt.virtual(name), attempt.available, attempt.contracts)


class UnifiedAllocator(Heuristic):
    """Allocator `unified` spills whole variables, gives slots by frequency, and moves at every call."""

    def attempt(self, problem: Problem) -> Attempt:
        from binalloc.transform.allocate.attempt import as_it_stands, colour_functions
        from binalloc.transform.allocate.functions.registers import Infeasible
        from binalloc.transform.allocate.passing import allocate_passing

        asked = problem.program, problem.registers, problem.slots
        first = allocate_passing(*asked, _whole, fits=as_it_stands, far=problem.far)
        if first.pointer < 1 or all(min(pair) >= 0 for calls in first.scratch.values() for pair in calls):
            return first
        shuffle = first.pointer - 1
        available = problem.program.isa.limits.allocatable(shuffle)
        second = replace(first, available=available, shuffle=shuffle, contracts={}, allocations={}, scratch={})
        try:
            colour_functions(second, _whole)
        except Infeasible:
            return first
        return second


UNIFIED = UnifiedAllocator(
    "unified", "whole values, slots by frequency, moving stack: the unified paper's", True, "frequency"
)
