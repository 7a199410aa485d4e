"""This module finds the places at which a thread has no more to do with some bytes of shared memory.

After "Scratchpad Sharing in GPUs", section 6.3: an instruction there tells that the thread has released them. It may
stand where no access follows on any way (safe), and stands as early as that lets it, so that each thread comes to it
once. The paper has functions without calls and without critical edges, and places by basic block. Here the places are
words. Calls are followed: where no call of a function has an access behind it, the function itself has the places.

Critical edges are kept. The place on one is in front of the branch, under the condition by which the branch takes it.
Threads that end need no place: whoever has ended has released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import Cfg
from binalloc.isa.interface.places import TRUE
from binalloc.isa.kinds import Flow

Guard = tuple[int, bool]
"""A predicate, and whether it is negated."""


@dataclass(frozen=True, order=True)
class Release:
    """A release is a place between two words of a function."""

    function: str
    word: int  #: the word behind it
    #: block from which alone threads come to it, where it stands behind that block's last word; None: on all ways
    source: int | None = None
    guard: Guard | None = None  #: the condition under which threads that come to it release; None: all do


@dataclass(frozen=True)
class Safe:
    """The safe points of a graph are those behind which nothing is accessed."""

    before: list[bool]  #: by node: whether the point in front of it is (Safe in of the paper)
    after: list[bool]  #: whether the point behind it is (Safe out)


def safe_points(succs: Sequence[Sequence[int]], accessed: Sequence[bool], behind: Sequence[bool] | None = None) -> Safe:
    """Return the safe points of a graph, the greatest solution.

    accessed: whether a node has an access. behind: for nodes from which a way leaves the graph, whether no access
    follows there; None: none does. It counts for all nodes, together with their successors.
    """
    count = len(accessed)
    preds: list[list[int]] = [[] for _ in range(count)]
    for node, targets in enumerate(succs):
        for target in targets:
            preds[target].append(node)
    after = [True] * count if behind is None else list(behind)
    before = [not accessed[n] and after[n] for n in range(count)]
    work = [n for n in range(count) if not before[n]]
    while work:
        node = work.pop()
        for p in preds[node]:
            after[p] = False
            if before[p]:
                before[p] = False
                work.append(p)
    return Safe(before, after)


def releases(graph: CallGraph, accesses: Mapping[str, Mapping[int, bool]]) -> list[Release]:
    """Return the places in a kernel and its callees, in order of functions and words; none if nothing is accessed.

    graph: a static one. accesses: by function the words that may access the bytes in question.
    """
    touching: dict[str, list[bool]] = {}
    for name in graph.bottom_up:
        words = [accesses.get(name, {}).get(word, False) for word in range(len(graph.cfgs[name].views))]
        for site in graph.sites[name]:
            words[site.index] |= any(touching[site.callee])
        touching[name] = [hit and graph.cfgs[name].reachable(word) for word, hit in enumerate(words)]
    ends = dict.fromkeys(graph.functions, True)  # whether nothing follows behind any call of the function
    found: dict[str, _Places] = {}
    for name in graph.top_down:
        here = _Places(graph.cfgs[name], touching[name], ends[name])
        for site in graph.sites[name]:
            safe = here.safe_behind(site.index) and graph.cfgs[name].views[site.index].guard is None
            ends[site.callee] &= safe
        found[name] = here
    out: list[Release] = []
    for name in graph.functions:
        inside = {site.index for site in graph.sites[name] if ends[site.callee]}
        out += found[name].all(inside)
    return sorted(out, key=lambda place: (graph.functions.index(place.function), place.word, place.source or 0))


class _Places:
    """The places of a function, whose end is safe or not."""

    def __init__(self, cfg: Cfg, touching: list[bool], end: bool) -> None:
        self.cfg, self.touching = cfg, touching
        count = len(cfg.blocks)
        live = [cfg.rpo_number[b] >= 0 for b in range(count)]
        hit = [live[b] and any(touching[block.start : block.end]) for b, block in enumerate(cfg.blocks)]
        behind = [True] * count
        for word in cfg.exits:
            if cfg.views[word].control == Flow.RETURN:
                behind[cfg.block_of[word]] = end
        self.succs = [list(targets) if live[b] else [] for b, targets in enumerate(cfg.succs)]
        self.live, self.hit = live, hit
        self.safe = safe_points(self.succs, hit, behind)

    def safe_behind(self, word: int) -> bool:
        """Return whether no access follows behind a word."""
        block = self.cfg.block_of[word]
        rest = range(word + 1, self.cfg.blocks[block].end)
        return self.safe.after[block] and not any(self.touching[w] for w in rest)

    def all(self, inside: set[int]) -> list[Release]:
        """Return the places. inside: calls whose functions have them."""
        if not any(self.touching):
            return []
        found = []
        for b, block in enumerate(self.cfg.blocks):
            if not self.live[b]:
                continue
            if self.hit[b] and self.safe.after[b]:
                last = max(word for word in range(block.start, block.end) if self.touching[word])
                if last not in inside:
                    found.append(self._behind(b, last))
            found += [self._on_edge(b, to) for to in self.succs[b] if self.safe.before[to] and not self.safe.after[b]]
        return found

    def _behind(self, b: int, word: int) -> Release:
        """Return the place behind a word of a block."""
        alone = word + 1 < self.cfg.blocks[b].end or len(self.cfg.preds[self.cfg.block_of[word + 1]]) == 1
        return Release(self.cfg.name, word + 1, None if alone else b)

    def _on_edge(self, b: int, to: int) -> Release:
        """Return the place on an edge from a block with several successors."""
        start = self.cfg.blocks[to].start
        if len(self.cfg.preds[to]) == 1 and to:
            return Release(self.cfg.name, start)
        branch = self.cfg.blocks[b].end - 1
        predicate, negated = self.cfg.views[branch].guard or (TRUE, False)
        taken = to == self.cfg.taken[b]
        return Release(self.cfg.name, branch, None, (predicate, negated == taken))
