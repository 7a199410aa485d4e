"""The whole path: binary -> allocation for a concurrency level -> rewrite -> schedule -> check -> run both -> speedup.

`rewrite_kernel` is that path as one function; the command line and libraries call it. Each step is a public function of
its own: `build_version` (static: rewrite, schedule, check), `measure` (emulate), `choose_level` (search).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from binalloc import __version__
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface import view
from binalloc.models.budget import Budget, levels, shared_with_slots, slots_for_blocks
from binalloc.models.machine import Machine

if TYPE_CHECKING:
    from binalloc.emulator.launch import Launch

SCHEMA_VERSION = 1
OFF_CHIP = frozenset(("global", "local", "generic", "texture"))
Progress = Callable[[str], None]


def _silent(_: str) -> None:
    """Progress nobody asked for."""


@dataclass(frozen=True)
class Request:
    """What to do with a kernel.

    registers, slots: explicit budget per thread. blocks: blocks per SM to aim at. Neither: automatic choice by
    `policy` (exhaustive, unified). allocator: by name. emulate: run original and rewritten and compare results.
    engine: numba or python. cycles_limit: --max-cycles per run.
    """

    kernel: str
    machine: Machine
    launch: Launch | None = None
    registers: int | None = None
    slots: int | None = None
    blocks: int | None = None
    policy: str = "exhaustive"
    allocator: str = "best"
    emulate: bool = True
    engine: str = "numba"
    cycles_limit: int | None = None
    progress: Progress = _silent


@dataclass(frozen=True)
class Version:
    """One scheduled form of the kernel. Resources per thread (registers, slots, local_bytes), per block (shared_bytes)
    and per SM (blocks, occupancy); instructions are static, over the call graph; cycles None until measured."""

    module: Module
    kernel: str
    registers: int
    slots: int
    local_bytes: int
    shared_bytes: int
    blocks_per_sm: int
    occupancy: float
    instructions: int
    limiters: tuple[str, ...]
    cycles: int | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    buffers: dict[str, Any] = field(default_factory=dict)
    solver: list[dict[str, object]] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        return {
            "registers": self.registers,
            "slots": self.slots,
            "local_bytes": self.local_bytes,
            "shared_bytes": self.shared_bytes,
            "blocks_per_sm": self.blocks_per_sm,
            "occupancy": round(self.occupancy, 6),
            "limiters": list(self.limiters),
            "instructions": self.instructions,
            "cycles": self.cycles,
        }


@dataclass
class Tried:
    """A level the search looked at: its budget, the version or the reason there is none."""

    budget: Budget
    version: Version | None
    reason: str = ""


@dataclass
class Outcome:
    """Result of `rewrite_kernel`. kept_original: automatic choice found nothing better. verified: checker passed and,
    where both were run, results are the same. parts: the speedup's factors (`split_speedup`), their product is it.
    rescheduling: cycles of the input as it came over those of `original`, its code under our control codes (1.0 where
    they are the same; None where it was not run). local: allocator `local` at the same number of blocks."""

    request: Request
    original: Version
    rewritten: Version
    checked: bool
    same_results: bool | None
    kept_original: bool
    reason: str
    tried: list[Tried] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    rescheduling: float | None = None
    local: Version | None = None

    @property
    def verified(self) -> bool:
        return self.checked and self.same_results is not False

    @property
    def speedup(self) -> float | None:
        """Emulated cycles of the original over those of the rewritten; None where they were not run."""
        if self.original.cycles is None or self.rewritten.cycles is None:
            return None
        return self.original.cycles / self.rewritten.cycles

    def to_dict(self) -> dict[str, object]:
        speedup = self.speedup
        return {
            "schema_version": SCHEMA_VERSION,
            "kernel": self.request.kernel,
            "machine": self.request.machine.name,
            "allocator": self.request.allocator,
            "policy": None if _explicit(self.request) else self.request.policy,
            "verified": self.verified,
            "checked": self.checked,
            "same_results": self.same_results,
            "kept_original": self.kept_original,
            "reason": self.reason,
            "speedup": None if speedup is None else round(speedup, 4),
            "speedup_parts": {name: round(value, 4) for name, value in self.parts.items()},
            "rescheduling": None if self.rescheduling is None else round(self.rescheduling, 4),
            "original": self.original.to_dict(),
            "rewritten": self.rewritten.to_dict(),
            "local": self.local.to_dict() if self.local else None,
            "levels": [_tried_to_dict(t) for t in self.tried],
            "solver": self.rewritten.solver,
        }


def _tried_to_dict(t: Tried) -> dict[str, object]:
    out: dict[str, object] = {"blocks": t.budget.blocks, "registers": t.budget.registers, "slots": t.budget.slots}
    out["cycles"] = t.version.cycles if t.version else None
    out["local_bytes"] = t.version.local_bytes if t.version else None
    out["reason"] = t.reason
    return out


def _explicit(request: Request) -> bool:
    return request.registers is not None or request.slots is not None or request.blocks is not None


# ---------------------------------------------------------------------------------------------------------------------
# Single steps.


def reachable(module: Module, kernel: str) -> list[Function]:
    """The kernel and every function it may call, kernel first."""
    from binalloc.analysis.callgraph import build_callgraph

    names = {kernel, *build_callgraph(module, kernel).bottom_up}
    return sorted((fn for fn in module if fn.name in names), key=lambda fn: fn.name != kernel)


def find_kernel(module: Module, name: str | None) -> Function:
    """The kernel called `name`, or the only one. UsageError if there is no such kernel or several to choose from."""
    kernels = module.kernels()
    known = ", ".join(k.name for k in kernels) or "none"
    if name is None:
        if len(kernels) != 1:
            raise UsageError(
                "the binary has several kernels" if kernels else "the binary has no kernel",
                file=module.path or None,
                found=known,
                remedy="Name one with --kernel." if kernels else None,
            )
        return kernels[0]
    for k in kernels:
        if k.name == name:
            return k
    raise UsageError("no such kernel", file=module.path or None, found=name, expected=known)


def block_threads(kernel: Function, launch: Launch | None) -> int:
    """Threads per block: the launch's, else the binary's required block size, else its launch bound."""
    if launch is not None:
        return launch.threads_per_block
    if any(kernel.info.block):
        x, y, z = (b or 1 for b in kernel.info.block)
        return x * y * z
    if kernel.info.max_threads:
        return kernel.info.max_threads
    raise UsageError(
        "the block size is unknown",
        place=kernel.name,
        expected="a launch file, or .block in the binary",
        remedy="Give --launch.",
    )


def user_shared(kernel: Function, launch: Launch | None) -> int:
    return kernel.info.shared_bytes + (launch.dynamic_shared if launch is not None else 0)


def make_version(module: Module, request: Request) -> Version:
    """The resources `module`'s kernel takes on the request's machine; module must be scheduled for it."""
    kernel = module.function(request.kernel)
    threads = block_threads(kernel, request.launch)
    slots = kernel.info.slot_bytes // 128
    shared = shared_with_slots(user_shared(kernel, request.launch), threads, slots)
    occupancy = request.machine.occupancy(kernel.info.registers, shared, threads)
    if occupancy.blocks_per_sm == 0:
        raise Refused(
            f"no block of {kernel.name} fits on an SM of {request.machine.name}",
            found=f"{kernel.info.registers} registers, {shared} shared bytes, {threads} threads",
            expected=f"within the limits of {', '.join(occupancy.limiters)}",
            remedy="Rewrite it with fewer registers or choose another machine.",
        )
    return Version(
        module=module,
        kernel=request.kernel,
        registers=kernel.info.registers,
        slots=slots,
        local_bytes=kernel.info.local_bytes + kernel.info.spill_local,
        shared_bytes=shared,
        blocks_per_sm=occupancy.blocks_per_sm,
        occupancy=occupancy.occupancy,
        instructions=sum(len(fn) for fn in reachable(module, request.kernel)),
        limiters=occupancy.limiters,
    )


def scheduled_original(module: Module, request: Request) -> Version:
    """The baseline's code: the original, its control codes set by the same pass as the rewritten ones."""
    from binalloc.transform.schedule import schedule

    return make_version(schedule(module, request.machine), request)


def build_version(
    module: Module, request: Request, registers: int, slots: int, allocator: str | None = None
) -> Version:
    """Rewrite for a budget, schedule, prove. Raises Refused where the budget is infeasible or the proof fails."""
    from binalloc.transform.rewrite import rewrite_kernel as rewrite
    from binalloc.transform.schedule import schedule
    from binalloc.verify.checker import check

    result = rewrite(module, request.kernel, registers, slots, allocator or request.allocator)
    rewritten = schedule(result.module, request.machine)
    report = check(module, rewritten, request.kernel)
    if not report.ok:
        raise _unproven(module, request, report.errors)
    return make_version(rewritten, request)


def _unproven(module: Module, request: Request, findings: Sequence[object]) -> Refused:
    """Why no proof was found: the original depends on what was in a register at launch, or a defect of ours."""
    from binalloc.analysis.dump import summary_dict
    from binalloc.analysis.program import analyse

    for name, fn in analyse(module, request.kernel, lift=True).functions.items():
        for read in summary_dict(fn)["uninitialised"]:
            return Refused(
                f"{request.kernel} may read a value that nothing wrote; what it does then cannot be preserved",
                file=module.path or None,
                place=f".text.{name} word {read['index']}",
                found=f"a read of {read['place']}",
                remedy="Initialise it in the source.",
            )
    return Refused(
        f"the rewrite of {request.kernel} could not be proven right ({len(findings)} findings)",
        place=str(findings[0]),
        remedy="This is a defect of binalloc; nothing was written.",
    )


def measure(
    version: Version, request: Request, *, blocks: int | None = None, ideal_blocks: int | None = None
) -> Version:
    """The version with cycles, statistics and output buffers of an emulated run. Needs a launch."""
    from binalloc.emulator.run import run

    assert request.launch is not None
    result = run(
        version.module,
        request.kernel,
        request.launch,
        request.machine,
        engine=request.engine,
        max_cycles=request.cycles_limit,
        blocks_per_sm=blocks,
        ideal_blocks=ideal_blocks,
    )
    return replace(version, cycles=result.cycles, stats=result.stats, buffers=result.buffers)


def same_results(request: Request, a: Version, b: Version) -> bool:
    """Whether both runs left the same global buffers, in the sense the launch file gives each buffer."""
    from binalloc.emulator.launch import compare

    assert request.launch is not None
    return not compare(request.launch, a.buffers, b.buffers)


# ---------------------------------------------------------------------------------------------------------------------
# The whole path.


def rewrite_kernel(module: Module, request: Request) -> Outcome:
    """Rewrite one kernel as asked; see Request and Outcome. Raises Refused, UsageError, KernelFault."""
    from binalloc.transform.rewrite import require_rewritable

    require_rewritable(module, request.kernel)
    original = scheduled_original(module, request)
    running = request.emulate and request.launch is not None
    if running:
        request.progress(f"{request.kernel}: original, {original.blocks_per_sm} blocks per SM")
        original = measure(original, request)
    if _explicit(request):
        return _explicit_rewrite(module, request, original, running)
    return _automatic_rewrite(module, request, original, running)


def explicit_budget(module: Module, request: Request) -> Budget:
    """Registers and slots as asked; registers not given follow from --blocks or are all the machine allows, slots not
    given are as many as fit beside the blocks that the registers allow."""
    kernel = module.function(request.kernel)
    threads, shared = block_threads(kernel, request.launch), user_shared(kernel, request.launch)
    machine = request.machine
    limit = machine.limits.registers_per_thread
    if request.registers is not None and not 1 <= request.registers <= limit:
        raise UsageError(
            f"{machine.name} cannot give a thread that many registers",
            place="--registers",
            found=request.registers,
            expected=f"1 to {limit}",
        )
    budget = Budget(0, limit, 0)
    if request.blocks is not None:
        found = next((b for b in levels(machine, threads, shared) if b.blocks == request.blocks), None)
        if found is None:
            most = max((b.blocks for b in levels(machine, threads, shared)), default=0)
            raise Refused(
                f"{request.blocks} blocks of {threads} threads are not resident at once on {machine.name}",
                place="--blocks",
                found=request.blocks,
                expected=f"1 to {most}",
            )
        budget = found
    registers = budget.registers if request.registers is None else request.registers
    slots = request.slots
    if slots is None:
        blocks = request.blocks or machine.occupancy(registers, shared, threads).blocks_per_sm
        slots = slots_for_blocks(machine, threads, shared, registers, blocks) or 0
    needed = shared_with_slots(shared, threads, slots)
    if needed > machine.limits.shared_per_block:
        raise Refused(
            "the slots do not fit a block's shared memory",
            place="--slots",
            found=f"{slots} slots, {needed} bytes with the kernel's own {shared}",
            expected=f"at most {machine.limits.shared_per_block} bytes",
            remedy="Ask for fewer slots.",
        )
    return Budget(budget.blocks, registers, slots)


def _explicit_rewrite(module: Module, request: Request, original: Version, running: bool) -> Outcome:
    from binalloc.transform.registers import Infeasible

    budget = explicit_budget(module, request)
    try:
        version = build_version(module, request, budget.registers, budget.slots)
    except Infeasible as e:
        raise Refused(
            f"{request.kernel} cannot do with so few registers ({e.message})",
            file=module.path or None,
            found=f"{budget.registers} registers per thread",
            remedy="`binalloc inspect --minimum` tells the fewest.",
        ) from e
    same = None
    if running:
        request.progress(f"{request.kernel}: rewritten, {version.blocks_per_sm} blocks per SM")
        version = measure(version, request)
        same = same_results(request, original, version)
    outcome = Outcome(request, original, version, True, same, False, "as asked", [Tried(budget, version)])
    if running:
        outcome.local = local_version(module, request, version)
        _explain(module, outcome)
    return outcome


def _automatic_rewrite(module: Module, request: Request, original: Version, running: bool) -> Outcome:
    if request.policy == "exhaustive" and not running:
        raise UsageError(
            "the exhaustive policy measures every level in the emulator",
            place="--policy",
            expected="a launch file",
            remedy="Give --launch, or choose --policy unified.",
        )
    if request.policy == "exhaustive":
        tried, best, reason = _exhaustive(module, request, original)
    elif request.policy == "unified":
        tried, best, reason = _unified(module, request, original)
        if best is not None and running:
            best = measure(best, request)
    else:
        raise UsageError("no such policy", place="--policy", found=request.policy, expected="exhaustive or unified")
    if best is None:
        return Outcome(request, original, original, True, True if running else None, True, reason, tried)
    local = local_version(module, request, best) if running else None
    if request.policy == "exhaustive" and local is not None and _fewer(local, best):
        best, reason = local, f"{reason}; slots do not pay here"
    same = same_results(request, original, best) if running else None
    outcome = Outcome(request, original, best, True, same, False, reason, tried, local=local)
    if running:
        _explain(module, outcome)
    return outcome


def _fewer(a: Version, b: Version) -> bool:
    return a.cycles is not None and b.cycles is not None and a.cycles < b.cycles


def _explain(module: Module, outcome: Outcome) -> None:
    """Fill in what the speedup is made of."""
    request, original = outcome.request, outcome.original
    outcome.parts = split_speedup(request, original, outcome.rewritten, outcome.local)
    ours = [fn.instrs for fn in reachable(original.module, request.kernel)]
    given = reachable(module, request.kernel)
    if [fn.instrs for fn in given] == ours:
        outcome.rescheduling = 1.0
    elif all(fn.info.machine == request.machine.name for fn in given):
        as_given = measure(replace(original, module=module), request)
        if as_given.cycles is not None and original.cycles:
            outcome.rescheduling = as_given.cycles / original.cycles


def _exhaustive(module: Module, request: Request, original: Version) -> tuple[list[Tried], Version | None, str]:
    """Every level the machine can hold, measured. Below the original's level there is nothing to gain, and at it only
    where the original has values in local memory that registers or slots could take."""
    kernel = module.function(request.kernel)
    tried: list[Tried] = []
    best: Version | None = None
    assert original.cycles is not None
    fewest = original.cycles
    for budget in levels(request.machine, block_threads(kernel, request.launch), user_shared(kernel, request.launch)):
        if budget.blocks < original.blocks_per_sm or (
            budget.blocks == original.blocks_per_sm and original.local_bytes == 0
        ):
            continue
        request.progress(
            f"{request.kernel}: {budget.blocks} blocks, {budget.registers} registers, {budget.slots} slots"
        )
        same = [t for t in tried if (t.budget.registers, t.budget.slots) == (budget.registers, budget.slots)]
        if same:  # another number of blocks with the same budget is the same program
            tried.append(Tried(budget, same[0].version, same[0].reason))
            continue
        try:
            version = build_version(module, request, budget.registers, budget.slots)
        except Refused as e:
            tried.append(Tried(budget, None, str(e)))
            continue
        version = measure(version, request)
        tried.append(Tried(budget, version))
        if not same_results(request, original, version):
            raise Refused(f"{request.kernel}: results differ at {budget.blocks} blocks", remedy="Nothing was written.")
        assert version.cycles is not None
        if version.cycles < fewest:
            fewest, best = version.cycles, version
    if best is None:
        return tried, None, "no level beats the original" if tried else "the original already has the highest level"
    return tried, best, f"fewest cycles of {len(tried)} levels"


def _unified(module: Module, request: Request, original: Version) -> tuple[list[Tried], Version | None, str]:
    """The unified paper's static search (section 4.2, Fig. 5)."""
    from binalloc.models.search import Level, SearchProblem, unified_search
    from binalloc.transform.schedule import average_dispatch_interval

    kernel = module.function(request.kernel)
    threads = block_threads(kernel, request.launch)
    budgets = {b.blocks: b for b in levels(request.machine, threads, user_shared(kernel, request.launch))}
    built: dict[int, Tried] = {}

    def evaluate(active_threads: int) -> Level:
        blocks = active_threads // threads
        if blocks not in built:
            built[blocks] = _try(module, request, budgets.get(blocks), blocks, original)
        version = built[blocks].version
        if version is None:
            return Level(0, 0, Fraction(0), 0, False)
        compute, memory, spills = static_counts(version)
        code = [i for fn in reachable(version.module, request.kernel) for i in fn.instrs]
        return Level(compute, memory, average_dispatch_interval(code), spills)

    original_code = [i for fn in reachable(original.module, request.kernel) for i in fn.instrs]
    result = unified_search(
        SearchProblem(
            evaluate=evaluate,
            cores=request.machine.chip.cores_per_sm,
            block_size=threads,
            max_threads=request.machine.sm.threads_per_sm,
            max_cmratio=Fraction(request.machine.search.max_cmratio),
            original_threads=original.blocks_per_sm * threads,
            ad_interval=average_dispatch_interval(original_code),
        )
    )
    tried = [built[b] for b in sorted(built)]
    reason = "; ".join(result.path)
    chosen = built.get(result.threads // threads)
    if result.kept_original or chosen is None or chosen.version is None or chosen.version is original:
        return tried, None, reason
    return tried, chosen.version, reason


def _try(module: Module, request: Request, budget: Budget | None, blocks: int, original: Version) -> Tried:
    if budget is None:
        return Tried(Budget(blocks, 0, 0), None, "not resident on this machine")
    if blocks == original.blocks_per_sm:
        return Tried(budget, original)
    try:
        return Tried(budget, build_version(module, request, budget.registers, budget.slots))
    except Refused as e:
        return Tried(budget, None, str(e))


def static_counts(version: Version) -> tuple[int, int, int]:
    """(instructions that are not off-chip accesses, off-chip accesses, spill accesses among those), static, over the
    call graph."""
    off = spills = total = 0
    for fn in reachable(version.module, version.kernel):
        for instr in fn.instrs:
            total += 1
            memory = view(instr).memory
            if memory is not None and memory.space in OFF_CHIP:
                off += 1
                spills += memory.spill
    return total - off, off, spills


def split_speedup(request: Request, original: Version, final: Version, local: Version | None) -> dict[str, float]:
    """The speedup's factors; their product is original.cycles / final.cycles.

    occupancy: the original run with as many blocks resident as the final version, as if registers were free.
    local_traffic: what spilling to local memory alone (`local`, same number of blocks) costs against that ideal.
    slots: what keeping values in slots wins back. Without `local` the last two are one factor, `spills`.
    """
    assert original.cycles is not None
    assert final.cycles is not None
    ideal = original
    if final.blocks_per_sm != original.blocks_per_sm:
        request.progress(f"{request.kernel}: the original at {final.blocks_per_sm} blocks, as if registers were free")
        ideal = measure(original, request, ideal_blocks=final.blocks_per_sm)
    assert ideal.cycles is not None
    parts = {"occupancy": original.cycles / ideal.cycles}
    if local is None or local.cycles is None:
        parts["spills"] = ideal.cycles / final.cycles
        return parts
    parts["local_traffic"] = ideal.cycles / local.cycles
    parts["slots"] = local.cycles / final.cycles
    return parts


def local_version(module: Module, request: Request, final: Version) -> Version | None:
    """The baseline allocator `local` at the registers of the same number of blocks, measured; None if infeasible."""
    kernel = module.function(request.kernel)
    budgets = levels(request.machine, block_threads(kernel, request.launch), user_shared(kernel, request.launch))
    budget = next((b for b in budgets if b.blocks == final.blocks_per_sm), None)
    if budget is None:
        return None
    request.progress(f"{request.kernel}: allocator local, {budget.blocks} blocks, {budget.registers} registers")
    try:
        return measure(build_version(module, request, budget.registers, 0, "local"), request)
    except Refused:
        return None


def add_provenance(outcome: Outcome, source: bytes) -> Module:
    """The rewritten module with a record of what was done to which input."""
    request = outcome.request
    record: dict[str, object] = {
        "tool": "binalloc",
        "version": __version__,
        "input_sha256": hashlib.sha256(source).hexdigest(),
        "kernel": request.kernel,
        "machine": request.machine.name,
        "allocator": request.allocator,
        "registers": outcome.rewritten.registers,
        "slots": outcome.rewritten.slots,
        "policy": None if _explicit(request) else request.policy,
    }
    module = outcome.rewritten.module
    module.provenance = [*module.provenance, record]
    return module
