"""What a sweep is made of: kernels as they are launched on machines, and what is to be run of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from binalloc.analysis.callgraph import build_callgraph
from binalloc.emulator.policies.schedulers.table import policy_number
from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.budget import Budget, levels
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.pipeline.steps import kernel_use
from binalloc.pipeline.sweeping.keys import binary_digest, launch_digest
from binalloc.transform.allocators.table import find_allocator

ORIGINAL = "original"
"""In the place of an allocator's name: the input, its control codes set by the pass that sets those of rewrites."""
ALL = "all"
"""Levels: every number of blocks that the machine holds of the kernel."""
UPWARDS = "upwards"
"""Of these the original's own and those above."""
Levels = str | tuple[int, ...]
"""ALL, UPWARDS, or numbers of blocks, which need not fit on the machine."""


@dataclass(frozen=True)
class Subject:
    """A kernel as it is launched on a machine: all that its versions are made from. file: what rows call the binary,
    which is no matter to what comes out; binary: its bytes, of whichever instruction set the emulator runs."""

    file: str
    binary: bytes = field(repr=False)
    kernel: str
    launch: Launch
    machine: Machine

    @cached_property
    def binary_key(self) -> str:
        """Changes with the binary."""
        return binary_digest(self.binary)

    @cached_property
    def launch_key(self) -> str:
        """Changes with the launch, the contents of the files that it fills buffers from, and the machine."""
        return launch_digest(self.kernel, self.launch, self.machine)


@dataclass(frozen=True)
class Configuration:
    """One row of a sweep. allocator: by name, or ORIGINAL. blocks: per SM, aimed at; None for the original at its own
    number. registers, slots: per thread, what the level leaves; None for the original, and where the machine cannot
    hold so many blocks. held: it is the original, with no more than `blocks` resident, though there is room for more.
    options: how it is run, on the subject's machine. refused: why no allocator could do anything else than leave the
    kernel as it is; "" where one could."""

    subject: Subject
    options: RunOptions = field(default_factory=RunOptions)
    allocator: str = ORIGINAL
    blocks: int | None = None
    registers: int | None = None
    slots: int | None = None
    held: bool = False
    refused: str = ""

    @property
    def fits(self) -> bool:
        """Whether the machine can hold so many blocks."""
        return self.allocator == ORIGINAL or self.registers is not None


def configurations(
    module: Module,
    subject: Subject,
    wanted: Levels,
    allocators: Sequence[str],
    schedulers: Sequence[str],
    options: RunOptions,
) -> Iterator[Configuration]:
    """For each scheduler the original, then each level by each allocator. module: the subject's binary. options: how
    all of them are run, but for the scheduler.

    Below the original's own number of blocks there are registers to spare: that level is the original program with so
    many blocks resident, whatever the allocator. Raises UsageError for names that are in no table.
    """
    for name in allocators:
        find_allocator(name)
    for name in schedulers:
        policy_number(name)
    budgets, own = _levels(module, subject)
    refused = _refused(module, subject.kernel)
    lowest = own if wanted == UPWARDS else 0
    chosen = wanted if isinstance(wanted, tuple) else [blocks for blocks in budgets if blocks >= lowest]
    for scheduler in schedulers:
        asked = replace(options, scheduler=scheduler)
        yield Configuration(subject, asked)
        for blocks in chosen:
            found = budgets.get(blocks)
            registers, slots = (None, None) if found is None else (found.registers, found.slots)
            for name in allocators:
                yield Configuration(subject, asked, name, blocks, registers, slots, blocks < own, refused)


def _refused(module: Module, kernel: str) -> str:
    """Why no allocator can rewrite the kernel, or ""."""
    from binalloc.transform.rewrite.rewrite import require_rewritable

    try:
        require_rewritable(module, build_callgraph(module, kernel))
    except Refused as error:
        return error.message
    return ""


def _levels(module: Module, subject: Subject) -> tuple[dict[int, Budget], int]:
    """The budgets of all levels by their numbers of blocks, and the original's own number: at least so many blocks are
    resident of it, also where it has to be allocated to fit on the machine at all. No levels where no block fits."""
    use, machine = kernel_use(module.function(subject.kernel), subject.launch), subject.machine
    try:
        own = machine.occupancy(use).blocks_per_sm
        if own == 0:
            most = registers_for_blocks(machine, use.given(0), 1)
            own = machine.occupancy(use.given(most)).blocks_per_sm if most else 0
        return {budget.blocks: budget for budget in levels(machine, use)}, own
    except UsageError:  # larger blocks than the machine's limits know of
        return {}, 0
