"""This module keeps fewer blocks resident than there is room for, by shared memory reserved in the kernel's record.

A machine takes as many blocks as fit. If more blocks thrash a cache, CUDA users ask for shared memory that nothing
touches. Idle slots do the same here, so that the limit is in the binary itself, and holds for every launch of it.
Registers would not do: a kernel that has few blocks often has as many registers as a thread can have.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.errors import Refused
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.budget import slots_for_blocks
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.proof import reads_slots_place
from binalloc.pipeline.steps.version import Version, given_functions, make_version
from binalloc.printable import count

IDLE_SLOTS = "idle_slots"
"""Key in a provenance record for the number of the kernel's slots that nothing uses."""


def hold(module: Module, version: Version, request: Request, blocks: int) -> Version:
    """Return the version with at most `blocks` resident, by idle slots.

    The result is unproven if slots were added; it is the version itself if there is room for no more blocks anyhow.
    module: the input. Raises Refused if no amount of shared memory per block leaves exactly `blocks` resident, or if
    the kernel reads the address of its slots or the size of shared memory.
    """
    if version.blocks_per_sm <= blocks:
        return version
    read = reads_slots_place(set_of(module), given_functions(module, request))
    if read is not None:
        raise Refused(f"it reads {read[0]}, and so cannot be held at {count(blocks, 'block')}")
    use = kernel_use(version.module.function(version.kernel), request.launch, request.block)
    idle = idle_slots(request.machine, use, blocks)
    if idle is None:
        raise Refused(f"no shared memory of a block holds it at {count(blocks, 'block')}")
    padded = _padded(version.module, version.kernel, use.slots + idle)
    held = make_version(padded, request, [fn.name for fn in version.functions])
    return replace(
        version,
        module=padded,
        shared_bytes=held.shared_bytes,
        blocks_per_sm=held.blocks_per_sm,
        occupancy=held.occupancy,
        functions=held.functions,
        limiters=held.limiters,
        idle_slots=version.idle_slots + idle,
        name=f"{version.name}, held at {blocks}",
        proven=False,
    )


def idle_slots(machine: Machine, use: KernelUse, blocks: int) -> int | None:
    """Return the fewest idle slots per thread that leave room for `blocks` blocks and no more.

    use: resources of the kernel, with the slots it uses. The result is 0 if there is room for no more anyhow, and None
    if no number of slots leaves exactly `blocks`.
    """
    if machine.occupancy(use).blocks_per_sm <= blocks:
        return 0
    enough = slots_for_blocks(machine, use, blocks + 1)
    assert enough is not None, "there is room for so many with the slots that it has"
    most = enough + 1
    return most - use.slots if machine.occupancy(use.given(use.registers, most)).blocks_per_sm == blocks else None


def _padded(module: Module, kernel: str, slots: int) -> Module:
    """Return the module with `slots` slots per thread in the kernel's record. The code is shared, not copied."""

    def recorded(fn: Function) -> Function:
        """Return the function; if it is the kernel, with the slots in its record."""
        return replace(fn, info=replace(fn.info, slot_bytes=SLOT_ROW * slots)) if fn.name == kernel else fn

    return replace(module, functions=[recorded(fn) for fn in module])


def declared_idle(module: Module, kernel: str) -> int:
    """Return the number of idle slots of the kernel, by the record of its last rewrite."""
    found = [record.get(IDLE_SLOTS) for record in module.provenance if record.get("kernel") == kernel]
    said = found[-1] if found else None
    return max(0, said) if isinstance(said, int) else 0
