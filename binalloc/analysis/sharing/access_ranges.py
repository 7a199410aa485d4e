"""This module finds the access ranges of variables in shared memory: where one was accessed before, and one will be.

After "Scratchpad Sharing in GPUs", section 6.1: a point of the code is in the access range of some variables if two
things hold. One of them is accessed on a way from the kernel's begin to it. And one is on a way from it to the kernel's
end. The paper looks at one function, and at the borders of its basic blocks. Here each word of each function has its
points, and calls are followed: a call accesses what the called function may, and within a function holds what holds at
any of its calls.

Sets of variables are bitsets; whoever asks chooses their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import Cfg
from binalloc.isa.kinds import Flow

Accesses = Mapping[str, Mapping[int, int]]
"""By function and word the variables that the word may access; words without any may be left out."""


@dataclass(frozen=True)
class Around:
    """The surroundings of nodes of a graph are the variables that are accessed on ways to them and from them."""

    before: list[int]  #: accessed on a way to the node's begin (Pre in of the paper)
    by: list[int]  #: accessed by the node itself
    after: list[int]  #: accessed on a way from its end (Post out)

    def at(self, node: int) -> tuple[int, int]:
        """Return what is accessed up to a node and from it on, itself both times. Who needs variables of both sets has
        them while it executes the node."""
        return self.before[node] | self.by[node], self.by[node] | self.after[node]


def around(
    succs: Sequence[Sequence[int]], by: Sequence[int], at_entry: int = 0, behind: Sequence[int] | None = None
) -> Around:
    """Return the surroundings of a graph's nodes, the least solution; node 0 is the entry.

    by: what each node accesses. at_entry: what is accessed before the graph is entered. behind: what is accessed after
    a node that leaves the graph, 0 elsewhere; None: nothing.
    """
    count = len(by)
    preds: list[list[int]] = [[] for _ in range(count)]
    for node, targets in enumerate(succs):
        for target in targets:
            preds[target].append(node)
    given = [at_entry, *[0] * (count - 1)]
    before = _spread(preds, succs, by, given)
    after = _spread(succs, preds, by, behind if behind is not None else [0] * count)
    return Around(before, list(by), after)


def _spread(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], by: Sequence[int], given: Sequence[int]
) -> list[int]:
    """Return for each node what comes to it: what is given there, and what its sources let through or access."""
    found = list(given)
    work = list(range(len(by)))
    while work:
        node = work.pop()
        new = reduce(or_, (found[s] | by[s] for s in sources[node]), given[node])
        if new != found[node]:
            found[node] = new
            work.extend(targets[node])
    return found


def with_calls(graph: CallGraph, accesses: Accesses) -> dict[str, list[int]]:
    """Return by function what each word accesses; a call accesses what the called function may. In code that no thread
    comes to nothing is accessed."""
    by: dict[str, list[int]] = {}
    for name in graph.bottom_up:
        cfg = graph.cfgs[name]
        words = [accesses.get(name, {}).get(word, 0) for word in range(len(cfg.views))]
        for site in graph.sites[name]:
            words[site.index] |= reduce(or_, by[site.callee], 0)
        by[name] = [hit if cfg.reachable(word) else 0 for word, hit in enumerate(words)]
    return by


def access_ranges(graph: CallGraph, accesses: Accesses) -> dict[str, Around]:
    """Return by function the surroundings of each word of a kernel and its callees. The call graph has to be static.

    Code that no thread comes to has empty surroundings.
    """
    by = with_calls(graph, accesses)
    entry, behind = dict.fromkeys(graph.functions, 0), dict.fromkeys(graph.functions, 0)
    found = {}
    for name in graph.top_down:
        found[name] = here = around_words(graph.cfgs[name], by[name], entry[name], behind[name])
        for site in graph.sites[name]:
            entry[site.callee] |= here.before[site.index]
            behind[site.callee] |= here.after[site.index]
    return found


def around_words(cfg: Cfg, by: list[int], at_entry: int, behind: int) -> Around:
    """Return the surroundings of a function's words. by: what each accesses, nothing in code that no
    thread comes to. at_entry: what is accessed before the function is entered. behind: after it has returned."""
    count = len(cfg.blocks)
    live = [cfg.rpo_number[block] >= 0 for block in range(count)]
    blocks = [reduce(or_, by[block.start : block.end], 0) for block in cfg.blocks]
    leaves = [0] * count
    for word in cfg.exits:
        if cfg.views[word].control == Flow.RETURN:
            leaves[cfg.block_of[word]] = behind
    succs = [targets if live[b] else [] for b, targets in enumerate(cfg.succs)]
    coarse = around(succs, blocks, at_entry, leaves)
    found = Around([0] * len(by), [0] * len(by), [0] * len(by))
    for b, block in enumerate(cfg.blocks):
        if not live[b]:
            continue
        seen = coarse.before[b]
        for word in range(block.start, block.end):
            found.before[word], found.by[word] = seen, by[word]
            seen |= by[word]
        seen = coarse.after[b]
        for word in reversed(range(block.start, block.end)):
            found.after[word] = seen
            seen |= by[word]
    return found
