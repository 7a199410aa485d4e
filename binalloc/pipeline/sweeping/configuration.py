"""This module enumerates the rows of a sweep: kernels as they are launched on machines, and their versions to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from binalloc.analysis.flow.callgraph import build_callgraph
from binalloc.emulator.host.pairs import OFF as NO_PAIRS
from binalloc.emulator.host.pairs import require_sharing
from binalloc.emulator.policies.schedulers.table import chosen_scheduler
from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.budget import Budget, levels
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.pipeline.multiplex.build import Wanted
from binalloc.pipeline.multiplex.choice import every_version
from binalloc.pipeline.sharing.levels import budgets_of, original_blocks
from binalloc.pipeline.sharing.sharing import AUTO
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.sweeping.keys import binary_digest, launch_digest
from binalloc.pipeline.turns import OFF
from binalloc.transform.allocators.table import find_allocator

ORIGINAL = "original"
"""In place of an allocator's name: the input, with control codes set by the same pass as in rewrites."""
ALL = "all"
"""Name for the levels of every number of blocks of the kernel that the machine can hold."""
UPWARDS = "upwards"
"""Name for the original's own level and the levels above it."""
Levels = str | tuple[int, ...]
"""ALL, UPWARDS, or numbers of blocks; they need not fit on the machine."""


@dataclass(frozen=True)
class Subject:
    """A subject is a kernel as it is launched on a machine: everything that its versions are made from."""

    file: str  #: name of the binary in rows; results do not depend on it
    binary: bytes = field(repr=False)  #: bytes of the binary, of any instruction set that the emulator runs
    kernel: str
    launch: Launch
    machine: Machine

    @cached_property
    def binary_key(self) -> str:
        """Return a key that changes with the binary."""
        return binary_digest(self.binary)

    @cached_property
    def launch_key(self) -> str:
        """Return a key that changes with the launch, its files for buffers (by contents), and the machine."""
        return launch_digest(self.kernel, self.launch, self.machine)


@dataclass(frozen=True)
class Configuration:
    """A configuration says what one row of a sweep is about."""

    subject: Subject
    options: RunOptions = field(default_factory=RunOptions)  #: how it is run, on the subject's machine
    allocator: str = ORIGINAL  #: by name, or ORIGINAL
    blocks: int | None = None  #: blocks per SM to aim at; None for the original at its own number
    #: registers per thread that the level leaves; None for the original, or if the machine cannot hold so many blocks
    registers: int | None = None
    slots: int | None = None  #: slots per thread that the level leaves; None as for `registers`
    held: bool = False  #: whether it is the original with no more than `blocks` resident, though there is room for more
    refused: str = ""  #: why any allocator must leave the kernel as it is; "" if the kernel can be rewritten
    #: the version whose blocks use shared memory in turns, at the number of blocks that suits it best; None for others
    wanted: Wanted | None = None
    among: str = OFF  #: all such versions of the sweep: a row of `turns.MULTIPLEX`
    sharing: str | None = None  #: how blocks share memory two by two: auto, a threshold, PAIRS:BYTES; None: they do not

    @property
    def fits(self) -> bool:
        """Return whether the machine can hold so many blocks."""
        own = self.allocator == ORIGINAL or self.wanted is not None
        return own or self.registers is not None


def configurations(
    module: Module,
    subject: Subject,
    wanted: Levels,
    allocators: Sequence[str],
    schedulers: Sequence[str],
    options: RunOptions,
    multiplex: str = OFF,
    sharing: Sequence[str] = (),
) -> Iterator[Configuration]:
    """Yield, for each scheduler, the original, then each level by each allocator, then the versions whose blocks use
    shared memory in turns, then those whose blocks share it two by two.

    module: the subject's binary. wanted: the levels. options: how all of them are run, but for the scheduler.
    multiplex: which versions whose blocks use shared memory in turns: a row of `turns.MULTIPLEX`. sharing: how blocks
    share it two by two: off, auto, thresholds, or PAIRS:BYTES, of which off stands for what is there anyway. Below the
    original's own number of blocks there are registers to spare. Such a level is the original program with so many
    blocks resident, for every allocator. Raises UsageError for unknown names of allocators and schedulers.
    """
    for name in allocators:
        find_allocator(name)
    for name in schedulers:
        chosen_scheduler(name)
    for asked_pairs in sharing:
        require_sharing(asked_pairs, AUTO, NO_PAIRS)
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
        for name in allocators if multiplex != OFF else ():
            for version in every_version(multiplex, subject.machine):
                yield Configuration(subject, asked, name, wanted=version, among=multiplex)
        for how in sharing:
            yield from _in_pairs(module, subject, asked, wanted, allocators, how, refused)


def _in_pairs(
    module: Module, subject: Subject, options: RunOptions, wanted: Levels, allocators: Sequence[str], how: str,
    refused: str,
) -> Iterator[Configuration]:  # fmt: skip
    """Yield the versions whose blocks share memory two by two: the original's, then each level by each allocator."""
    if how == NO_PAIRS:
        return
    of = (module, subject.kernel, subject.launch, subject.machine, how)
    for blocks in original_blocks(*of):
        if blocks is None or not isinstance(wanted, tuple) or blocks in wanted:
            yield Configuration(subject, options, ORIGINAL, blocks, sharing=how)
    for budget in budgets_of(*of):
        if isinstance(wanted, tuple) and budget.blocks not in wanted:
            continue
        for name in allocators:
            yield Configuration(
                subject, options, name, budget.blocks, budget.registers, budget.slots, refused=refused, sharing=how
            )


def _refused(module: Module, kernel: str) -> str:
    """Return why no allocator can rewrite the kernel, "" if it can be rewritten."""
    from binalloc.transform.rewrite.rewrite import require_rewritable

    try:
        require_rewritable(module, build_callgraph(module, kernel))
    except Refused as error:
        return error.message
    return ""


def _levels(module: Module, subject: Subject) -> tuple[dict[int, Budget], int]:
    """Return the budgets of all levels, by number of blocks, and the original's own number of blocks.

    If the original has to be allocated to fit on the machine, its own number is the blocks that fit with the most
    registers. There are no levels if no block fits.
    """
    use, machine = kernel_use(module.function(subject.kernel), subject.launch), subject.machine
    try:
        own = machine.occupancy(use).blocks_per_sm
        if own == 0:
            most = registers_for_blocks(machine, use.given(0), 1)
            own = machine.occupancy(use.given(most)).blocks_per_sm if most else 0
        return {budget.blocks: budget for budget in levels(machine, use)}, own
    except UsageError:  # blocks are larger than the machine allows
        return {}, 0
