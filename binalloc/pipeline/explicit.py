"""This module has the budget that a request names in numbers, and what the version made for it differs in."""

from __future__ import annotations

from dataclasses import replace

from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget, levels, most_blocks, slots_for_blocks
from binalloc.pipeline.directives import obeyed
from binalloc.pipeline.infeasible import too_many_slots
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count


def explicit_budget(module: Module, request: Request) -> Budget:
    """Return the budget of registers and slots that the request names.

    Registers that it does not name follow from the blocks; without blocks they are all that the machine allows. Without
    slots in the request, as many are given as fit beside the blocks that the registers allow. Raises UsageError for
    registers out of range, and Refused if the machine has no room for the blocks or the slots.
    """
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    machine = request.machine
    limit = machine.limits.registers_per_thread
    bound = obeyed(module, request).registers or limit
    if request.registers is not None and not 1 <= request.registers <= limit:
        raise UsageError(
            f"{machine.name} cannot give a thread that many registers",
            place=Hint("{registers}"),
            found=request.registers,
            expected=f"1 to {limit}",
        )
    budget = Budget(0, min(limit, bound), 0)
    if request.blocks is not None:
        found = next((b for b in levels(machine, use) if b.blocks == request.blocks), None)
        if found is None:
            most = most_blocks(machine, use)
            raise Refused(
                f"{machine.name} has no room at once for {count(request.blocks, 'block')} of "
                f"{count(use.threads, 'thread')}",
                place=Hint("{blocks}"),
                found=request.blocks,
                expected=f"1 to {most}",
            )
        budget = replace(found, registers=min(found.registers, bound))
    registers = budget.registers if request.registers is None else request.registers
    slots = request.slots
    if slots is None:
        given = use.given(registers)
        slots = slots_for_blocks(machine, given, request.blocks or machine.occupancy(given).blocks_per_sm) or 0
    if use.given(registers, slots).block_shared > machine.limits.shared_per_block:
        raise too_many_slots(request, use, slots)
    return Budget(budget.blocks, registers, slots)


def require_blocks(module: Module, request: Request, version: Version) -> None:
    """Raise Refused if fewer blocks are resident than the request asks for beside registers or slots."""
    if request.blocks is None or version.blocks_per_sm >= request.blocks:
        return
    most = explicit_budget(module, replace(request, registers=None, slots=None))
    raise Refused(
        f"there is no room for {count(request.blocks, 'block')} with that many registers and slots",
        file=module.path or None,
        found=f"{count(version.registers, 'register')} and {count(version.slots, 'slot')}, room for "
        f"{version.blocks_per_sm}",
        expected=f"at most {most.registers} registers, and {most.slots} slots beside so many",
        remedy=Hint("Leave out {registers} and {slots}, or ask for fewer {blocks}."),
    )


def as_asked(request: Request, version: Version, not_held: str) -> str:
    """Return "as asked", and how the result differs from what was asked.

    not_held: why more blocks are resident than asked for; "" if they are not.
    """
    notes = []
    if not_held:
        resident = count(version.blocks_per_sm, "block")
        notes.append(f"{resident} are resident with what {request.blocks} would leave: {not_held}")
    if version.idle_slots:
        notes.append(f"{count(version.idle_slots, 'slot')} that nothing uses leave room for no more blocks")
    if request.registers is not None and version.registers < request.registers:
        notes.append(f"{version.registers} of {count(request.registers, 'register')} are used")
    if request.slots and version.slots < request.slots:
        notes.append(f"{version.slots} of {count(request.slots, 'slot')} are used")
    return "; ".join(["as asked", *notes])
