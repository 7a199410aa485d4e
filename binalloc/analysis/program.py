"""This module analyses one kernel in one call.

Needs a laid-out `Module`; leaves it untouched. Results that are costly and not always needed (interference,
post-dominators) are built on first use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from binalloc.analysis.executions import Executions, weigh_by_executions
from binalloc.analysis.flow.callgraph import CallGraph, build_callgraph, require_direct, require_static
from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.flow.dominators import dominators, post_dominators
from binalloc.analysis.flow.loops import LoopNest, find_loops
from binalloc.analysis.frequencies import runs
from binalloc.analysis.interference import InterferenceGraph, build_interference
from binalloc.analysis.lift import Lifting, lift_local_words
from binalloc.analysis.liveness import CallSummary, Liveness, build_liveness
from binalloc.analysis.residues import Residue, addresses
from binalloc.analysis.webs import Webs, build_webs
from binalloc.dominance import DominatorTree
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.isa.sets.table import set_of


@dataclass
class FunctionAnalysis:
    """The analysis of a function has its control flow, loops, liveness and webs."""

    name: str
    cfg: Cfg
    loops: LoopNest
    live: Liveness
    webs: Webs
    _interference: dict[bool, InterferenceGraph] = field(default_factory=dict, repr=False)

    @property
    def fn(self) -> Function:
        return self.cfg.fn

    @cached_property
    def addresses(self) -> dict[int, Residue]:
        """Return the addresses of its memory accesses, see `residues`."""
        return addresses(self.cfg, self.webs)

    @property
    def summary(self) -> CallSummary:
        return self.live.summary

    def interference(self, *, copies: bool = True) -> InterferenceGraph:
        """Return the interference graph (see `build_interference`), built once."""
        if copies not in self._interference:
            self._interference[copies] = build_interference(self.webs, copies=copies)
        return self._interference[copies]

    def dominators(self) -> DominatorTree:
        return dominators(self.cfg)

    def post_dominators(self) -> DominatorTree:
        return post_dominators(self.cfg)


@dataclass
class ProgramAnalysis:
    """The analysis of a kernel has its call graph, and the analysis of each function by name."""

    module: Module  #: the module of the kernel
    graph: CallGraph  #: its call graph
    functions: dict[str, FunctionAnalysis]  #: analysis of each function
    lifting: Lifting  #: words of local memory that are values

    @cached_property
    def runs(self) -> dict[str, float]:
        """Return the estimated runs of each function per run of the kernel, callers first. Callers must not
        change it."""
        return runs(self.graph, {name: analysis.loops for name, analysis in self.functions.items()})

    @property
    def isa(self) -> InstructionSet:
        """Return the instruction set of the module."""
        return set_of(self.module)

    @property
    def kernel(self) -> FunctionAnalysis:
        return self.functions[self.graph.kernel]

    def __getitem__(self, name: str) -> FunctionAnalysis:
        return self.functions[name]


def analyse(
    module: Module, kernel: str, *, lift: bool = False, executions: Executions | None = None, recursive: bool = False
) -> ProgramAnalysis:
    """Return call graph, control flow, loops, liveness and webs of `kernel` and all its callees.

    lift: words of local memory that are only accessed at fixed offsets are values of file "L". executions: weights of
    blocks come from this profile, and not from loops. recursive: functions may call themselves; code that is to be
    rewritten must be analysed without it.

    Raises UsageError (no such kernel), MalformedInput (broken control flow or operands), Refused (indirect calls, and
    recursion without `recursive`). 10,000 instructions take well under two seconds.
    """
    graph = build_callgraph(module, kernel)
    (require_direct if recursive else require_static)(graph)
    lifting = lift_local_words(graph) if lift else Lifting()
    found = build_liveness(graph, lifting, recursive=recursive)
    nests = {name: find_loops(graph.cfgs[name]) for name in graph.functions}
    if executions is not None:
        weigh_by_executions(graph, nests, executions)
    functions: dict[str, FunctionAnalysis] = {}
    for name, nest in nests.items():
        functions[name] = FunctionAnalysis(
            name, graph.cfgs[name], nest, found[name], build_webs(graph, found, name, nest)
        )
    return ProgramAnalysis(module, graph, functions, lifting)
