"""This module has allocator `ptxas-smem`, which spills to shared memory as the vendor's compiler does on request
(`enable_smem_spilling`).

Measured on ptxas 13.0: in a kernel with calls only the entry's own spills move to shared memory, and spills of called
functions stay in local memory. There are as many slots as full thread occupancy leaves (`models.machines.ptxas_slots`),
even where registers already forbid that occupancy. Dynamic shared memory is not accepted: with it, everything stays in
local memory. Which values ptxas spills, and which of them get slots, is not known: both are chosen as `best` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.heuristic import Heuristic, own_slots

if TYPE_CHECKING:
    from binalloc.transform.allocate.attempt import Attempt


class PtxasSmem(Heuristic):
    """Allocator `ptxas-smem` has slots for the kernel's own function, within the vendor's budget."""

    def allocate(self, problem: Problem) -> Plan:
        problem = replace(problem, slots=own_slots(problem))
        return self.plan(self.attempt(problem), problem)

    def plan(self, attempt: Attempt, problem: Problem) -> Plan:
        from binalloc.transform.allocate.memory_values import plan_memory

        kernel = problem.kernel
        slots = problem.slots if attempt.pointer >= 0 else 0
        memory = plan_memory(
            attempt, kernel, slots, self.priority, lambda name, _: name == kernel, layout=problem.layout
        )
        return Plan(attempt, memory)


PTXAS_SMEM = PtxasSmem("ptxas-smem", "slots for the kernel's own spills, as the vendor's compiler", True, "cost")
