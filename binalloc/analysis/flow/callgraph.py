"""This module builds the static call graph of one kernel.

Needs a laid-out `Module` (function addresses assigned); leaves it untouched. Only calls in reachable code count. Calls
whose target is unknown (indirect) and recursion are recorded, not refused, so that such programs can be shown and run.
Interprocedural passes call `require_static` first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.flow.cfg import Cfg, build_cfg
from binalloc.errors import MalformedInput, Refused, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.kinds import Flow
from binalloc.names.kernels import readable


@dataclass(frozen=True, slots=True, order=True)
class CallSite:
    """A call site is a direct call in reachable code."""

    caller: str  #: name of the calling function
    index: int  #: word of the call in it
    callee: str  #: name of the function that is called


@dataclass
class CallGraph:
    """A call graph has the functions reachable from one kernel, with their calls."""

    kernel: str  #: name of the kernel
    functions: list[str] = field(default_factory=list)  #: names in depth-first order of first reach, the kernel first
    cfgs: dict[str, Cfg] = field(default_factory=dict)  #: control flow of each function
    sites: dict[str, list[CallSite]] = field(default_factory=dict)  #: call sites of each function, by ascending index
    #: callees before callers (within a cycle, in an arbitrary but fixed order)
    bottom_up: list[str] = field(default_factory=list)
    #: for each recursive component the functions of one cycle in call order
    cycles: list[list[str]] = field(default_factory=list)
    indirect: list[tuple[str, int]] = field(default_factory=list)  #: (function, index) of each CALL.IND

    def function(self, name: str) -> Function:
        return self.cfgs[name].fn

    def callees(self, name: str) -> list[str]:
        """Return the distinct callees of a function, in order of their first call site."""
        return list(dict.fromkeys(s.callee for s in self.sites[name]))

    def sites_of(self, callee: str) -> list[CallSite]:
        """Return every call site that enters `callee`, callers in the order of `functions`."""
        return [s for name in self.functions for s in self.sites[name] if s.callee == callee]

    @property
    def is_static(self) -> bool:
        """Return whether `require_static` accepts the graph."""
        return not self.indirect and not self.cycles

    @property
    def top_down(self) -> list[str]:
        """Return the functions, callers before callees."""
        return self.bottom_up[::-1]


def build_callgraph(module: Module, kernel_name: str) -> CallGraph:
    """Return the call graph of `kernel_name`, in time linear in the reachable code.

    Raises UsageError if there is no such function and MalformedInput for a call that enters no function's first word.
    """
    try:
        kernel = module.function(kernel_name)
    except KeyError:
        names = ", ".join(fn.name for fn in module.kernels()) or "none"
        raise UsageError(
            f"no kernel named {kernel_name}", file=module.path or None, found=f"kernels: {names}"
        ) from None
    entry = {fn.address: fn for fn in reversed(module.functions)}
    graph = CallGraph(kernel_name)
    stack: list[tuple[Function, int]] = []
    _enter(graph, kernel, entry, stack)
    while stack:
        fn, position = stack.pop()
        sites = graph.sites[fn.name]
        if position == len(sites):
            graph.bottom_up.append(fn.name)
            continue
        stack.append((fn, position + 1))
        callee = sites[position].callee
        if callee not in graph.cfgs:
            _enter(graph, module.function(callee), entry, stack)
    graph.cycles = _cycles(graph)
    return graph


def _enter(graph: CallGraph, fn: Function, entry: dict[int, Function], stack: list[tuple[Function, int]]) -> None:
    """Add a newly reached function with its call sites and put it on the depth-first stack."""
    cfg = build_cfg(fn)
    graph.functions.append(fn.name)
    graph.cfgs[fn.name] = cfg
    graph.sites[fn.name] = []
    for i in cfg.calls:
        if cfg.views[i].control == Flow.CALL_INDIRECT:
            graph.indirect.append((fn.name, i))
            continue
        address = fn.address + fn.target(i)
        callee = entry.get(address)
        if callee is None:
            raise MalformedInput(
                "call enters no function's first word",
                place=f".text.{fn.name} word {i}",
                found=f"code address {address}",
                expected="the address of a function",
            )
        graph.sites[fn.name].append(CallSite(fn.name, i, callee.name))
    stack.append((fn, 0))


def _cycles(graph: CallGraph) -> list[list[str]]:
    """Return one cycle of each recursive component: repeatedly walk to the first callee that can still be on a
    cycle."""
    alive = set(graph.functions)
    callees = {f: graph.callees(f) for f in graph.functions}
    callers: dict[str, list[str]] = {f: [] for f in graph.functions}
    for f in graph.functions:
        for c in callees[f]:
            callers[c].append(f)
    _peel(alive, callees, callers)
    cycles: list[list[str]] = []
    for start in graph.functions:
        if start not in alive:
            continue
        path, at = [start], {start: 0}
        while True:
            following = next(c for c in callees[path[-1]] if c in alive)
            if following in at:
                break
            at[following] = len(path)
            path.append(following)
        cycle = path[at[following] :]
        cycles.append(cycle)
        alive -= set(cycle)
        _peel(alive, callees, callers)
    return cycles


def _peel(alive: set[str], callees: dict[str, list[str]], callers: dict[str, list[str]]) -> None:
    """Remove from `alive` the functions without a callee in it, until there is none."""
    count = {f: sum(c in alive for c in callees[f]) for f in alive}
    work = sorted(f for f in alive if not count[f])
    while work:
        f = work.pop()
        alive.discard(f)
        for caller in callers[f]:
            if caller in alive:
                count[caller] -= 1
                if not count[caller]:
                    work.append(caller)


def require_static(graph: CallGraph) -> None:
    """Refuse recursion and indirect calls, which interprocedural allocation cannot treat.

    Raises Refused with the indirect call or the cycle.
    """
    require_direct(graph)
    if graph.cycles:
        cycle = " -> ".join(map(readable, [*graph.cycles[0], graph.cycles[0][0]]))
        raise Refused(
            "recursion: the depth of the call stack is not known statically",
            place=f"kernel {graph.kernel}",
            found=cycle,
            remedy="Rewrite the recursion as a loop, or leave this kernel as it is: other kernels can be rewritten",
        )


def require_direct(graph: CallGraph) -> None:
    """Refuse calls with unknown targets: raises Refused with the first one."""
    if graph.indirect:
        name, index = graph.indirect[0]
        raise Refused(
            "the call graph is not known statically: indirect call",
            place=f".text.{name} word {index}",
            remedy="Call the functions directly, or leave this kernel as it is",
        )
