"""Registers for one function: spill to room, move spill code apart, assign.

Needs: virtual code whose calls carry their callees' contracts. Leaves: a register for every value still in registers,
reloads and stores for the rest, and the function's own contract: where callers put arguments, where they find results,
which registers it overwrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from binalloc.analysis.locations import Location
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.assign.assign import assign, homeless, settle
from binalloc.transform.assign.fewest import fewest_homes
from binalloc.transform.assign.homes import find_all_homes
from binalloc.transform.assign.scan import NoPlace, Placed
from binalloc.transform.spill.overlap import overlap
from binalloc.transform.spill.spill import Infeasible, NeedsMemory, Round, Spilling, spill_to_room
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import ENTRY, VCode
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.room import registers_needed

__all__ = ["Infeasible", "NeedsMemory", "RegisterAllocation", "Spilling", "allocate_registers"]

SLACKS = (0, 1, 2, 4, 8)
"""Registers to leave free where values live, tried in order: pairs and quads that do not find room side by side need
some."""
ROUNDS = 8
"""How often code is spilled further because pairs and quads, loops and calls take more registers than are live."""


@dataclass
class RegisterAllocation:
    """A coloured function: code (with spill code), colour per value, contract, and the memory values in use. given: the
    code before any spilling, in the order that was taken. rounds: how it came to its spill code."""

    code: VCode
    colour: list[Register]
    contract: Contract
    memory: list[Value]
    given: Analysed
    rounds: list[Round] = field(default_factory=list)


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
    how = replace(how or Spilling(), rounds=[])
    code = spill_to_room(given, available, contracts, how, may_spill=may_spill)
    for slack in SLACKS:
        if slack:
            code = spill_to_room(code, available, contracts, replace(how, slack=slack), may_spill=may_spill)
        try:
            return replace(finish(_placed(code, available, contracts, slack), contracts, given), rounds=how.rounds)
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


def allocate_fewest(
    given: Analysed, limits: SetLimits, contracts: Mapping[str, Contract], how: Spilling
) -> tuple[RegisterAllocation, int]:
    """Allocate the code to as few registers as keep every value in one place, and tell how many those are; where there
    are fewer, spill until the rest find places. Raises Infeasible."""
    most = limits.registers
    available = limits.allocatable(most)
    code = homeless(given, contracts)
    least = registers_needed(given.flat, given.live, code.sites)
    homes, count = fewest_homes(code, least, most)
    if count <= most:
        return finish(settle(code, homes, limits.allocatable(count)), contracts, given), count
    slack = count - max(least, most)
    spilled = given
    for _ in range(ROUNDS):
        spilled = spill_to_room(spilled, available, contracts, replace(how, slack=slack))
        code = homeless(spilled, contracts)
        found = find_all_homes(code.bundles, code.wishes(available), available, code.end)
        if found is not None:
            return finish(settle(code, found, available), contracts, given), count
        slack = max(4, 2 * slack)
    return allocate_registers(spilled, available, contracts, how), count


def _placed(code: Analysed, available: int, contracts: Mapping[str, Contract], slack: int) -> Placed:
    """With its spill code moved apart, where that finds registers, too."""
    if any(item.memory >= 0 for item in code.flat.items):
        try:
            return assign(overlap(code, available, contracts, slack), available, contracts)
        except NoPlace:
            pass
    return assign(code, available, contracts)


def finish(placed: Placed, contracts: Mapping[str, Contract], given: Analysed) -> RegisterAllocation:
    """The allocation that has those registers: what callers must know of it, and what it keeps in memory."""
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
    return RegisterAllocation(code, [Register(r) for r in register], contract, sorted(memory), given)
