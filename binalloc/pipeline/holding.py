"""Fewer blocks resident than there is room for: shared memory set aside in the kernel's record.

Machines take as many blocks as fit. What CUDA users do to have fewer, when they thrash a cache, is to ask for shared
memory that nobody touches; here it is slots that nothing uses, so that the binary itself says it, and every launch of
it keeps to it. Registers would not do: a kernel that has few blocks often asks for as many as a thread can have.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.budget import slots_for_blocks
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps import Version, kernel_use, make_version, reads_slots_place

IDLE_SLOTS = "idle_slots"
"""In a record of provenance: how many of the kernel's slots nothing uses."""


def hold(version: Version, request: Request, blocks: int) -> Version | None:
    """The version with `blocks` resident, unproven if it was not so before; itself where there is room for no more.
    None where no shared memory that a block can have makes it so few, or the kernel asks where its slots would lie."""
    if version.blocks_per_sm <= blocks:
        return version
    module = version.module
    use = kernel_use(module.function(version.kernel), request.launch)
    enough = slots_for_blocks(request.machine, use, blocks + 1)
    if enough is None or reads_slots_place(set_of(module), version.functions) is not None:
        return None
    idle = max(enough + 1, use.slots + 1) - use.slots
    if request.machine.occupancy(use.given(use.registers, use.slots + idle)).blocks_per_sm != blocks:
        return None
    padded = _padded(module, version.kernel, use.slots + idle)
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


def _padded(module: Module, kernel: str, slots: int) -> Module:
    """The module with so many slots in the kernel's record; its code is shared with it."""

    def told(fn: Function) -> Function:
        return replace(fn, info=replace(fn.info, slot_bytes=SLOT_ROW * slots)) if fn.name == kernel else fn

    return replace(module, functions=[told(fn) for fn in module])


def declared_idle(module: Module, kernel: str) -> int:
    """The slots of the kernel that nothing is said to use, by the record of the rewrite that set them aside."""
    found = [record.get(IDLE_SLOTS) for record in module.provenance if record.get("kernel") == kernel]
    return max((n for n in found if isinstance(n, int) and n > 0), default=0)
