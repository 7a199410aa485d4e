"""This module has allocator `regdem`, after Sakdhnagool, Sabne and Eigenmann, "RegDem: Increasing GPU Performance via
Shared Memory Register Spilling" (arXiv 1907.02894): the binary as it is, with whole architectural registers in shared
memory.

Every register of the input stays one unit, in all functions of the kernel: it is renamed or demoted, nothing is
coloured, reordered or recomputed. A demoted register is one word per thread. It is loaded before each instruction that
reads it and stored behind each that writes it, through a few registers set aside for that. One more holds the words'
address. Pairs and quads are demoted as a whole. Needless loads and stores within a block are then removed, and the
remaining registers are moved together to fit the target.

The paper has several orders of demotion, and takes the best program by a model of its cycles. Here there are two
(`demotion.ORDERS`): by accesses weighted by loops, and the same after conflicts of operands. The plan that costs less
is taken. The paper leaves some points open:

- Calls. A register that is an argument or result anywhere is not demoted: caller and callee have no word in common. All
  others may be, in every function; the moving stack keeps a caller's words out of its callees' way.
- Too few slots: the words with fewest accesses are in local memory. All are there without a slot, or without a register
  for their address.
- The input's own spills to local memory stay there. Words that are arguments or results of calls get a register each.
- A budget is refused (Infeasible) if the registers that cannot be demoted, with the few set aside, do not fit it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.transform.allocators.allocator import Plan, Problem

if TYPE_CHECKING:
    from binalloc.models.allocation.terms import Value
    from binalloc.transform.allocate.attempt import Attempt


class RegDem:
    """Allocator `regdem` puts whole registers of the input into memory and compacts the others."""

    name = "regdem"
    summary = "whole registers of the input to slots, the others stay: the RegDem paper's"

    def allocate(self, problem: Problem) -> Plan:
        from binalloc.transform.allocate.demoted import Demotions
        from binalloc.transform.allocate.demotion import ORDERS

        work = Demotions(problem.program, problem.far)
        as_it_is = work.attempt(problem.registers, None, pointer=False)
        if as_it_is is not None:
            return _plan(as_it_is, problem)
        for pointer in (True, False) if problem.slots and problem.registers > 1 else (False,):
            found = [work.attempt(problem.registers, order, pointer=pointer) for order in ORDERS]
            plans = [_plan(attempt, problem) for attempt in found if attempt is not None]
            if plans:
                return min(plans, key=lambda plan: plan.cost.cost)
        raise work.refusal(problem.registers)

    def is_feasible(self, problem: Problem) -> bool:
        from binalloc.transform.allocate.functions.registers import Infeasible

        try:
            self.allocate(problem)
        except Infeasible:
            return False
        return True


def _plan(attempt: Attempt, problem: Problem) -> Plan:
    """Return the plan, in which only demoted registers have slots."""
    from binalloc.transform.allocate.memory_values import plan_memory

    def demoted(name: str, value: Value) -> bool:
        return value in attempt.allocations[name].code.before

    slots = problem.slots if attempt.pointer >= 0 else 0
    return Plan(attempt, plan_memory(attempt, problem.kernel, slots, "cost", demoted, layout=problem.layout))


REGDEM = RegDem()
