"""This module rewrites a kernel's whole call graph for a budget of registers and slots per thread.

Numbered steps, callees before callers where it matters:
 1. calls are inlined where that is asked for (`inline`), guarded ones made plain (`normalise`), the call graph is
    analysed (webs, liveness);
 2. the allocator gives each function's values registers (`allocate.attempt`); values that do not fit get spill code;
 3. memory values of the whole call graph are divided between slots and local memory (`allocate.memory_values`,
    the unified paper's section 3.2.2), with the moving stack's shifts and moves at calls;
 4. instructions are emitted, branches relinked, the functions take the place of the originals (`place`).

If nothing has to be spilled, no register is set aside for the slot pointer. Functions shared with other kernels are
cloned, so that those keep theirs; so are all functions where somebody calls by address. Control codes are left unset:
scheduling follows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from binalloc.analysis.executions import Executions
from binalloc.analysis.flow.callgraph import CallGraph, build_callgraph, require_static
from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.errors import Refused, UsageError
from binalloc.isa.instruction import NO_REGISTER, Function, Module
from binalloc.isa.interface.names import NAME_LIMIT
from binalloc.isa.interface.places import SLOT_ROW, WORD
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import set_of, view
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT
from binalloc.models.allocation.terms import Register
from binalloc.models.machines.model import Machine
from binalloc.transform.allocate.argument_homes import argument_homes, count_passes
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.explain import Spilled, explain
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.allocate.functions.solver import SolverReport
from binalloc.transform.allocate.spill_cost import SpillCost
from binalloc.transform.allocators.allocator import SOLVER_LIMIT, Allocator, Plan, Problem
from binalloc.transform.allocators.installed import blamed_for
from binalloc.transform.allocators.table import DEFAULT, find_allocator
from binalloc.transform.rewrite.code_space import by_address, place
from binalloc.transform.rewrite.emit import CallPlan, Emitted, MemoryPlan, emit
from binalloc.transform.rewrite.inline import inline_calls
from binalloc.transform.rewrite.normalise import Normalised, expand_guarded_calls
from binalloc.transform.rewrite.ways import NONE


@dataclass(frozen=True)
class Prepared:
    """A prepared kernel can be rewritten; it is analysed once for every budget."""

    module: Module  #: the input, with calls inlined
    kernel: str
    normalised: dict[str, Normalised]  #: its functions with plain calls, by name
    program: ProgramAnalysis  #: the analysis of these functions
    inlined: dict[str, list[int]] = field(default_factory=dict)  #: by function, the words of the calls (`inline`)


@dataclass
class Rewrite:
    """A rewrite is a rewritten binary with its allocation."""

    module: Module  #: the rewritten binary
    functions: frozenset[str]  #: names in it of the kernel and all functions that it calls
    prepared: Prepared
    plan: Plan  #: the places of all values

    @property
    def cost(self) -> SpillCost:
        """Return the cost of its spill code."""
        return self.plan.cost

    @property
    def solver(self) -> list[SolverReport]:
        """Return the exact model's report on each function (allocator cpsat)."""
        return self.plan.solver

    @property
    def bound(self) -> float | None:
        """Return the lower bound of the cost, see `Plan`."""
        return self.plan.bound

    def explain(self) -> list[Spilled]:
        """List the spilled values, why they were spilled and where they went: callers before callees."""
        normalised, plan = self.prepared.normalised, self.plan
        allocations, runs = plan.attempt.allocations, self.prepared.program.runs
        passes, access = count_passes(allocations, runs), plan.attempt.prices.usual
        spilled: list[Spilled] = []
        for name in self.prepared.program.graph.top_down:
            memory, words = plan.memory.procedures[name], normalised[name].origin
            spilled += explain(name, allocations[name], memory, words, runs[name], access, passes.get(name))
        return spilled


def rewrite(
    module: Module, kernel: str, registers: int, slots: int, allocator: str = DEFAULT, inline: str = NONE
) -> Module:
    """Return `module` with `kernel` and its callees allocated to `registers` registers and at most `slots` slots per
    thread.

    inline: which calls become their callees' code first (`ways.WAYS`). The input is left untouched. Every rewritten
    function carries its instruction map (`Function.origin`). Raises Refused for recursion, indirect calls, a kernel
    that already has slots, and budgets that cannot hold one instruction's operands (Infeasible).
    """
    find_allocator(allocator)
    _check_budget(module, registers, slots)
    return rewrite_to_budget(prepare(module, kernel, inline=inline), registers, slots, allocator).module


@with_room
@no_collection()
def prepare(
    module: Module,
    kernel: str,
    graph: CallGraph | None = None,
    executions: Executions | None = None,
    inline: str = NONE,
) -> Prepared:
    """Return the kernel prepared for `rewrite_to_budget`. graph: its call graph, if at hand. executions: of the
    instructions of all its functions, in place of estimates from loops. inline: which calls, by name (`ways.WAYS`).
    Raises Refused if no budget can be rewritten for."""
    graph = graph or build_callgraph(module, kernel)
    require_rewritable(module, graph)
    inlined = inline_calls(module, graph, inline, executions)
    module, executions = inlined.module, inlined.executions
    normalised = {fn.name: expand_guarded_calls(fn) for fn in module}
    if executions is not None:
        executions = {name: normalised[name].executed(counts) for name, counts in executions.items()}
    program = analyse(_module_of(module, normalised), kernel, lift=True, executions=executions)
    return Prepared(module, kernel, normalised, program, inlined.words)


@with_room
@no_collection()
def rewrite_to_budget(
    prepared: Prepared,
    registers: int,
    slots: int,
    allocator: str | Allocator = DEFAULT,
    *,
    solver_limit: float = SOLVER_LIMIT,
    machine: Machine | None = None,
    dynamic_shared: int = 0,
    layout: str = DEFAULT_LAYOUT,
) -> Rewrite:
    """Rewrite as `rewrite` does, with the solver's reports. allocator: its name, or one that is in no table. The
    options: see `Problem`."""
    chosen = find_allocator(allocator) if isinstance(allocator, str) else allocator
    _check_budget(prepared.module, registers, slots)
    problem = Problem(
        prepared.program, prepared.kernel, registers, slots, solver_limit, machine, dynamic_shared, layout
    )
    with blamed_for(chosen):
        plan = _planned(prepared, problem, chosen)
        names, shared = _final_names(prepared.module, prepared.kernel, set(prepared.program.graph.functions))
        made = Rewrite(_assemble(prepared, plan, names, shared), frozenset(names.values()), prepared, plan)
        _require_kept(made, problem)
    return made


def _require_kept(made: Rewrite, problem: Problem) -> None:
    """Check that the allocator kept to its budget. Raises ValueError if not, since this is not the user's fault."""
    info = made.module.function(problem.kernel).info
    if info.registers > problem.registers or info.slots > problem.slots:
        took = f"{info.registers} registers and {info.slots} slots"
        raise ValueError(f"{took} where there are {problem.registers} and {problem.slots}")


def _planned(prepared: Prepared, problem: Problem, allocator: Allocator) -> Plan:
    """Return the plan. Raises Infeasible."""
    plan = allocator.allocate(problem)
    base = _user_local_bytes(plan.attempt, prepared.kernel)
    _require_reach(prepared.module, prepared.kernel, base, WORD * plan.memory.local_words)
    return plan


def minimum_registers(module: Module, kernel: str, slots: int = 0, allocator: str = DEFAULT) -> int:
    """Return the number of `fewest_registers`; raise Refused if there is no such number."""
    fewest = fewest_registers(prepare(module, kernel), slots, allocator)
    if fewest is None:
        raise Refused(f"no number of registers will do for {kernel}", file=module.path or None)
    return fewest


def fewest_registers(prepared: Prepared, slots: int = 0, allocator: str = DEFAULT) -> int | None:
    """Return the smallest number of registers for which `rewrite_to_budget` succeeds, None if no number suffices.
    Spilled values may go to slots or local memory.

    It is found by bisection: an allocation for some registers is one for more. A solver changes costs, but not this
    number.
    """

    chosen = find_allocator(allocator)

    def feasible(registers: int) -> bool:
        return chosen.is_feasible(Problem(prepared.program, prepared.kernel, registers, slots, 0.0))

    low, high = 0, set_of(prepared.module).limits.registers
    if not feasible(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if feasible(middle):
            high = middle
        else:
            low = middle
    return high


def _check_budget(module: Module, registers: int, slots: int) -> None:
    most = set_of(module).limits.registers
    if not 1 <= registers <= most:
        raise UsageError("no such number of registers", found=registers, expected=f"1 to {most}")
    if slots < 0:
        raise UsageError("no such number of slots", found=slots, expected="0 or more")


def require_rewritable(module: Module, graph: CallGraph) -> None:
    """Raise Refused, with a reason, for kernels that no budget can be rewritten for: recursion, indirect calls, a
    kernel that has been rewritten before, spill accesses that belong to no rewrite. graph: the kernel's."""
    require_static(graph)
    kernel = graph.kernel
    info = module.function(kernel).info
    if info.slot_bytes or info.spill_local:
        raise Refused(
            f"{kernel} has been rewritten before: its spill code is placed for another budget",
            file=module.path or None,
            found=f"{info.slots} slots, {info.spill_local} spill bytes",
            remedy="Rewrite the original binary (its hash is in the provenance note).",
        )
    reached = module.reached(module.function(kernel), indirect=False)
    for fn in sorted(reached, key=lambda fn: fn.name):
        for index, instr in enumerate(fn.instrs):
            memory = view(instr).memory
            if memory is not None and memory.spill:
                raise Refused(
                    "a spill access in a binary that was never rewritten: it has no slots and no spill area",
                    file=module.path or None,
                    place=f".text.{fn.name} word {index}",
                    remedy="Use plain local or shared accesses in sources.",
                )


def _module_of(module: Module, normalised: dict[str, Normalised]) -> Module:
    """Return the module with its functions normalised and laid out anew, calls relinked."""
    functions = [normalised[fn.name].function for fn in module]
    plain = replace(module, functions=functions)
    calls: dict[str, dict[int, str]] = {}
    for fn in module:
        callees = module.callees(fn)
        origin = normalised[fn.name].origin
        calls[fn.name] = {index: callees[old].name for index, old in enumerate(origin) if old in callees}
    plain.layout()
    _link_calls(plain, calls)
    return plain


def _link_calls(module: Module, calls: dict[str, dict[int, str]]) -> None:
    """Set every call's offset from its callee's address."""
    isa = set_of(module)
    address = {fn.name: fn.address for fn in module}
    for fn in module:
        for index, callee in calls.get(fn.name, {}).items():
            fn.instrs[index] = isa.recall(fn.instrs[index], address[callee] - fn.address - index - 1)


def _assemble(prepared: Prepared, plan: Plan, names: dict[str, str], shared: set[str]) -> Module:
    """Emit the functions, put them in place of the originals and record the kernel's resources. names, shared: see
    `_final_names`."""
    module, kernel = prepared.module, prepared.kernel
    base = _user_local_bytes(plan.attempt, kernel)
    emitted = {name: _emit(prepared, plan, name, base) for name in prepared.program.graph.top_down}
    functions: list[Function] = []
    calls: dict[str, dict[int, str]] = {}
    kept: set[str] = set()
    for fn in module:
        if fn.name not in emitted or fn.name in shared:
            functions.append(replace(fn, instrs=list(fn.instrs)))
            calls[fn.name] = {index: callee.name for index, callee in module.callees(fn).items()}
            kept.add(fn.name)
        if fn.name in emitted:
            new = emitted[fn.name]
            new.function.name = names[fn.name]
            assert new.function.origin is not None
            new.function.origin.inlined = prepared.inlined.get(fn.name, [])
            functions.append(new.function)
            calls[names[fn.name]] = {index: names[callee] for index, callee in new.calls.items()}
    out = replace(
        module, functions=functions, constants=dict(module.constants), provenance=list(module.provenance)
    )
    place(module, out, kept)
    _link_calls(out, calls)
    _record(out, kernel, names, plan, base)
    return out


def _require_reach(module: Module, kernel: str, base: int, spilled: int) -> None:
    """Check that all spill words, placed behind the local frames, can be accessed: an access has their place as a
    constant. Raises Infeasible."""
    most = set_of(module).limits.frame_reach
    if spilled and base + spilled > most:
        raise Infeasible(
            "spill code cannot reach behind so much local memory of the kernel's own",
            file=module.path or None,
            place=f"kernel {kernel}",
            found=f"{base:,} bytes of its own and {spilled:,} spilled per thread",
            expected=f"at most {most:,} together",
            remedy="Give it more registers, or use less local memory.",
        )


def _user_local_bytes(attempt: Attempt, kernel: str) -> int:
    """Return the kernel's local frame bytes, or 0 where every access to them was lifted to values."""
    for allocation in attempt.allocations.values():
        for item in allocation.code.items():
            memory = view(item.instr).memory if item.instr is not None else None
            if memory is not None and memory.space in (Space.LOCAL, Space.GENERIC):
                return attempt.program[kernel].fn.info.local_bytes
    return 0


def _emit(prepared: Prepared, whole: Plan, name: str, base: int) -> Emitted:
    """Emit one function with its memory values in place. base: local memory of the kernel's own, in bytes."""
    attempt, plan = whole.attempt, whole.memory
    mine = plan.procedures[name]
    values = attempt.allocations[name].memory
    memory = MemoryPlan(pointer=attempt.pointer if plan.need else -1, is_kernel=name == prepared.kernel)
    memory.slot_of = {values[v]: slot for v, slot in mine.slot_of.items()}
    memory.local_of = {values[v]: base + WORD * (mine.local_offset + word) for v, word in mine.local_of.items()}
    memory.moved = mine.moved
    for site in mine.sites:
        moves, back = ([(m.source, m.target) for m in some] for some in (site.moves, site.back))
        needed = plan.procedures[site.callee].need > 0
        call = CallPlan(site.shift, moves, back) if needed else CallPlan()
        for location, home in argument_homes(attempt.allocations[site.callee], plan.procedures[site.callee]).items():
            if home.in_slot:
                call.slots[location] = call.shift + home.at
            else:
                call.words[location] = base + WORD * home.at
        memory.calls.append(call)
    isa = attempt.program.isa
    return emit(isa, attempt.allocations[name], prepared.normalised[name], memory, attempt.scratch[name])


def _final_names(module: Module, kernel: str, ours: set[str]) -> tuple[dict[str, str], set[str]]:
    """Return the names of the rewritten functions, and the functions that are cloned as name$kernel. A function is
    cloned if other kernels (or unknown callers) use it, too."""
    shared: set[str] = set()
    if by_address(module):
        shared |= {name for name in ours if not module.function(name).info.is_kernel}
    for fn in module:
        if fn.name == kernel or (fn.name in ours and not fn.info.is_kernel):
            continue
        shared |= {f.name for f in module.reached(fn, indirect=False)} & ours
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


def _record(out: Module, kernel: str, names: dict[str, str], plan: Plan, local_bytes: int) -> None:
    """Write registers, slots and local bytes into every rewritten function's info; the kernel's cover the call
    graph."""
    used = {old: set_of(out).highest_register(out.function(new).instrs) + 1 for old, new in names.items()}
    for old, new in names.items():
        fn = out.function(new)
        fn.info = replace(fn.info, registers=used[old], machine="")
        if new == kernel:
            stack = plan.attempt.contracts[kernel].arguments.get(Location(fn.info.local_stack), Register(NO_REGISTER))
            needed = max(used.values())
            if stack != NO_REGISTER:
                needed = max(needed, stack + 1)
            fn.info = replace(
                fn.info,
                registers=needed,
                local_bytes=local_bytes,
                local_frame=fn.info.local_frame if local_bytes else 0,
                local_stack=stack,
                spill_local=WORD * plan.memory.local_words,
                slot_bytes=SLOT_ROW * plan.memory.need,
                slot_pointer=plan.attempt.pointer if plan.memory.need else NO_REGISTER,
            )
