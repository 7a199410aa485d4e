"""The budget that a kernel's own directives give it, where the user asks for none.

`models.machines.author_bounds` says what each directive bounds on a machine; here is which of them are obeyed, and what
keeping to them costs. --registers takes the place of all of them, --blocks that of those that speak of blocks.
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
"""The allocator that spills to shared memory as ptxas does."""


@dataclass(frozen=True)
class Obeyed:
    """said: all directives of the kernel. overridden: by which options, by the directive's text. registers: the most
    per thread, blocks: the least per SM that those which are obeyed leave; None without such."""

    said: tuple[Directive, ...]
    overridden: dict[str, str]
    registers: int | None
    blocks: int | None
    smem_spilling: bool

    def binding(self, registers: int) -> list[str]:
        """Texts of those that leave a thread fewer registers."""
        return [
            d.text
            for d in self.said
            if d.text not in self.overridden and d.registers is not None and d.registers < registers
        ]


def obeyed(module: Module, request: Request) -> Obeyed:
    """What the kernel of `request`, whose name is known, is bound to."""
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
    """The levels of the machine that the kernel's directives leave: of each the registers, and of all those with blocks
    enough. Where shared memory has no room for so many, that of the most blocks."""
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
    """What a version that keeps to the directives takes: registers and slots per thread, bytes of local memory that
    spills take of each, resident blocks. allocator: that made it; "" for the input as it is."""

    allocator: str
    registers: int
    slots: int
    spill_bytes: int
    blocks_per_sm: int


@dataclass(frozen=True)
class Kept:
    """What is obeyed, and what keeping to it costs: by allocator `local`, as compilers do without being asked for more;
    with the pragma as ptxas then does; and by the request's own. The input alone where that keeps to it. No costs
    without directives that are obeyed, and none of allocators that find no way. demand:
    registers of the input."""

    obeyed: Obeyed
    costs: tuple[Cost, ...]
    demand: int


def kept(module: Module, request: Request, given: Version) -> Kept:
    """given: the input as it is on the machine, or what takes its place there (`original.baseline`)."""
    bound = _fitting(obeyed(module, request), module, request)
    info = module.function(request.kernel).info
    if bound.registers is None:
        return Kept(bound, (), info.registers)
    if info.registers <= bound.registers:
        return Kept(bound, (_cost(given, given.allocated),), info.registers)
    asked = {BASELINE: 0}
    if bound.smem_spilling:
        dynamic = request.launch.dynamic_shared if request.launch is not None else 0
        asked[PTXAS_SMEM] = ptxas_slots(request.machine, info, dynamic)
    asked.setdefault(request.allocator, _slots(module, request, bound.registers))
    found = (_version(module, request, bound.registers, slots, name) for name, slots in asked.items())
    costs = tuple(_cost(version, version.allocator) for version in found if version is not None)
    return Kept(bound, costs, info.registers)


def _fitting(bound: Obeyed, module: Module, request: Request) -> Obeyed:
    """The directives ask for no more blocks than shared memory has room for; where they did, their note says so."""
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
    spilled = version.module.function(version.kernel).info.spill_local
    return Cost(allocator, version.registers, version.slots, spilled, version.blocks_per_sm)


def _slots(module: Module, request: Request, registers: int) -> int:
    """As many as leave room for the blocks that so many registers do."""
    from binalloc.pipeline.steps.kernels import kernel_use

    use = kernel_use(module.function(request.kernel), request.launch, request.block).given(registers)
    blocks = request.machine.occupancy(use).blocks_per_sm
    return slots_for_blocks(request.machine, use, blocks) or 0 if blocks else 0


def _version(module: Module, request: Request, registers: int, slots: int, allocator: str) -> Version | None:
    from binalloc.pipeline.steps.build import build_unproven

    try:
        return build_unproven(module, replace(request, explain=False), registers, slots, allocator)
    except Refused:
        return None


@dataclass(frozen=True)
class Compiled:
    """A kernel as its compiler would have it, with the registers that its directives leave: bytes of local memory per
    thread, those of spills among them, slots. binding: the directives that leave fewer than the kernel has."""

    binding: tuple[str, ...]
    registers: int
    local_bytes: int
    spill_bytes: int
    slots: int


def compiled(module: Module, kernel: str, machine: Machine, registers: int, dynamic_shared: int = 0) -> Compiled | None:
    """`kernel` under its own directives, spilling to local memory, and with the pragma to as many slots as ptxas gives;
    None where they leave it `registers`. Raises Refused where no code keeps to them, naming them."""
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
    return Compiled(texts, found.registers, local_bytes(found), found.spill_local, found.slots)
