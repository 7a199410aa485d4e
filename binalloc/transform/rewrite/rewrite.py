"""Rewrites a kernel's whole call graph for a budget of registers and slots per thread.

Numbered steps, callees before callers where it matters:
 1. guarded calls are made plain (`normalise`), the call graph is analysed (webs, liveness);
 2. each function is lowered to virtual code and coloured; what does not fit gets spill code (`registers`);
 3. memory values of the whole call graph are divided between slots and local memory (`models.allocation.slots`, the
    unified paper's section 3.2.2), with the moving stack's shifts and moves at calls;
 4. instructions are emitted, branches relinked, the functions take the place of the originals (`place`).

If nothing has to leave the registers, no register is set aside for the slot pointer. Functions shared with other
kernels are cloned, so that those keep theirs; so are all functions where somebody calls by address. Control codes are
left unset: scheduling follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from binalloc.analysis.callgraph import build_callgraph, require_static
from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.bitset import bits
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import NO_REGISTER, Function, Module
from binalloc.isa.interface.build import SLOT_ROW
from binalloc.isa.interface.view import rename, view
from binalloc.isa.table.fields import FIELDS
from binalloc.isa.validate import NAME_LIMIT, highest_register
from binalloc.models.allocation.slots import CallSite, Procedure, SlotPlan, plan_slots
from binalloc.models.registry import allocator as find_allocator
from binalloc.transform.allocate.exact import ExactReport, improve
from binalloc.transform.allocate.registers import Infeasible, NeedsMemory, RegisterAllocation, allocate_registers
from binalloc.transform.rewrite.code_space import by_address, place
from binalloc.transform.rewrite.emit import CallPlan, Emitted, MemoryPlan, emit, scratch_registers
from binalloc.transform.rewrite.normalise import Normalised, expand_guarded_calls
from binalloc.transform.virtual.code import RELOAD, STORE
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.liveness import liveness
from binalloc.transform.virtual.virtualise import lower

MAX_REGISTERS = 255
MORE_THAN_BEFORE = 4
WORD = 4


@dataclass
class _Work:
    """State of one attempt. pointer: the slot pointer register, -1 for none. exact_slots: slots that the exact model
    may use, -1 to do without it; solver_limit: its deterministic time per function."""

    program: ProgramAnalysis
    normalised: dict[str, Normalised]
    available: int
    pointer: int
    contracts: dict[str, Contract] = field(default_factory=dict)
    allocations: dict[str, RegisterAllocation] = field(default_factory=dict)
    scratch: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    exact_slots: int = -1
    solver_limit: float = 0.0
    reports: list[ExactReport] = field(default_factory=list)

    @property
    def spilled(self) -> bool:
        return any(a.memory for a in self.allocations.values())


@dataclass
class Rewrite:
    """module: the rewritten binary. solver: what the exact model said of each function (allocator cpsat)."""

    module: Module
    solver: list[ExactReport] = field(default_factory=list)


def rewrite(module: Module, kernel: str, registers: int, slots: int, allocator: str = "best") -> Module:
    """`module` with `kernel` and what it calls allocated to `registers` registers and at most `slots` slots per thread.

    The input is left untouched. Every rewritten function carries its instruction map (`Function.origin`). Raises
    Refused for recursion, indirect calls, a kernel that already has slots, and budgets that cannot hold one
    instruction's operands (Infeasible).
    """
    return rewrite_kernel(module, kernel, registers, slots, allocator).module


def rewrite_kernel(
    module: Module, kernel: str, registers: int, slots: int, allocator: str = "best", *, solver_limit: float = 4.0
) -> Rewrite:
    """As `rewrite`, with what the solver said. solver_limit: deterministic solver time per function."""
    chosen = find_allocator(allocator)
    _check(module, kernel, registers, slots)
    normalised = {fn.name: expand_guarded_calls(fn) for fn in module}
    plain = _module_of(module, normalised)
    work = _allocate(analyse(plain, kernel, lift=True), normalised, registers, slots if chosen.slots else 0)
    if chosen.exact and work.spilled:
        work = replace(work, contracts={}, allocations={}, scratch={}, solver_limit=solver_limit)
        work.exact_slots = slots if work.pointer >= 0 else 0
        _colour(work)
    plan = _plan(work, kernel, slots if work.pointer >= 0 else 0, chosen.priority)
    return Rewrite(_assemble(module, kernel, work, plan), work.reports)


def _allocate(program: ProgramAnalysis, normalised: dict[str, Normalised], registers: int, slots: int) -> _Work:
    """Colour the call graph without memory values if that can be, else with the slot pointer set aside."""
    demand = max(highest_register(normalised[name].function.instrs) + 1 for name in program.functions)
    # what it had is enough: more registers than that would only cost occupancy
    counts = {*range(max(demand, 1), min(registers, demand + MORE_THAN_BEFORE)), registers}
    for count in sorted(counts):
        work = _Work(program, normalised, (1 << count) - 1, -1)
        try:
            _colour(work, may_spill=False)
        except NeedsMemory:
            continue
        return work
    if slots and registers > 1:
        work = _Work(program, normalised, (1 << (registers - 1)) - 1, registers - 1)
        try:
            _colour(work)
        except Infeasible:
            pass  # the pointer's register may be the one that is missing
        else:
            return work
    work = _Work(program, normalised, (1 << registers) - 1, -1)
    _colour(work)
    return work


def minimum_registers(module: Module, kernel: str, slots: int = 0, allocator: str = "best") -> int:
    """The fewest registers for which `rewrite` succeeds (with what it spills going to slots or local memory)."""
    low, high = 0, MAX_REGISTERS
    while high - low > 1:
        middle = (low + high) // 2
        try:
            rewrite(module, kernel, middle, slots, allocator)
            high = middle
        except Infeasible:
            low = middle
    return high


def _check(module: Module, kernel: str, registers: int, slots: int) -> None:
    if not 1 <= registers <= MAX_REGISTERS:
        raise UsageError("no such number of registers", found=registers, expected=f"1 to {MAX_REGISTERS}")
    if slots < 0:
        raise UsageError("no such number of slots", found=slots, expected="0 or more")
    require_rewritable(module, kernel)


def require_rewritable(module: Module, kernel: str) -> None:
    """Refused, with a reason, for kernels that no budget can be rewritten for: recursion, indirect calls, a kernel that
    has been rewritten before, spill accesses that belong to no rewrite."""
    require_static(build_callgraph(module, kernel))
    info = module.function(kernel).info
    if info.slot_bytes or info.spill_local:
        raise Refused(
            f"{kernel} has been rewritten before: its spill code is placed for another budget",
            file=module.path or None,
            found=f"{info.slot_bytes // SLOT_ROW} slots, {info.spill_local} spill bytes",
            remedy="Rewrite the original binary (its hash is in the provenance note).",
        )
    for name in sorted(_closure(module, module.function(kernel))):
        for index, instr in enumerate(module.function(name).instrs):
            memory = view(instr).memory
            if memory is not None and memory.spill:
                raise Refused(
                    "a spill access in a binary that no rewrite made: its slots and spill area are nobody's",
                    file=module.path or None,
                    place=f".text.{name} word {index}",
                    remedy="Use plain local or shared accesses in sources.",
                )


def _module_of(module: Module, normalised: dict[str, Normalised]) -> Module:
    """The module with its functions normalised and laid out anew, calls relinked."""
    functions = [normalised[fn.name].function for fn in module]
    plain = replace(module, functions=functions)
    calls: dict[str, dict[int, str]] = {}
    for fn in module:
        found = {}
        for index, old in enumerate(normalised[fn.name].origin):
            if old >= 0 and fn.instrs[old].op.control == "call":
                callee = module.callee(fn, old)
                if callee is not None:
                    found[index] = callee.name
        calls[fn.name] = found
    plain.layout()
    _link_calls(plain, calls)
    return plain


def _link_calls(module: Module, calls: dict[str, dict[int, str]]) -> None:
    """Set every call's offset from its callee's address."""
    address = {fn.name: fn.address for fn in module}
    for fn in module:
        for index, callee in calls.get(fn.name, {}).items():
            fn.instrs[index] = rename(fn.instrs[index], {"target": address[callee] - fn.address - index - 1})


def _colour(work: _Work, *, may_spill: bool = True) -> None:
    """Registers for every function, callees first. Raises NeedsMemory where that takes spilling and it may not."""
    for name in work.program.graph.bottom_up:
        code = lower(work.program, name, work.contracts)
        allocation = allocate_registers(code, work.available, work.contracts, may_spill=may_spill)
        if work.exact_slots >= 0 and allocation.memory:
            fresh = lower(work.program, name, work.contracts)
            allocation, report = improve(
                fresh, allocation, work.available, work.contracts, work.exact_slots, work.solver_limit
            )
            work.reports.append(report)
        work.allocations[name] = allocation
        work.scratch[name] = scratch_registers(allocation, work.available)
        for pair in work.scratch[name]:
            for register in pair:
                if register >= 0:
                    allocation.contract.clobbers |= 1 << register
        work.contracts[name] = allocation.contract


def _plan(work: _Work, kernel: str, slots: int, priority: str) -> SlotPlan:
    """Slots or local words for the memory values of the whole call graph."""
    frequency = _frequencies(work)
    procedures = {name: _procedure(work, name, frequency[name]) for name in work.program.graph.top_down}
    return plan_slots(procedures, kernel, slots, priority)


def _frequencies(work: _Work) -> dict[str, float]:
    """Estimated runs of each function per run of the kernel."""
    graph = work.program.graph
    out = dict.fromkeys(graph.top_down, 0.0)
    out[graph.kernel] = 1.0
    for name in graph.top_down:
        analysis = work.program[name]
        for site in graph.sites[name]:
            weight = analysis.loops.weight[analysis.cfg.block_of[site.index]]
            out[site.callee] += out[name] * weight
    return out


def _procedure(work: _Work, name: str, frequency: float) -> Procedure:
    allocation = work.allocations[name]
    number = {value: k for k, value in enumerate(allocation.memory)}
    live = liveness(allocation.code, memory=True)

    def dense(mask: int) -> int:
        out = 0
        for value in bits(mask):
            out |= 1 << number[value]
        return out

    exits = [dense(mask) for mask in live.live_after]
    adjacency = [0] * len(number)
    cost = [0.0] * len(number)
    calls = []
    scratch = iter(work.scratch[name])
    for item, after in zip(allocation.code.items(), exits, strict=True):
        if item.kind in (RELOAD, STORE):
            cost[number[item.memory]] += item.weight
        if item.kind == STORE:
            v = number[item.memory]
            adjacency[v] |= after & ~(1 << v)
        if item.callee:
            before, behind = next(scratch)
            calls.append(CallSite(item.callee, after, before >= 0 and behind >= 0, item.weight))
    for v, mask in enumerate(adjacency):
        for n in bits(mask):
            adjacency[n] |= 1 << v
    return Procedure(name, len(number), exits, adjacency, calls, cost, frequency)


def _assemble(module: Module, kernel: str, work: _Work, plan: SlotPlan) -> Module:
    """Emit the functions, put them in place of the originals and record the kernel's resources."""
    base = _user_local_bytes(work, kernel)
    _require_reach(module, kernel, base, WORD * plan.local_words)
    emitted = {name: _emit(work, plan, name, kernel, base) for name in work.program.graph.top_down}
    names, shared = _final_names(module, kernel, set(emitted))
    functions: list[Function] = []
    calls: dict[str, dict[int, str]] = {}
    kept: set[str] = set()
    for fn in module:
        if fn.name not in emitted or fn.name in shared:
            functions.append(replace(fn, instrs=list(fn.instrs)))
            calls[fn.name] = _callees(module, fn)
            kept.add(fn.name)
        if fn.name in emitted:
            new = emitted[fn.name]
            new.function.name = names[fn.name]
            functions.append(new.function)
            calls[names[fn.name]] = {index: names[callee] for index, callee in new.calls.items()}
    out = replace(
        module, functions=functions, constants=dict(module.constants), provenance=list(module.provenance)
    )
    place(module, out, kept)
    _link_calls(out, calls)
    _record(out, kernel, names, work, plan, base)
    return out


def _require_reach(module: Module, kernel: str, base: int, spilled: int) -> None:
    """Spill words lie behind the local frames; an access names their place as a constant."""
    most = FIELDS["moff"].maximum - WORD + 1
    if spilled and base + spilled > most:
        raise Refused(
            "spill code cannot reach behind so much local memory of the kernel's own",
            file=module.path or None,
            place=f"kernel {kernel}",
            found=f"{base:,} bytes of its own and {spilled:,} spilled per thread",
            expected=f"at most {most:,} together",
            remedy="Give it more registers, or use less local memory.",
        )


def _user_local_bytes(work: _Work, kernel: str) -> int:
    """The kernel's local frame bytes, or 0 where every access to them was lifted to values."""
    for allocation in work.allocations.values():
        for item in allocation.code.items():
            memory = view(item.instr).memory if item.instr is not None else None
            if memory is not None and memory.space in ("local", "generic"):
                return work.program[kernel].fn.info.local_bytes
    return 0


def _emit(work: _Work, plan: SlotPlan, name: str, kernel: str, base: int) -> Emitted:
    mine = plan.procedures[name]
    values = work.allocations[name].memory
    memory = MemoryPlan(pointer=work.pointer if plan.need else -1, is_kernel=name == kernel)
    memory.slot_of = {values[v]: slot for v, slot in mine.slot_of.items()}
    memory.local_of = {values[v]: base + WORD * (mine.local_offset + word) for v, word in mine.local_of.items()}
    for site in mine.sites:
        needed = plan.procedures[site.callee].need > 0
        moves = [(m.source, m.target) for m in site.moves] if needed else []
        memory.calls.append(CallPlan(site.shift if needed else 0, moves))
    return emit(work.allocations[name], work.normalised[name], memory, work.scratch[name])


def _final_names(module: Module, kernel: str, ours: set[str]) -> tuple[dict[str, str], set[str]]:
    """Names of the rewritten functions; those other kernels (or unknown callers) also use are cloned as name$kernel."""
    shared: set[str] = set()
    if by_address(module):
        shared |= {name for name in ours if not module.function(name).info.is_kernel}
    for fn in module:
        if fn.name == kernel or (fn.name in ours and not fn.info.is_kernel):
            continue
        shared |= _closure(module, fn) & ours
    taken = {fn.name for fn in module}
    names = {}
    for name in sorted(ours):
        clone = f"{name}${kernel}"
        if len(clone) > NAME_LIMIT:
            clone = f"{name[: NAME_LIMIT // 4]}${kernel[: NAME_LIMIT // 4]}"
        while name in shared and clone in taken:
            clone += "_"
        names[name] = clone if name in shared else name
        taken.add(names[name])
    return names, shared


def _closure(module: Module, fn: Function) -> set[str]:
    seen = {fn.name}
    work = [fn]
    while work:
        here = work.pop()
        for callee in sorted(set(_callees(module, here).values()) - seen):
            seen.add(callee)
            work.append(module.function(callee))
    return seen


def _callees(module: Module, fn: Function) -> dict[int, str]:
    out = {}
    for index, instr in enumerate(fn.instrs):
        if instr.op.control == "call":
            callee = module.callee(fn, index)
            if callee is not None:
                out[index] = callee.name
    return out


def _record(out: Module, kernel: str, names: dict[str, str], work: _Work, plan: SlotPlan, local_bytes: int) -> None:
    """Registers, slots and local bytes in every rewritten function's info; the kernel's cover the call graph."""
    used = {old: highest_register(out.function(new).instrs) + 1 for old, new in names.items()}
    for old, new in names.items():
        fn = out.function(new)
        fn.info = replace(fn.info, registers=used[old], machine="")
        if new == kernel:
            stack = work.contracts[kernel].arguments.get(fn.info.local_stack, NO_REGISTER)
            needed = max(used.values())
            if stack != NO_REGISTER:
                needed = max(needed, stack + 1)
            fn.info = replace(
                fn.info,
                registers=needed,
                local_bytes=local_bytes,
                local_frame=fn.info.local_frame if local_bytes else 0,
                local_stack=stack,
                spill_local=WORD * plan.local_words,
                slot_bytes=SLOT_ROW * plan.need,
                slot_pointer=work.pointer if plan.need else NO_REGISTER,
            )
