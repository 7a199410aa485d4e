"""Registers for one function: spill to room, move spill code apart, assign.

Needs: virtual code whose calls carry their callees' contracts. Leaves: a register for every value still in registers,
reloads and stores for the rest, and the function's own contract: where callers put arguments, where they find results,
which registers it overwrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from binalloc.analysis.locations import Location
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.assign.assign import assign
from binalloc.transform.assign.scan import NoPlace, Placed
from binalloc.transform.spill.overlap import overlap
from binalloc.transform.spill.spill import Infeasible, NeedsMemory, Spilling, spill_to_room
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import ENTRY, VCode
from binalloc.transform.virtual.contract import Contract

__all__ = ["Infeasible", "NeedsMemory", "RegisterAllocation", "Spilling", "allocate_registers"]

SLACKS = (0, 1, 2, 4, 8)
"""Registers to leave free where values live, tried in order: pairs and quads that do not find room side by side need
some."""


@dataclass
class RegisterAllocation:
    """A coloured function: code (with spill code), colour per value, contract, and the memory values in use."""

    code: VCode
    colour: list[Register]
    contract: Contract
    memory: list[Value]


def allocate_registers(
    given: Analysed,
    available: int,
    contracts: Mapping[str, Contract],
    how: Spilling | None = None,
    *,
    may_spill: bool = True,
) -> RegisterAllocation:
    """Allocate the code to the registers in the bitset `available`.

    Raises Infeasible, naming function and instruction, and NeedsMemory where it would have to spill but may not.
    """
    how = how or Spilling()
    code = spill_to_room(given, available, contracts, how, may_spill=may_spill)
    for slack in SLACKS:
        if slack:
            code = spill_to_room(code, available, contracts, replace(how, slack=slack), may_spill=may_spill)
        try:
            return _finish(_placed(code, available, contracts, slack), contracts)
        except NoPlace as error:
            failed = error
            if not may_spill:
                raise NeedsMemory from error
    raise Infeasible(
        f"{available.bit_count()} registers do not hold the pairs and quads that are needed at once",
        place=f"{given.code.function.name}+{code.flat.origin_near(failed.item)}",
        found=f"{available.bit_count()} registers available",
        remedy="allow more registers per thread",
    )


def _placed(code: Analysed, available: int, contracts: Mapping[str, Contract], slack: int) -> Placed:
    """With its spill code moved apart, where that finds registers, too."""
    if any(item.memory >= 0 for item in code.flat.items):
        try:
            return assign(overlap(code, available, contracts, slack), available, contracts)
        except NoPlace:
            pass
    return assign(code, available, contracts)


def _finish(placed: Placed, contracts: Mapping[str, Contract]) -> RegisterAllocation:
    code, register = placed.code, placed.register
    clobbers = 0
    memory: set[Value] = set()
    arguments: dict[Location, Register] = {}
    for block in code.blocks:
        for item in block.items:
            if item.kind == ENTRY:
                arguments = {o.location: Register(register[o.values[0]]) for o in item.defs if o.location >= 0}
            else:
                for operand in item.defs:
                    for v in operand.values:
                        clobbers |= 1 << register[v]
            if item.callee:
                clobbers |= contracts[item.callee].clobbers
            if item.memory >= 0:
                memory.add(item.memory)
    results = {Location(loc): Register(r) for loc, r in sorted(placed.results.items())}
    contract = Contract(dict(sorted(arguments.items())), results, clobbers)
    return RegisterAllocation(code, [Register(r) for r in register], contract, sorted(memory))
