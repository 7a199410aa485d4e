"""This module finds the budget that a kernel's own directives set where the user asks for none.

`models.machines.author_bounds` says what each directive bounds on a machine. This module selects the directives to
obey, and finds the cost of obeying them. --registers overrides all directives, --blocks overrides the directives on
blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.models.machines.author_bounds import Directive, directives
from binalloc.models.machines.budget import Budget, levels, most_blocks, slots_for_blocks
from binalloc.models.machines.ptxas_slots import ptxas_slots
from binalloc.printable import count
from binalloc.transform.allocators.table import BASELINE

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.kernel_use import KernelUse
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Version

PTXAS_SMEM = "ptxas-smem"
"""Name of the allocator that spills to shared memory as ptxas does."""


@dataclass(frozen=True)
class Obeyed:
    """This record has the directives of a kernel, and the bounds that the obeyed ones set."""

    said: tuple[Directive, ...]  #: all directives of the kernel
    overridden: dict[str, str]  #: for each overridden directive, by its text, the option that overrides it
    registers: int | None  #: the most registers per thread by the obeyed directives; None if they set no limit
    blocks: int | None  #: the fewest blocks per SM by the obeyed directives; None if they set no limit
    smem_spilling: bool  #: whether the kernel has ptxas' pragma for spilling to shared memory

    def binding(self, registers: int) -> list[str]:
        """Return the texts of the obeyed directives that leave a thread fewer registers than `registers`."""
        return [
            d.text
            for d in self.said
            if d.text not in self.overridden and d.registers is not None and d.registers < registers
        ]


def obeyed(module: Module, request: Request) -> Obeyed:
    """Return the directives of the kernel of `request`, and the bounds that they set. The request names the kernel."""
    info = module.function(request.kernel).info
    said = directives(request.machine, info)
    over: dict[str, str] = {}
    for one in said:
        if request.registers is not None and one.registers is not None:
            over[one.text] = "registers"
        elif request.blocks is not None and one.blocks is not None:
            over[one.text] = "blocks"
    kept = [one for one in said if one.text not in over]
    return Obeyed(
        tuple(said),
        over,
        min((one.registers for one in kept if one.registers is not None), default=None),
        max((one.blocks for one in kept if one.blocks is not None), default=None),
        info.smem_spilling,
    )


def bounded_levels(module: Module, request: Request, use: KernelUse) -> list[Budget]:
    """Return the levels of the machine that the kernel's directives allow, with the registers left to a thread.

    A level must have as many blocks as the directives ask for. If shared memory has no room for so many, the level with
    the most blocks is returned.
    """
    bound = obeyed(module, request)
    every = levels(request.machine, use)
    if bound.registers is not None:
        cap = bound.registers
        every = [replace(one, registers=min(one.registers, cap)) for one in every]
    if bound.blocks is None or not every:
        return every
    enough = min(bound.blocks, every[-1].blocks)
    return [one for one in every if one.blocks >= enough]


@dataclass(frozen=True)
class Cost:
    """A cost has the resources of a version that obeys the directives."""

    allocator: str  #: name of the allocator that made the version; "" for the input as it is
    registers: int  #: per thread
    slots: int  #: per thread
    spill_bytes: int  #: bytes of local memory per thread that spills take
    blocks_per_sm: int  #: resident blocks


@dataclass(frozen=True)
class KeptDirectives:
    """This record has the obeyed directives, and the cost of obeying them."""

    obeyed: Obeyed
    #: costs of the input alone if it obeys the directives as it is. Otherwise costs by allocator `local`, as compilers
    #: spill by default; with the pragma, by ptxas' way to spill to shared memory; and by the request's own allocator.
    #: Empty if no directive limits registers. An allocator that finds no allocation is left out.
    costs: tuple[Cost, ...]
    demand: int  #: registers per thread of the input


def kept(module: Module, request: Request, given: Version) -> KeptDirectives:
    """Return the obeyed directives, and the cost of obeying them.

    given: the input as it is on the machine, or its replacement there (`original.baseline`).
    """
    bound = _fitting(obeyed(module, request), module, request)
    info = module.function(request.kernel).info
    if bound.registers is None:
        return KeptDirectives(bound, (), info.registers)
    if info.registers <= bound.registers:
        return KeptDirectives(bound, (_cost(given, given.allocated),), info.registers)
    asked = {BASELINE: 0}
    if bound.smem_spilling:
        dynamic = request.launch.dynamic_shared if request.launch is not None else 0
        asked[PTXAS_SMEM] = ptxas_slots(request.machine, info, dynamic)
    asked.setdefault(request.allocator, _slots(module, request, bound.registers))
    found = (_version(module, request, bound.registers, slots, name) for name, slots in asked.items())
    costs = tuple(_cost(version, version.allocator) for version in found if version is not None)
    return KeptDirectives(bound, costs, info.registers)


def _fitting(bound: Obeyed, module: Module, request: Request) -> Obeyed:
    """Lower the number of blocks that directives ask for to the room in shared memory, and note it in them."""
    from binalloc.pipeline.steps.kernels import kernel_use

    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    most = most_blocks(request.machine, use)
    if not most or bound.blocks is None or bound.blocks <= most:
        return bound
    held = f"{count(most, 'block')} on {request.machine.name}"
    room = f"{use.shared_bytes:,} bytes of shared memory leave room for {held}"
    said = tuple(
        replace(one, note=f"{room}: so many are kept to") if one.blocks is not None and one.blocks > most else one
        for one in bound.said
    )
    return replace(bound, said=said, blocks=most)


def _cost(version: Version, allocator: str) -> Cost:
    """Return the resources of a version. allocator: that made it, "" for the input as it is."""
    spilled = version.module.function(version.kernel).info.spill_local
    return Cost(allocator, version.registers, version.slots, spilled, version.blocks_per_sm)


def _slots(module: Module, request: Request, registers: int) -> int:
    """Return the most slots per thread that leave room for as many blocks as `registers` allow."""
    from binalloc.pipeline.steps.kernels import kernel_use

    use = kernel_use(module.function(request.kernel), request.launch, request.block).given(registers)
    blocks = request.machine.occupancy(use).blocks_per_sm
    return slots_for_blocks(request.machine, use, blocks) or 0 if blocks else 0


def _version(module: Module, request: Request, registers: int, slots: int, allocator: str) -> Version | None:
    """Build the version of a budget, unproven; return None if the budget is infeasible."""
    from binalloc.pipeline.steps.build import build_unproven

    try:
        return build_unproven(module, replace(request, explain=False), registers, slots, allocator)
    except Refused:
        return None


@dataclass(frozen=True)
class CompiledKernel:
    """This record is a kernel as its compiler would make it, with the registers that its directives leave."""

    binding: tuple[str, ...]  #: directives that leave fewer registers than the kernel has, as texts
    registers: int  #: per thread
    local_bytes: int  #: bytes of local memory per thread, spills included
    spill_bytes: int  #: bytes of local memory per thread that spills take
    slots: int  #: per thread


def compiled(
    module: Module, kernel: str, machine: Machine, registers: int, dynamic_shared: int = 0
) -> CompiledKernel | None:
    """Return `kernel` as compiled under its own directives; None if they leave it `registers`.

    It spills to local memory, and with the pragma to as many slots as ptxas gives. Raises Refused, with the names of
    the directives, if no code can obey them.
    """
    from binalloc.pipeline.steps.kernels import local_bytes
    from binalloc.transform.allocate.functions.registers import Infeasible
    from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget

    info = module.function(kernel).info
    said = [d for d in directives(machine, info) if d.registers is not None and d.registers < registers]
    if not said:
        return None
    most = min(d.registers for d in said if d.registers is not None)
    texts = tuple(d.text for d in said)
    slots = ptxas_slots(machine, info, dynamic_shared) if info.smem_spilling else 0
    allocator = PTXAS_SMEM if slots else BASELINE
    try:
        made = rewrite_to_budget(
            prepare(module, kernel), most, slots, allocator, machine=machine, dynamic_shared=dynamic_shared
        )
    except Infeasible as error:
        raise Refused(
            f"{kernel} cannot do with {most} registers ({error.message})", file=module.path or None,
            place=error.place, expected=f"what {' and '.join(texts)} says",
        ) from error  # fmt: skip
    found = made.module.function(kernel).info
    return CompiledKernel(texts, found.registers, local_bytes(found), found.spill_local, found.slots)
