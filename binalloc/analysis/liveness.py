"""This module solves interprocedural liveness of registers and predicates over one kernel's call graph.

Needs a static call graph (no recursion, no indirect call), or with `recursive` one in which functions may call
themselves. Leaves for each function a `Liveness`: sets live before and after every instruction, and a `CallSummary` of
the locations that a call of it reads, may change and surely changes. Sets are Python ints over the numbering of
`locations`.

Context-insensitive: one set of results per function, the union over its call sites. At a call
 before = (after - must_def(callee)) | reads(callee)

where a register that the callee may, but need not, redefine stays live through it by itself. Along cycles of calls all
functions are solved again until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from binalloc.analysis.facts import InstructionFacts, build_facts, changed_predicates, flow_of
from binalloc.analysis.flow.backward import BackwardSolver
from binalloc.analysis.flow.callgraph import CallGraph, require_direct, require_static
from binalloc.analysis.flow.cfg import FIRST_BLOCK, BlockNumber, Cfg
from binalloc.analysis.lift import Lifting
from binalloc.analysis.locations import REG_MASK, Location, locations_in
from binalloc.isa.instruction import NO_REGISTER
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.kinds import Flow


@dataclass
class CallSummary:
    """A summary is what callers must know of a function, as sets of locations."""

    may_def: int = 0  #: changed on some path, its callees included
    must_def: int = 0  #: redefined on every path from entry to a RET (all of may_def if no path returns)
    reads: int = 0  #: incoming values that an instruction of the function or its callees may read
    #: live at entry: reads, and results that some path passes through unchanged; of a kernel, what hardware sets
    args: int = 0
    results: int = 0  #: the part of may_def that is live after some call site in this call graph
    returns: bool = True  #: whether a RET is reachable


@dataclass
class Liveness:
    """The liveness of a function says which locations are live before and after each instruction."""

    cfg: Cfg  #: its control flow
    facts: InstructionFacts  #: sets of each instruction, calls and returns included
    summary: CallSummary  #: what callers must know of it
    live_in: list[int] = field(default_factory=list)  #: set live into each block
    live_out: list[int] = field(default_factory=list)  #: set live out of each block
    before: list[int] = field(default_factory=list)  #: set live before each instruction (0 in unreachable code)
    after: list[int] = field(default_factory=list)  #: set live after each instruction (0 in unreachable code)
    #: for guarded or partial definitions the defined locations whose old value is needed after the instruction
    #: (elsewhere a definition ends the old value, guarded or not)
    kept: dict[int, int] = field(default_factory=dict)
    entry_defined: int = 0  #: set by hardware or by callers before the first instruction
    #: (instruction, location) reads in a kernel without a definition on some path; a read inside a callee is listed at
    #: the call
    undefined: list[tuple[int, Location]] = field(default_factory=list)

    def call_results(self, index: int, callee: CallSummary) -> int:
        """Return the results of the callee that are live after the call at `index`."""
        return callee.results & self.after[index]

    def call_args(self, index: int, callee: CallSummary) -> int:
        """Return the arguments of the call at `index`: read by the callee, or passed through it and live after this
        call."""
        return callee.args & (callee.reads | (self.after[index] & callee.results)) & self.before[index]

    def survivors(self, index: int, callee: CallSummary) -> int:
        """Return the set live before and after the call at `index` and not changed by it: the paper's Live-on-exit at a
        call."""
        return self.after[index] & self.before[index] & ~callee.results

    def walk(self, block: BlockNumber) -> Iterator[tuple[int, int, int]]:
        """Yield (instruction, live before, live after) from the block's last instruction to its first."""
        span = self.cfg.blocks[block]
        for i in range(span.end - 1, span.start - 1, -1):
            yield i, self.before[i], self.after[i]


def build_liveness(
    graph: CallGraph, lifting: Lifting | None = None, *, recursive: bool = False
) -> dict[str, Liveness]:  # fmt: skip
    """Return the liveness of every function of the call graph, by name; with `lifting`, of lifted local words too.

    Raises Refused (see `require_static`) for recursion, unless `recursive`, and indirect calls. Reads and definitions
    are summarised callees first, then results are found callers first; nothing in a caller depends on a callee's
    results.
    """
    (require_direct if recursive else require_static)(graph)
    local = lifting.accesses if lifting else {}
    found = {
        name: Liveness(graph.cfgs[name], build_facts(graph.cfgs[name], local.get(name)), CallSummary())
        for name in graph.functions
    }
    _settle(graph, graph.bottom_up, lambda name: _may_define(graph, found, name))
    for live in found.values():
        live.summary.must_def = live.summary.may_def  # the most there can be: cycles begin with it
    _settle(graph, graph.bottom_up, lambda name: _must_define(graph, found, name))
    everything = 0
    for live in found.values():
        everything |= live.facts.everything
    solvers = {name: BackwardSolver(flow_of(live.cfg), live.facts, everything) for name, live in found.items()}
    _settle(graph, graph.bottom_up, lambda name: _reads(found, solvers, name, graph))
    _settle(graph, graph.top_down, lambda name: _results(graph, found, solvers, name))
    for name in graph.functions:
        _per_instruction(found[name], solvers[name])
        if name == graph.kernel:
            _entry_and_undefined(found[name])
        else:
            found[name].entry_defined = found[name].summary.args
    return found


def _settle(graph: CallGraph, order: list[str], step: Callable[[str], bool]) -> None:
    """Apply the step to each function, once without recursion, else until no step changes anything."""
    changed = True
    while changed:
        changed = sum(step(name) for name in order) > 0 and bool(graph.cycles)


def _may_define(graph: CallGraph, found: dict[str, Liveness], name: str) -> bool:
    """Compute may_def of a function, and fill in what its calls may change; return whether it has grown."""
    live = found[name]
    cfg, facts, summary = live.cfg, live.facts, live.summary
    before = summary.may_def
    for site in graph.sites[name]:
        callee = found[site.callee].summary
        facts.clobbers[site.index] = callee.may_def
        facts.changes[site.index] = changed_predicates(callee.may_def)
    for block in cfg.rpo:
        for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
            summary.may_def |= facts.clobbers[i]
    return summary.may_def != before


def _must_define(graph: CallGraph, found: dict[str, Liveness], name: str) -> bool:
    """Compute must_def of a function, and fill in definitions at its calls; return whether it has shrunk."""
    live = found[name]
    cfg, facts, summary = live.cfg, live.facts, live.summary
    before = summary.must_def
    for site in graph.sites[name]:
        facts.defs[site.index] = found[site.callee].summary.must_def
    if name == graph.kernel:
        summary.must_def = 0
        return before != 0
    rets = [i for i in cfg.exits if cfg.views[i].control == Flow.RETURN]
    summary.returns = bool(rets)
    uses = [0] * len(cfg.views)
    for i in rets:
        uses[i] = summary.may_def
    everything = facts.everything | summary.may_def
    solver = BackwardSolver(flow_of(cfg), replace(facts, uses=uses), everything)
    summary.must_def = summary.may_def & ~solver.solve()[0]
    return summary.must_def != before


def _reads(found: dict[str, Liveness], solvers: dict[str, BackwardSolver], name: str, graph: CallGraph) -> bool:
    """Compute true upward-exposed reads, and return whether they have grown.

    The solver keeps that solution, and results only add to it.
    """
    live, solver = found[name], solvers[name]
    for site in graph.sites[name]:
        live.facts.uses[site.index] = found[site.callee].summary.reads
        solver.touch(live.cfg.block_of[site.index])
    summary, before = live.summary, live.summary.reads
    summary.reads = summary.args = solver.solve()[0]
    return summary.reads != before


def _results(graph: CallGraph, found: dict[str, Liveness], solvers: dict[str, BackwardSolver], name: str) -> bool:
    """Compute the results of a function's callees, with callers solved first; return whether a callee's have grown."""
    live, solver = found[name], solvers[name]
    live.summary.args = solver.solve()[0]
    grew = False
    for callee, after in _after_calls(graph, live, solver).items():
        summary = found[callee].summary
        before = summary.results
        summary.results |= after & summary.may_def
        grew |= summary.results != before
        for i in live_returns(found[callee]):
            found[callee].facts.uses[i] = summary.results
            solvers[callee].touch(found[callee].cfg.block_of[i])
    return grew


def live_returns(live: Liveness) -> list[int]:
    """Return the reachable RET instructions of a function."""
    return [i for i in live.cfg.exits if live.cfg.views[i].control == Flow.RETURN]


def _after_calls(graph: CallGraph, live: Liveness, solver: BackwardSolver) -> dict[str, int]:
    """Return for each callee the union of the sets live after its calls in one function."""
    after: dict[str, int] = {}
    cfg = live.cfg
    callee_at = {s.index: s.callee for s in graph.sites[cfg.name]}
    for block in sorted({cfg.block_of[i] for i in callee_at}):
        for step in solver.walk(block):
            if step.row in callee_at:
                after[callee_at[step.row]] = after.get(callee_at[step.row], 0) | step.after
    return after


def _per_instruction(live: Liveness, solver: BackwardSolver) -> None:
    """Fill in the sets before and after each instruction and what guarded and partial definitions keep."""
    cfg, facts = live.cfg, live.facts
    n = len(cfg.views)
    live.live_in = list(solver.live_in)
    live.live_out = [0] * len(cfg.blocks)
    before, after = [0] * n, [0] * n
    live.before, live.after = before, after
    for block in cfg.rpo:
        for s in cfg.succs[block]:
            live.live_out[block] |= live.live_in[s]
        for i, now, then, kept in solver.walk(block):
            before[i], after[i] = now, then
            kept |= facts.clobbers[i] & ~facts.defs[i] & then
            if kept:
                live.kept[i] = kept


def _entry_and_undefined(live: Liveness) -> None:
    """Fill in what the hardware sets at launch, and reads without a definition on some path (forward may-analysis)."""
    cfg, facts = live.cfg, live.facts
    if live.cfg.fn.info.is_kernel and cfg.fn.info.local_stack != NO_REGISTER:
        live.entry_defined = (1 << cfg.fn.info.local_stack) & REG_MASK
    start = live.live_in[0] & ~live.entry_defined
    live.summary.args &= live.entry_defined
    if not start:
        return
    unset = [0] * len(cfg.blocks)
    unset[0] = start
    work = [FIRST_BLOCK]
    while work:
        block = work.pop()
        now = unset[block]
        for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
            now &= ~facts.defs[i] | live.kept.get(i, 0)
        for s in cfg.succs[block]:
            new = unset[s] | (now & live.live_in[s])
            if new != unset[s]:
                unset[s] = new
                work.append(s)
    for block in cfg.rpo:
        now = unset[block]
        for i in range(cfg.blocks[block].start, cfg.blocks[block].end):
            if not now:
                break
            used = facts.uses[i] | (1 << (PRED_BASE + (facts.lits[i] >> 1)) if facts.lits[i] >= 0 else 0)
            live.undefined.extend((i, loc) for loc in locations_in(used & now))
            now &= ~facts.defs[i] | live.kept.get(i, 0)
    live.undefined.sort()
