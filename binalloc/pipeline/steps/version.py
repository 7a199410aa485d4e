"""A version is one scheduled form of a kernel with its resources. A search looks at the versions of several levels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.figures.skew import cycles_range
from binalloc.emulator.host.resources import no_room
from binalloc.isa.instruction import Function, Module
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import kernel_use, local_bytes, reachable
from binalloc.pipeline.steps.row import INFEASIBLE, Row
from binalloc.pipeline.steps.sampling import Sampled

if TYPE_CHECKING:
    from binalloc.emulator.host.runtime import Printed
    from binalloc.transform.allocate.explain import Spilled
    from binalloc.transform.allocate.functions.solver import SolverReport
    from binalloc.transform.allocate.spill_cost import SpillCost


@dataclass(frozen=True)
class Version:
    """A version is one scheduled form of the kernel, with its resources and, once it is measured, its run."""

    module: Module
    kernel: str  #: name
    registers: int  #: per thread
    slots: int  #: per thread
    local_bytes: int  #: per thread
    shared_bytes: int  #: per block
    blocks_per_sm: int  #: resident blocks
    occupancy: float  #: resident warps over the most that an SM holds
    functions: list[Function] = field(repr=False)  #: the kernel, then the functions it calls
    limiters: tuple[str, ...]  #: resources that limit the number of blocks
    cycles: int | None = None  #: emulated; None until measured
    stats: dict[str, Any] = field(default_factory=dict)  #: statistics of its run
    buffers: dict[str, Any] = field(default_factory=dict)  #: contents after its run, by name
    globals: dict[str, Any] = field(default_factory=dict)  #: global variables after its run, by name
    printed: Printed | None = None  #: text that its run printed
    solver: list[SolverReport] = field(default_factory=list)  #: reports of the allocator's solver
    #: values that left the registers, if that was asked for (`Request.explain`)
    explained: list[Spilled] = field(default_factory=list, repr=False)
    allocated: str = ""  #: name of the allocator of a baseline that is not the original itself
    copies: int = 0  #: new copies between registers
    skewed: tuple[int, ...] = ()  #: cycles of the runs with each seed's delays
    name: str = "the original"  #: name in errors of its runs
    proven: bool = True  #: whether the checker has passed it (`prove`), or there is nothing to prove
    cost: SpillCost | None = None  #: cost of its spill code; None if no allocator made it
    bound: float | None = None  #: lower bound on the cost for the same budget (`Plan.bound`)
    sampled: Sampled | None = None  #: parts of the grid from which cycles are estimated; None if all of it was run
    allocator: str = ""  #: name of the allocator that made it
    #: slots per thread, beyond `slots`, that nothing uses; they limit the number of resident blocks (`holding`)
    idle_slots: int = 0
    #: executions in its run, or in the longest part of it, by function (`Result.counts`)
    counts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def instructions(self) -> int:
        """Return the static instructions of the kernel and of all functions it calls."""
        return sum(len(fn) for fn in self.functions)

    def row(self) -> Row:
        """Return the version's figures."""
        span = None if self.cycles is None else cycles_range(self.cycles, self.skewed)
        return Row(
            allocator=self.allocator,
            kernel=self.kernel,
            registers=self.registers,
            slots=self.slots,
            idle_slots=self.idle_slots,
            local_bytes=self.local_bytes,
            shared_bytes=self.shared_bytes,
            blocks_per_sm=self.blocks_per_sm,
            occupancy=self.occupancy,
            limiters=self.limiters,
            instructions=self.instructions,
            copies=self.copies,
            allocated=self.allocated,
            proven=self.proven,
            cost=self.cost,
            bound=self.bound,
            cycles=self.cycles,
            cycles_range=None if span is None else (span[0], span[1]),
            sampled=None if self.sampled is None else replace(self.sampled, stats={}, counts={}),
        )


@dataclass
class Tried:
    """This record is a level that a search looked at."""

    budget: Budget
    version: Version | None  #: None if there is none; `reason` says why
    reason: str = ""  #: why there is no version, or a remark on it
    #: expected speedup over the original by policy `model`'s estimate; None if it was not asked for
    expected: float | None = None

    def row(self) -> Row:
        """Return the level's figures."""
        found = Row(kernel="", status=INFEASIBLE) if self.version is None else self.version.row()
        return replace(
            found,
            blocks=self.budget.blocks,
            registers_allowed=self.budget.registers,
            slots_allowed=self.budget.slots,
            reason=self.reason,
            expected_speedup=self.expected,
        )


def given_functions(module: Module, request: Request) -> list[Function]:
    """Return the functions that the request's kernel reaches in the binary as it came, as `reachable` does."""
    return reachable(module, request.kernel, request.prepared.graph(module, request.kernel).functions)


def make_version(module: Module, request: Request, functions: Collection[str]) -> Version:
    """Return `module`'s kernel as a version, with the resources it takes on the request's machine.

    module: must be scheduled for this machine. functions: names of all functions that the kernel reaches. Raises
    Refused if not even one block fits.
    """
    kernel = module.function(request.kernel)
    use = kernel_use(kernel, request.launch, request.block)
    occupancy = request.machine.occupancy(use)
    if occupancy.blocks_per_sm == 0:
        raise no_room(request.machine, use, occupancy, request.launch, kernel.info)
    return Version(
        module=module,
        kernel=request.kernel,
        registers=use.registers,
        slots=use.slots,
        local_bytes=local_bytes(kernel.info),
        shared_bytes=use.block_shared,
        blocks_per_sm=occupancy.blocks_per_sm,
        occupancy=occupancy.occupancy,
        functions=reachable(module, request.kernel, functions),
        limiters=occupancy.limiters,
    )
