"""Registers for every function of a call graph, callees first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import WebNumber
from binalloc.transform.allocate.registers import (
    Infeasible,
    NeedsMemory,
    RegisterAllocation,
    Spilling,
    allocate_registers,
)
from binalloc.transform.allocate.scratch import scratch_registers
from binalloc.transform.virtual.analysed import Analysed, analysed, without_dead_copies
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.unwritten import unwritten
from binalloc.transform.virtual.virtualise import virtualise

MORE_THAN_BEFORE = 4
LOCAL_COST = 4.0
"""An access to local memory, in accesses to a slot: about the ratio of an L1 hit with its misses to shared memory."""

Improve = Callable[["Attempt", str, RegisterAllocation], RegisterAllocation]
"""Told of a function's allocation, before its callers see it; gives the one to take."""


@dataclass
class Attempt:
    """Registers for all functions of `program`, as far as they are allocated.

    known: virtual code of functions that call nobody, which is the same in every attempt.
    unwritten: webs that may be read without having been written.
    available: registers as bits. pointer: the slot pointer's register, -1 for none. By function: contracts (what
    callers see), allocations, scratch (registers free around each call).
    """

    program: ProgramAnalysis
    known: dict[str, Analysed]
    unwritten: dict[str, set[WebNumber]]
    available: int
    pointer: int
    contracts: dict[str, Contract] = field(default_factory=dict)
    allocations: dict[str, RegisterAllocation] = field(default_factory=dict)
    scratch: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def virtual(self, name: str) -> Analysed:
        """Virtual code of a function whose callees have contracts."""
        found = self.known.get(name)
        if found is None:
            found = without_dead_copies(analysed(virtualise(self.program, name, self.contracts, self.unwritten[name])))
            if not self.program.graph.sites[name]:
                self.known[name] = found
        return found

    @property
    def memory_cost(self) -> float:
        """Cost of a reload or store, in accesses to a slot."""
        return LOCAL_COST if self.pointer < 0 else 1.0

    @property
    def spilled(self) -> bool:
        return any(a.memory for a in self.allocations.values())


def colour_functions(attempt: Attempt, *, may_spill: bool = True, improve: Improve | None = None) -> None:
    """Registers for every function, callees first. Raises NeedsMemory where that takes spilling and it may not."""
    for name in attempt.program.graph.bottom_up:
        code = attempt.virtual(name)
        allocation = allocate_registers(
            code, attempt.available, attempt.contracts, Spilling(attempt.memory_cost), may_spill=may_spill
        )
        if improve is not None and allocation.memory:
            allocation = improve(attempt, name, allocation)
        attempt.allocations[name] = allocation
        attempt.scratch[name] = scratch_registers(allocation, attempt.available)
        for pair in attempt.scratch[name]:
            for register in pair:
                if register >= 0:
                    allocation.contract.clobbers |= 1 << register
        attempt.contracts[name] = allocation.contract


def allocate(program: ProgramAnalysis, registers: int, slots: int) -> Attempt:
    """Colour the call graph without memory values if that can be, else with the slot pointer set aside."""
    isa = program.isa
    known: dict[str, Analysed] = {}
    doubt = unwritten(program)
    demand = max(isa.highest_register(program[name].fn.instrs) + 1 for name in program.functions)
    # what it had is enough: more registers than that would only cost occupancy
    counts = {*range(max(demand, 1), min(registers, demand + MORE_THAN_BEFORE)), registers}
    for count in sorted(counts):
        attempt = Attempt(program, known, doubt, isa.limits.allocatable(count), -1)
        try:
            colour_functions(attempt, may_spill=False)
        except NeedsMemory:
            continue
        return attempt
    if slots and registers > 1:
        attempt = Attempt(program, known, doubt, isa.limits.allocatable(registers - 1), registers - 1)
        try:
            colour_functions(attempt)
        except Infeasible:
            pass  # the pointer's register may be the one that is missing
        else:
            return attempt
    attempt = Attempt(program, known, doubt, isa.limits.allocatable(registers), -1)
    colour_functions(attempt)
    return attempt
