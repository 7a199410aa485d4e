"""This module lists the numbers of blocks that pairs of blocks give a kernel, without making any version."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.host.pairs import widest_access
from binalloc.errors import UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.model import Machine
from binalloc.models.sharing.levels import paired_levels, room_with
from binalloc.pipeline.sharing.paired import given_by
from binalloc.pipeline.steps.kernels import kernel_use


def original_blocks(
    module: Module, kernel: str, launch: Launch, machine: Machine, asked: str
) -> Sequence[int | None]:  # fmt: skip
    """Return the numbers of blocks with the kernel's own registers and slots; one None if there are none. asked: how
    blocks share: auto, a threshold, or PAIRS:BYTES."""
    fn = module.function(kernel)
    try:
        room = room_with(machine, kernel_use(fn, launch), widest_access(module.reached(fn)))
    except UsageError:  # blocks are larger than the machine allows
        return [None]
    return [pairing.blocks for pairing in given_by(asked)(room)] or [None]


def budgets_of(module: Module, kernel: str, launch: Launch, machine: Machine, asked: str) -> list[Budget]:
    """Return the budget of each number of blocks. asked: as in `original_blocks`."""
    fn = module.function(kernel)
    try:
        use = kernel_use(fn, launch)
        return paired_levels(machine, use, widest_access(module.reached(fn)), given_by(asked))
    except UsageError:
        return []
