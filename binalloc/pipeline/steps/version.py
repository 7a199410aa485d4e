"""One scheduled form of a kernel with its resources, and what a search has looked at."""

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
    """One scheduled form of the kernel. Resources per thread (registers, slots, local_bytes), per block (shared_bytes)
    and per SM (blocks, occupancy); instructions are static, over the call graph; cycles None until measured. allocated:
    name of the allocator where a baseline is not the original itself. copies: between registers, new ones. skewed:
    cycles of the runs with each seed's delays. functions: the kernel, then what it calls. explained: the values that
    left the registers, where that was asked for. name: what errors of its runs call it. proven: the checker has passed
    it (`prove`), or there is nothing to prove. cost: of its spill code, None where no allocator made it. bound: what no
    allocation of the same budget costs less than (`Plan.bound`). sampled: what cycles are estimated from, if so.
    allocator: name of the one that made it. idle_slots: besides `slots`, slots that nothing uses, which hold the number
    of blocks down (`holding`). counts: of its run, or of the longest part, by function (`Result.counts`)."""

    module: Module
    kernel: str
    registers: int
    slots: int
    local_bytes: int
    shared_bytes: int
    blocks_per_sm: int
    occupancy: float
    functions: list[Function] = field(repr=False)
    limiters: tuple[str, ...]
    cycles: int | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    buffers: dict[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    printed: Printed | None = None
    solver: list[SolverReport] = field(default_factory=list)
    explained: list[Spilled] = field(default_factory=list, repr=False)
    allocated: str = ""
    copies: int = 0
    skewed: tuple[int, ...] = ()
    name: str = "the original"
    proven: bool = True
    cost: SpillCost | None = None
    bound: float | None = None
    sampled: Sampled | None = None
    allocator: str = ""
    idle_slots: int = 0
    counts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def instructions(self) -> int:
        """Static instructions of the kernel and all it calls."""
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
    """A level that the search looked at."""

    budget: Budget
    version: Version | None  #: None where there is none, `reason` says why
    reason: str = ""
    #: how many times as fast as the original it should be, by policy `model`'s estimate, where that was asked
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
    """As `reachable`, of the kernel asked for, in the binary as it came."""
    return reachable(module, request.kernel, request.prepared.graph(module, request.kernel).functions)


def make_version(module: Module, request: Request, functions: Collection[str]) -> Version:
    """The resources `module`'s kernel takes on the request's machine; module must be scheduled for it. functions: names
    of all that the kernel reaches."""
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
