"""This module counts the spill code of a finished allocation, and its cost.

It needs registers and spill code of every function and the place of each memory value. It leaves numbers of what will
be emitted: accesses in the code, and their cost by loops and calls in accesses to a slot, as allocators price them.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.models.allocation.stack.slot_plan import PER_MOVE, SlotPlan
from binalloc.transform.allocate.argument_homes import argument_homes, passes
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.spill.comeback import RECOMPUTED
from binalloc.transform.spill.prices import SLOT_COST
from binalloc.transform.virtual.code import AGAIN, COPY, EXCHANGE, RELOAD, STORE, Item


def prices(far: float) -> dict[str, float]:
    """Return the price of an access to a slot, of one to local memory (`far`), and of an instruction that
    recomputes."""
    return {"slot": SLOT_COST, "local": far, "recomputed": RECOMPUTED}


@dataclass(frozen=True)
class SpillCost:
    """The spill cost of a call graph counts instructions in the code, and weighs them."""

    local: int = 0  #: accesses to local memory
    slot: int = 0  #: accesses to slots
    recomputed: int = 0  #: instructions that recompute
    moves: int = 0  #: accesses to slots that move values around calls
    copies: int = 0  #: copies between registers that are not in the input
    #: of all but the copies, by `prices` and the estimated runs of each instruction per run of the kernel
    cost: float = 0.0


def spill_cost(attempt: Attempt, memory: SlotPlan) -> SpillCost:
    """Return the cost of the registers and spill code of `attempt`, with memory values at the places of `memory`."""
    work = _Counting(attempt, memory)
    for name, runs in attempt.program.runs.items():
        work.function(name, runs)
    return SpillCost(work.local, work.slot, work.recomputed, work.moves, work.copies, work.cost)


class _Counting:
    """A count adds up the spill code of all functions."""

    def __init__(self, attempt: Attempt, memory: SlotPlan) -> None:
        self.attempt, self.memory = attempt, memory
        self.local = self.slot = self.recomputed = self.moves = self.copies = 0
        self.cost = 0.0
        self.prices = prices(attempt.far)

    def function(self, name: str, runs: float) -> None:
        """Add one function. runs: of it, per run of the kernel."""
        allocation, plan = self.attempt.allocations[name], self.memory.procedures[name]
        in_slot = {allocation.memory[k] for k in plan.slot_of}
        sites = iter(plan.sites)
        for item in allocation.code.items():
            weight = runs * item.weight
            if item.kind in (RELOAD, STORE):
                self._access(item.memory in in_slot, weight)
            elif item.kind == AGAIN:
                self.recomputed += 1
                self.cost += weight * self.prices["recomputed"]
            elif item.kind in (COPY, EXCHANGE):
                self._copy(name, item)
            elif item.callee:
                site = next(sites)
                if self.memory.procedures[site.callee].need:
                    self.moves += PER_MOVE * site.moved
                    self.cost += weight * self.prices["slot"] * PER_MOVE * site.moved
        for callee, passed in passes(allocation):
            self._passed(callee, passed, runs)

    def _passed(self, callee: str, passed: list[Item], runs: float) -> None:
        """Count the stores of arguments that the callee has in memory."""
        homes = argument_homes(self.attempt.allocations[callee], self.memory.procedures[callee])
        for item in passed:
            if item.passes in homes:
                self._access(homes[item.passes].in_slot, runs * item.weight)

    def _access(self, in_slot: bool, weight: float) -> None:
        if in_slot:
            self.slot += 1
            self.cost += weight * self.prices["slot"]
        else:
            self.local += 1
            self.cost += weight * self.prices["local"]

    def _copy(self, name: str, item: Item) -> None:
        colour = self.attempt.allocations[name].colour
        targets = [colour[o.values[0]] for o in item.defs]
        if item.kind == EXCHANGE:
            self.copies += len(self.attempt.program.isa.build.exchange(targets[0], targets[1]))
        elif item.origin < 0:
            self.copies += targets[0] != colour[item.uses[0].values[0]]
