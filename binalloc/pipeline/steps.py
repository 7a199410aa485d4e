"""The single steps of the pipeline: rewrite for a budget, schedule, prove, measure; and what they pass on.

`Request` (in `request`) says what is wanted, `Version` is one scheduled form of a kernel with its resources, `Tried` a
level a search looked at. `binalloc.pipeline.pipeline` puts the steps together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from binalloc.emulator.host.resources import no_room
from binalloc.emulator.host.skew import cycles_range, skewed_cycles
from binalloc.errors import BinallocError, Hint, LimitHit, Refused, UsageError, running
from binalloc.isa.instruction import Function, FunctionInfo, Module
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import set_of, view
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.names.kernels import choose_kernel
from binalloc.pipeline.block import Three
from binalloc.pipeline.grid import share_of
from binalloc.pipeline.request import Progress, Request
from binalloc.pipeline.sampling import Sampled, sample, sampled_to_dict
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.emulator.host.runtime import Printed
    from binalloc.launch.file import Launch
    from binalloc.transform.allocate.explain import Spilled
    from binalloc.transform.allocate.spill_cost import SpillCost
    from binalloc.verify.report import Finding

OFF_CHIP = frozenset((Space.GLOBAL, Space.LOCAL, Space.GENERIC, Space.TEXTURE))


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
    solver: list[dict[str, object]] = field(default_factory=list)
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
        return sum(len(fn) for fn in self.functions)

    def to_dict(self) -> dict[str, object]:
        return {
            "registers": self.registers,
            "slots": self.slots,
            "idle_slots": self.idle_slots,
            "local_bytes": self.local_bytes,
            "shared_bytes": self.shared_bytes,
            "blocks_per_sm": self.blocks_per_sm,
            "occupancy": round(self.occupancy, 6),
            "limiters": list(self.limiters),
            "instructions": self.instructions,
            "copies": self.copies,
            "cycles": self.cycles,
            "cycles_range": None if self.cycles is None else cycles_range(self.cycles, self.skewed),
            "sampled": sampled_to_dict(self.sampled),
            "allocated": self.allocated or None,
        }


@dataclass
class Tried:
    """A level the search looked at: its budget, the version or the reason there is none. expected: how many times as
    fast as the original it should be, by policy `model`'s estimate, where that was asked."""

    budget: Budget
    version: Version | None
    reason: str = ""
    expected: float | None = None


def reachable(module: Module, kernel: str, known: Collection[str] | None = None) -> list[Function]:
    """The kernel and every function it may call, kernel first, then as in the file. known: their names, if at hand."""
    from binalloc.analysis.callgraph import build_callgraph

    names = set(build_callgraph(module, kernel).functions if known is None else known)
    return sorted((fn for fn in module if fn.name in names), key=lambda fn: fn.name != kernel)


def given_functions(module: Module, request: Request) -> list[Function]:
    """As `reachable`, of the kernel asked for, in the binary as it came."""
    return reachable(module, request.kernel, request.prepared.graph(module, request.kernel).functions)


_NO_KERNEL = "Kernels alone can be run; of functions, import the PTX of both together: import-ptx A.ptx B.ptx."


def find_kernel(module: Module, name: str | None) -> Function:
    """The kernel that `name` means (`names.kernels`), or the only one. UsageError if it means none or several."""
    kernels = module.kernels()
    if name is None:
        if len(kernels) != 1:
            raise UsageError(
                "the binary has several kernels" if kernels else "the binary has no kernel",
                file=module.path or None,
                found=", ".join(k.name for k in kernels) or "none",
                remedy=Hint("Name one: {kernel}.") if kernels else _NO_KERNEL,
            )
        return kernels[0]
    return module.function(choose_kernel(name, [k.name for k in kernels], module.path or None))


def block_threads(kernel: Function, launch: Launch | None, block: Three | None = None) -> int:
    """Threads per block: the launch's, else those of `block`, else the binary's required block size, else its launch
    bound."""
    if launch is not None:
        return launch.threads_per_block
    if block is not None:
        return prod(block)
    if any(kernel.info.block):
        x, y, z = (b or 1 for b in kernel.info.block)
        return x * y * z
    if kernel.info.max_threads:
        return kernel.info.max_threads
    raise UsageError(
        "the block size is unknown",
        place=f"kernel {kernel.name}",
        expected="a block size, a launch file, or .block in the binary",
        remedy=Hint("Give {block} or {launch}; or write `.block` into the source, or import PTX with {block_dim}."),
    )


def knows_threads(kernel: Function, launch: Launch | None, block: Three | None = None) -> bool:
    """Whether `block_threads` has an answer."""
    return launch is not None or block is not None or any(kernel.info.block) or bool(kernel.info.max_threads)


def kernel_use(kernel: Function, launch: Launch | None, block: Three | None = None) -> KernelUse:
    """What the kernel takes of an SM, as its record and the launch say. block: where there is no launch."""
    dynamic = launch.dynamic_shared if launch is not None else 0
    return KernelUse.of(kernel.info, block_threads(kernel, launch, block), dynamic)


def local_bytes(kernel: FunctionInfo) -> int:
    """Bytes of local memory that each thread of a launch has: the kernel's own frame, those of what it calls, and the
    spill area. A static figure: what of it is touched only a run tells."""
    return kernel.local_bytes + kernel.spill_local


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


def build_version(
    module: Module, request: Request, registers: int, slots: int, allocator: str | None = None
) -> Version:
    """Rewrite for a budget, schedule, prove. Raises Refused where the budget is infeasible or the proof fails."""
    return prove(module, request, build_unproven(module, request, registers, slots, allocator))


def build_unproven(
    module: Module, request: Request, registers: int, slots: int, allocator: str | None = None
) -> Version:
    """The same without the proof, for what is only to be judged."""
    name, kept = allocator or request.allocator, request.prepared.versions
    if kept is None:
        return _built(module, request, registers, slots, name)
    key = (name, registers, slots)
    if key not in kept:
        try:
            kept[key] = _built(module, request, registers, slots, name)
        except Refused as error:
            kept[key] = error
    found: Version | Refused = kept[key]
    if isinstance(found, Refused):
        raise found
    return found


def prove(module: Module, request: Request, version: Version) -> Version:
    """The version, proven to do what `module` does. Raises Refused where that fails; nothing is done again."""
    if version.proven:
        return version
    kept = request.prepared.proven
    if not any(seen is version.module for seen in kept):
        require_proof(module, version.module, request, version.idle_slots, version.allocator)
        require_no_hazard(version.module, request.machine)
        kept.append(version.module)
    return replace(version, proven=True)


def _built(module: Module, request: Request, registers: int, slots: int, name: str) -> Version:
    """The version by allocator `name`."""
    from binalloc.transform.allocators.installed import blamed_for
    from binalloc.transform.allocators.table import find_allocator
    from binalloc.transform.rewrite.rewrite import rewrite_to_budget
    from binalloc.transform.schedule.banks import spread_over_banks
    from binalloc.transform.schedule.schedule import schedule

    result = rewrite_to_budget(
        request.prepared_for(module),
        registers,
        slots,
        name,
        solver_limit=request.solver_limit,
        machine=request.machine,
        dynamic_shared=request.launch.dynamic_shared if request.launch is not None else 0,
        layout=request.layout,
    )
    # What is proven is what will be written: the bytes, as a reader finds them.
    isa = set_of(module)
    with blamed_for(find_allocator(name)):
        code = spread_over_banks(result.module, request.machine, result.functions)
        rewritten = isa.read(isa.write(schedule(code, request.machine)), module.path)
    version = make_version(rewritten, request, result.functions)
    told = f"{count(version.registers, 'register')} and {count(version.slots, 'slot')} by {name}"
    with blamed_for(find_allocator(name)):
        explained = result.explain() if request.explain else []
        solver = [found.to_dict() for found in result.solver]
        cost = result.cost
    found = replace(version, solver=solver, explained=explained, copies=cost.copies, cost=cost, bound=result.bound)
    return replace(found, name=told, allocator=name, proven=False)


def require_proof(
    module: Module, rewritten: Module, request: Request, idle_slots: int = 0, allocator: str = ""
) -> None:
    """Refused, or LimitHit, where the checker does not prove that `rewritten` does what `module` does; PluginFault
    where an installed package's allocator made it. idle_slots: how many it reserves on purpose that nothing uses."""
    from binalloc.verify.checker import check

    report = check(module, rewritten, request.kernel, idle_slots=idle_slots)
    if not report.ok:
        raise _unproven(module, request, report.errors, allocator)


def require_no_hazard(module: Module, machine: Machine) -> None:
    """Refused where control codes scheduled for `machine` leave a hazard on some way through the code."""
    from binalloc.verify.hazards.check import find_hazards

    hazards = find_hazards(module, machine.unit_latencies)
    if hazards:
        raise Refused(
            f"the control codes of the rewrite are wrong for {machine.name} ({count(len(hazards), 'hazard')})",
            place=str(hazards[0]),
            remedy="This is a defect of binalloc; nothing was written.",
        )


def _unproven(module: Module, request: Request, findings: Sequence[Finding], allocator: str) -> BinallocError:
    """Why no proof was found: the binary is beyond the checker's limits, the original depends on what was in a register
    at launch or on where slots lie, or a defect of ours, or of the package that the allocator is from."""
    from binalloc.analysis.dump import summary_dict
    from binalloc.analysis.program import analyse
    from binalloc.transform.allocators.table import wrong_plan

    limit = next((f for f in findings if f.kind == "limit"), None)
    if limit is not None:
        return LimitHit(f"{request.kernel} is beyond what the checker follows", place=str(limit))
    deep = next((f for f in findings if f.kind == "stack"), None)
    if deep is not None:
        return Refused(
            f"{request.kernel} nests guarded calls so deep that, rewritten, its reconvergence stack may overflow",
            file=module.path or None,
            found=deep.found,
            expected=deep.expected,
            remedy="Make the calls unguarded (branch around them), or leave this kernel as it is.",
        )
    for name, fn in analyse(module, request.kernel, lift=True).functions.items():
        for read in summary_dict(fn)["uninitialised"]:
            return Refused(
                f"{request.kernel} may read a value that nothing wrote; what it does then cannot be preserved",
                file=module.path or None,
                place=f".text.{name} word {read['index']}",
                found=f"a read of {read['place']}",
                remedy="Initialise it in the source.",
            )
    read = reads_slots_place(set_of(module), given_functions(module, request))
    if read is not None:
        asked, name, index = read
        return Refused(
            f"{request.kernel} reads {asked}, which is another with slots",
            file=module.path or None,
            place=f".text.{name} word {index}",
            remedy=Hint("Ask for {slots} 0."),
        )
    blamed = wrong_plan(allocator, f"kernel {request.kernel}", str(findings[0]))
    return blamed or Refused(
        f"the rewrite of {request.kernel} could not be proven right ({count(len(findings), 'finding')})",
        place=str(findings[0]),
        remedy="This is a defect of binalloc; nothing was written.",
    )


def reads_slots_place(isa: InstructionSet, functions: Iterable[Function]) -> tuple[str, str, int] | None:
    """The first read of a special register that is another with slots: its name, the function and the word."""
    for function in functions:
        for index, instr in enumerate(function.instrs):
            asked = isa.special_register(instr)
            if asked in (isa.limits.slot_base, isa.limits.shared_size):
                return asked, function.name, index
    return None


def run_progress(what: str, show: Progress) -> Callable[[int, int, int], None]:
    """A `progress` for emulated runs that tells `show` in words how far the run of `what` is."""

    def tell(cycles: int, ended: int, blocks: int) -> None:
        show(f"{what}: {cycles:,} cycles, {ended} of {count(blocks, 'block')} ended")

    return tell


def measure(
    version: Version, request: Request, *, blocks: int | None = None, ideal_blocks: int | None = None
) -> Version:
    """The version with cycles, statistics and output buffers of an emulated run. Needs a launch. Of a large grid, where
    the request says so, cycles and statistics of parts alone (`sampling`)."""
    from binalloc.emulator.runs.run import Result, run_launch

    assert request.launch is not None
    launch = request.launch
    if request.whole_gpu:
        share = share_of(launch, request.machine)
        blocks = min(blocks or version.blocks_per_sm, version.blocks_per_sm, share)
        ideal_blocks = None if ideal_blocks is None else min(ideal_blocks, share)

    tell = run_progress(request.kernel, request.progress)
    options = replace(request.options, blocks_per_sm=blocks, ideal_blocks=ideal_blocks, progress=tell)

    def measured(skew: int | None = None, only: range | None = None) -> Result:
        return run_launch(version.module, request.kernel, launch, replace(options, skew=skew, only=only))

    resident = f", {count(ideal_blocks, 'block')} per SM as if registers were free" if ideal_blocks else ""
    with running(f"{version.name}{resident}"):
        if request.sampled:
            held = ideal_blocks or min(blocks or version.blocks_per_sm, version.blocks_per_sm)
            sampled = sample(lambda only: measured(only=only), held, prod(launch.grid))
            if sampled is not None:
                found = replace(version, cycles=sampled.cycles, stats=sampled.stats, sampled=sampled)
                return replace(found, counts=sampled.counts)
        result = measured()
        skewed = skewed_cycles(lambda seed: measured(seed).cycles, options.skews)
    return replace(
        version, cycles=result.cycles, stats=result.stats, buffers=result.buffers, globals=result.globals,
        printed=result.printed, skewed=skewed, counts=result.counts,
    )  # fmt: skip


def same_results(request: Request, a: Version, b: Version) -> bool | None:
    """Whether both runs left the same global buffers, in the sense the launch file gives each buffer, the same bits in
    the module's global variables, and printed the same. None where parts of the grid were run alone."""
    from binalloc.launch.file import compare, compare_globals

    assert request.launch is not None
    if a.sampled is not None or b.sampled is not None:
        return None
    launch = request.launch
    if a.printed is not None and b.printed is not None and a.printed.differs(b.printed):
        return False
    return not compare(launch, a.buffers, b.buffers) and not compare_globals(launch, a.globals, b.globals)


def dispatch_interval(version: Version) -> Fraction:
    """AD_int of the unified paper (section 4) over all functions: mean static dispatch interval, in cycles."""
    from binalloc.transform.schedule.schedule import average_dispatch_interval

    return average_dispatch_interval([i for fn in version.functions for i in fn.instrs])


class StaticCounts(NamedTuple):
    """Static instructions over the call graph: off_chip accesses, and compute, which is all others; of the off-chip
    ones, spills are spill accesses and textures texture fetches."""

    compute: int
    off_chip: int
    spills: int
    textures: int


def static_counts(version: Version) -> StaticCounts:
    """The instructions that the unified paper's CI_pred (section 4.2) is made of."""
    off = spills = textures = total = 0
    for fn in version.functions:
        for instr in fn.instrs:
            total += 1
            memory = view(instr).memory
            if memory is not None and memory.space in OFF_CHIP:
                off += 1
                spills += memory.spill
                textures += memory.space == Space.TEXTURE
    return StaticCounts(total - off, off, spills, textures)
