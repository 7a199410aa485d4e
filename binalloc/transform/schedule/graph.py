"""This module builds the instruction graph of the scheduler: every path a *warp* can take through a module, instruction
by instruction.

It needs a module whose functions have their addresses (`Module.layout`), with branch targets inside their function. It
leaves an `InstrGraph`. That has one node per instruction of the whole module, numbered in file order, with its
interface view, the successors inside its function, and the calls and returns between functions.

Control codes protect the registers of a warp, and a warp's path is not always a path of one thread. After the first
side of a divergent branch the warp goes on with the other side. Hence the *pop edges*. They lead to the other side from
each place where a side of a divergent branch ends. Such a place is the step to the reconvergence point, or an EXIT or
RET that may take the last lanes. A path over a pop edge continues with other lanes.

Where a reconvergence point is not the branch's immediate post-dominator, lanes may pass it while they wait for the
point of an inner branch. The warp only comes back to the outer branch's other lanes where these lanes leave
(`_passed`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import LEAVES, Flow
from binalloc.isa.postdom import unusual_points
from binalloc.isa.sets.table import view


@dataclass
class InstrGraph:
    """The instruction graph covers a module. Its nodes are instructions, numbered as `base[f] + word index in function
    f`.

    Edges lie inside functions. A direct call has an edge to the next instruction; paths take it through the callee
    unless the call is guarded.
    """

    functions: list[Function]
    base: list[int] = field(default_factory=list)  #: by function, its first node
    views: list[View] = field(default_factory=list)  #: interface of each node
    owner: list[int] = field(default_factory=list)  #: by node, the number of its function
    succ: list[list[int]] = field(default_factory=list)  #: edges inside functions, pop edges included
    pred: list[list[int]] = field(default_factory=list)  #: edges inside functions, without pop edges
    #: node n -> (node, mark) for the pop edges into n. The mark is -(2 * branch + 1) if the edge leads to the branch's
    #: other side. It is one less if that side has been executed.
    pops: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    #: by node, the number of the function that a direct call enters, or -1
    callee: list[int] = field(default_factory=list)
    returns: list[list[int]] = field(default_factory=list)  #: RET nodes by function
    sites: list[list[int]] = field(default_factory=list)  #: direct calls, by the function that they enter
    #: nodes behind which unknown code may run (indirect calls; RET to unknown callers; EXIT inside a callee), so that
    #: nothing may be pending there
    drains: set[int] = field(default_factory=set)
    leaders: set[int] = field(default_factory=set)  #: nodes that some jump or pop edge enters

    def __len__(self) -> int:
        return len(self.views)

    def passes(self, node: int) -> bool:
        """Say whether a path may step from `node` to its successors without entering a callee."""
        return self.callee[node] < 0 or self.views[node].guard is not None


def build_graph(module: Module) -> InstrGraph:
    """Return the graph of `module`, in O(instructions + divergent regions). Raises MalformedInput for a branch out of
    its function and for a call that enters none."""
    graph = InstrGraph(list(module.functions))
    for number, fn in enumerate(module.functions):
        graph.base.append(len(graph.views))
        graph.views.extend(view(instr) for instr in fn.instrs)
        graph.owner.extend([number] * len(fn.instrs))
    for fn in module.functions:
        _link_function(graph, module, fn)
    _link_calls(graph, module)
    graph.pred = [[] for _ in graph.views]
    for node, following in enumerate(graph.succ):
        for after in following:
            graph.pred[after].append(node)
    pops = [edge for number, fn in enumerate(module.functions) for edge in _pop_edges(graph, number, fn)]
    for node, after, mark in pops:
        graph.pops.setdefault(after, []).append((node, mark))
        if after not in graph.succ[node]:
            graph.succ[node].append(after)
        graph.leaders.add(after)
    return graph


def _link_function(graph: InstrGraph, module: Module, fn: Function) -> None:
    """Add the successors inside one function, without pop edges."""
    base = len(graph.succ)
    size = len(fn.instrs)
    for index in range(size):
        v = graph.views[base + index]
        falls, jumps = successors(v.control, v.guard is not None)
        out = {base + index + 1} if falls and index + 1 < size else set()
        if jumps:
            target = _inside(fn, index, fn.target(index), module.path)
            out.add(base + target)
            graph.leaders.add(base + target)
        graph.succ.append(sorted(out))


def _inside(fn: Function, index: int, target: int, path: str) -> int:
    if not 0 <= target < len(fn.instrs):
        raise MalformedInput(
            "a branch leaves its function",
            file=path or None,
            place=f"{fn.name}+{index}",
            found=f"target at word {target}",
            expected=f"a word from 0 to {len(fn.instrs) - 1}",
        )
    return target


def _link_calls(graph: InstrGraph, module: Module) -> None:
    """Set callees, returns, call sites and drains. Raises MalformedInput for a call that enters no function."""
    numbers = {fn.address: n for n, fn in enumerate(module.functions) if fn.instrs}
    graph.callee = [-1] * len(graph.views)
    graph.returns = [[] for _ in module.functions]
    graph.sites = [[] for _ in module.functions]
    for node, v in enumerate(graph.views):
        f = graph.owner[node]
        if v.control == Flow.CALL:
            fn, index = module.functions[f], node - graph.base[f]
            callee = numbers.get(fn.address + fn.target(index))
            if callee is None:
                raise MalformedInput(
                    "a call enters no function",
                    file=module.path or None,
                    place=f"{fn.name}+{index}",
                    found=f"code word {fn.address + fn.target(index)}",
                    expected="the first word of a function",
                )
            graph.callee[node] = callee
            graph.sites[callee].append(node)
        elif v.control == Flow.RETURN:
            graph.returns[f].append(node)
    indirect = any(v.control == Flow.CALL_INDIRECT for v in graph.views)
    for node, v in enumerate(graph.views):
        fn_number = graph.owner[node]
        device = not module.functions[fn_number].info.is_kernel
        unknown_callers = device and (
            (indirect and module.functions[fn_number].addressable) or not graph.sites[fn_number]
        )
        if (
            v.control == Flow.CALL_INDIRECT
            or (v.control == Flow.RETURN and unknown_callers)
            or (v.control == Flow.EXIT and device)
        ):
            graph.drains.add(node)


def _pop_edges(graph: InstrGraph, number: int, fn: Function) -> list[tuple[int, int, int]]:
    """List (node, node that the warp may go on with, mark) for each place where a side of a divergent branch of `fn`
    may end.

    A side that steps to the reconvergence point may be followed by the other side. An EXIT or RET of the last lanes of
    a side may be followed by the other side or, if that has been executed, by the reconvergence point.
    """
    base, size = graph.base[number], len(fn.instrs)
    leavers = any(graph.views[base + i].control in LEAVES for i in range(size))
    passed = _passed(graph, base, fn)
    found = []
    for index in range(size - 1):
        v = graph.views[base + index]
        reconv = fn.reconvergence(index) if v.control == Flow.BRANCH and v.guard is not None else None
        if reconv is None or not 0 <= reconv < size:
            continue
        targets = [base + index + 1, base + fn.target(index)]
        point = base + reconv
        two_sided = point not in targets
        if not (two_sided or leavers):
            continue
        mark = -(2 * (base + index) + 1)
        for start, other in (targets, targets[::-1]):
            for node in _side(graph, start, NOWHERE if index in passed else point):
                if graph.views[node].control in LEAVES:
                    found += [(node, other, mark), (node, point, mark - 1)]
                elif two_sided and point in graph.succ[node]:
                    found.append((node, other, mark))
    return found


def _passed(graph: InstrGraph, base: int, fn: Function) -> set[int]:
    """Return the branches, by word, whose lanes may pass their reconvergence point while they wait at another one. This
    happens if the point lies within the reach of an inner branch with another point."""
    points = unusual_points(fn)

    def reach(index: int, stop: int) -> set[int]:
        starts = [s for s in graph.succ[base + index] if s != stop]
        return {node for start in starts for node in _side(graph, start, stop)}

    reached = {index: reach(index, base + point) for index, point in points.items()}
    passed: set[int] = set()
    changed = True
    while changed:
        changed = False
        for index, point in points.items():
            inner = [i for i in points if points[i] != point and base + i in reached[index]]
            if index not in passed and any(base + point in reached[i] for i in inner):
                passed.add(index)
                reached[index] = reach(index, NOWHERE)
                changed = True
    return passed


NOWHERE = -1  # no node, as a reconvergence point that stops no path


def _side(graph: InstrGraph, start: int, point: int) -> list[int]:
    """List the nodes reachable from `start` without passing `point`, in order."""
    seen = {start} - {point}
    todo = sorted(seen)
    while todo:
        for s in graph.succ[todo.pop()]:
            if s != point and s not in seen:
                seen.add(s)
                todo.append(s)
    return sorted(seen)
