"""This module replaces calls by their callees' code, before allocation.

It needs a module and the call graph of one of its kernels. It leaves another module, where functions of that graph
have the bodies of some callees in place of the calls. It also returns the places, so that the checker can inline in the
same way. Functions that other kernels use are unchanged.

A body replaces an unguarded call, without its return. The return has to be its last word, the only one, and unguarded.
Lanes diverging in the body have to reconverge before the return. `once` takes callees with one call in the graph, so
that their code exists only once; `small` takes callees hardly longer than the cost of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from binalloc.analysis.executions import Executions
from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.transform.rewrite.code_space import by_address
from binalloc.transform.rewrite.ways import NONE

SMALL = 16
"""Most instructions of a small callee, its return included. Moving arguments, shifting the slot pointer, CALL and RET
take about as many where a few values are passed."""
MOST_WORDS = 100_000
"""upper limit of a function with its inlined bodies, which stops exponential growth; chosen by hand"""


@dataclass
class Inlined:
    """An inlined module has the code of some callees in place of their calls."""

    module: Module  #: with the calls inlined
    #: by function, the words of the calls, each in the numbering left by the ones before
    words: dict[str, list[int]] = field(default_factory=dict)
    executions: dict[str, list[int]] | None = None  #: runs of the new words, if they are known for the old ones


@dataclass(frozen=True)
class _Line:
    """A line is a word that may move from one function to another."""

    instr: Instr
    callee: str  #: the function that its call enters, "" for none
    source: tuple[str, int] | None  #: its place in the source
    executed: float  #: how often it is executed
    touches: tuple[str, ...] = ()  #: the shared variables that it touches, as `Function.touches` has it


def inline_calls(module: Module, graph: CallGraph, how: str, executions: Executions | None = None) -> Inlined:
    """Return the module with calls of the graph inlined by `how`, a name in `WAYS`. executions: of all its
    functions."""
    return _inlined(module, graph, _chosen(graph, how), executions)


def inline_functions(module: Module, graph: CallGraph, names: Collection[str]) -> Inlined:
    """Return the module with calls of some functions inlined, as far as their code may replace a call."""
    return _inlined(module, graph, {name for name in names if inlinable(graph.function(name))
                                    and _as_its_callers(graph, name)}, None)  # fmt: skip


def _inlined(module: Module, graph: CallGraph, chosen: set[str], executions: Executions | None) -> Inlined:
    if not chosen or by_address(module):
        return Inlined(module, {}, None if executions is None else {k: list(v) for k, v in executions.items()})
    work = _Inlining(module, graph, chosen, executions)
    others = {
        fn.name for kernel in module.kernels() if kernel.name != graph.kernel
        for fn in module.reached(kernel, indirect=False)
    }  # fmt: skip
    made = {name: work.function(name) for name in graph.functions if name not in others}
    return work.assembled({name: lines for name, (lines, words) in made.items() if words},
                          {name: words for name, (_, words) in made.items() if words})  # fmt: skip


def _chosen(graph: CallGraph, how: str) -> set[str]:
    """Return the callees to inline."""
    callees = [name for name in graph.functions if name != graph.kernel and inlinable(graph.function(name))]
    callees = [name for name in callees if _as_its_callers(graph, name)]
    once = {name for name in callees if len(graph.sites_of(name)) == 1}
    small = {name for name in callees if len(graph.function(name)) <= SMALL}
    return {NONE: set(), "once": once, "small": small, "all": once | small}[how]


def _as_its_callers(graph: CallGraph, name: str) -> bool:
    """Say whether the function and all its callers have one memory model: a record has room for one."""
    models = {graph.function(site.caller).info.memory_model for site in graph.sites_of(name)}
    return models <= {graph.function(name).info.memory_model}


def inlinable(fn: Function) -> bool:
    """Say whether the function's code may replace a call."""
    last = len(fn) - 1
    returns = [k for k, instr in enumerate(fn.instrs) if instr.control == Flow.RETURN]
    if fn.info.is_kernel or fn.shared or fn.info.shared_bytes or last < 1 or returns != [last]:
        return False
    if fn.instrs[last].guarded:
        return False
    branches = [k for k, instr in enumerate(fn.instrs) if instr.control == Flow.BRANCH and instr.guarded]
    return all(_meets(fn, k, last) for k in branches)


def _meets(fn: Function, branch: int, last: int) -> bool:
    """Say whether every path from the branch to the last word passes its reconvergence point."""
    point = fn.reconvergence(branch)
    if point is None:
        return False
    seen = {point}
    work = [branch + 1, fn.target(branch)]
    while work:
        k = work.pop()
        if k in seen or k > last:
            continue
        if k == last:
            return False
        seen.add(k)
        work += _behind(fn, k)
    return True


def _behind(fn: Function, k: int) -> Iterator[int]:
    flow, guarded = fn.instrs[k].control, fn.instrs[k].guarded
    if flow == Flow.BRANCH:
        yield fn.target(k)
    if guarded or flow not in (Flow.BRANCH, Flow.EXIT, Flow.RETURN):
        yield k + 1


class _Inlining:
    """This pass inlines the chosen callees."""

    def __init__(self, module: Module, graph: CallGraph, chosen: set[str], executions: Executions | None) -> None:
        self.module, self.graph, self.chosen, self.executions = module, graph, chosen, executions
        self.lines = {name: self._read(graph.function(name)) for name in graph.functions}
        self.calls = {
            name: sum(self.lines[site.caller][site.index].executed for site in graph.sites_of(name)) for name in chosen
        }

    def _read(self, fn: Function) -> list[_Line]:
        callees = self.module.callees(fn)
        counts = [0] * len(fn) if self.executions is None else self.executions[fn.name]
        return [
            _Line(instr, callees[k].name if k in callees else "", source, counts[k], _lasting(fn, k))
            for k, (instr, source) in enumerate(zip(fn.instrs, fn.source_lines(), strict=True))
        ]

    def function(self, name: str) -> tuple[list[_Line], list[int]]:
        """Return the lines of the function with calls inlined, in inlined bodies too, and the words of the calls."""
        lines, words = list(self.lines[name]), []
        k = 0
        while k < len(lines):
            line = lines[k]
            guard = (line.instr.guard, line.instr.guard_neg)
            if line.callee in self.chosen and guard == ALWAYS and len(lines) < MOST_WORDS:
                lines = self._at(lines, k)
                words.append(k)
            else:
                k += 1
        return lines, words

    def _at(self, lines: Sequence[_Line], word: int) -> list[_Line]:
        """Return the lines with the call at `word` replaced by its callee's body."""
        callee = lines[word].callee
        body = self.lines[callee][:-1]
        share = lines[word].executed / self.calls[callee] if self.calls[callee] else 0.0
        grown = len(body) - 1

        def there(k: int) -> int:
            return k + grown if k > word else k

        out: list[_Line] = []
        for k, line in enumerate(lines):
            if k == word:
                out += [replace(inner, executed=inner.executed * share) for inner in body]
            else:
                out.append(replace(line, instr=_relinked(line.instr, k, there)))
        return out

    def assembled(self, made: dict[str, list[_Line]], words: dict[str, list[int]]) -> Inlined:
        """Return the module with these functions replaced, without the ones that nobody calls any longer."""
        functions = [self._function(fn, made[fn.name]) if fn.name in made else fn for fn in self.module]
        called = {name: [line.callee for line in lines] for name, lines in made.items()}
        for fn in self.module:
            if fn.name not in called:
                callees = self.module.callees(fn)
                called[fn.name] = [callees[k].name if k in callees else "" for k in range(len(fn))]
        gone = self._gone(called)
        kept = [replace(fn, instrs=list(fn.instrs)) for fn in functions if fn.name not in gone]
        out = replace(self.module, functions=kept)
        out.layout()
        start = {fn.name: fn.address for fn in out}
        for fn in out:
            for k, callee in enumerate(called[fn.name]):
                if callee:
                    fn.instrs[k] = set_of(fn.instrs[k]).recall(fn.instrs[k], start[callee] - fn.address - k - 1)
        executions = None
        if self.executions is not None:
            counted = {name: [round(line.executed) for line in lines] for name, lines in made.items()}
            executions = {fn.name: counted.get(fn.name) or list(self.executions[fn.name]) for fn in out
                          if fn.name in self.executions}  # fmt: skip
        return Inlined(out, words, executions)

    def _gone(self, called: dict[str, list[str]]) -> set[str]:
        """Return the chosen functions without a remaining caller. A caller remains if it is a kernel or has a remaining
        caller itself."""
        callers = {name: {caller for caller, some in called.items() if name in some} for name in self.chosen}
        gone: set[str] = set()
        while more := {name for name, mine in callers.items() if name not in gone and mine <= gone}:
            gone |= more
        return gone

    def _function(self, fn: Function, lines: Sequence[_Line]) -> Function:
        sources = {k: line.source for k, line in enumerate(lines) if line.source is not None}
        touches = {k: line.touches for k, line in enumerate(lines) if line.touches}
        return replace(fn, instrs=[line.instr for line in lines], lines=sources, touches=touches, labels={})


def _lasting(fn: Function, word: int) -> tuple[str, ...]:
    """Return the variables that a word touches, none where a caller would not know one by this name."""
    names = fn.touches.get(word, ())
    own = set() if fn.info.is_kernel else {v.name for v in fn.shared}
    return () if own & set(names) else names


def _relinked(instr: Instr, k: int, there: Callable[[int], int]) -> Instr:
    """Return the branch at word k with its targets at their new places."""
    isa = set_of(instr)
    links = isa.links(instr)
    if not links:
        return instr
    return isa.relink(instr, {name: there(k + 1 + distance) - there(k) - 1 for name, distance in links.items()})
