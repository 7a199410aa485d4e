"""This module finds the places at which a thread has no more to do with some bytes of shared memory.

After "Scratchpad Sharing in GPUs", section 6.3: an instruction there tells that the thread has released them. It may
stand where no access follows on any way. It stands as early as it may, so each thread comes to it once. The paper has
functions without calls and without critical edges, and places by basic block. Here the places are words. Calls are
followed: where no call of a function has an access behind it, the function itself has the places.

Critical edges are kept. The place on one is in front of the branch, under the condition by which the branch takes it.
Threads that end need no place: whoever has ended has released. So there is none directly in front of an end. With
`guards` off both are as in the paper: the place on a critical edge is on the edge, and each thread comes to one, those
that end early included.

The paper compares with one place at a common post-dominator of all last accesses (`at_postdominator`).
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.analysis.flow.dominators import post_dominators
from binalloc.analysis.sharing.access_ranges import Accesses, Around, around_words, with_calls
from binalloc.isa.interface.places import TRUE
from binalloc.isa.interface.view import Guard
from binalloc.isa.kinds import Flow


@dataclass(frozen=True)
class Release:
    """A release is a place between two words of a function."""

    function: str
    word: int  #: the word behind it
    #: block from which alone threads come to it, where it stands behind that block's last word; None: on all ways
    source: int | None = None
    guard: Guard | None = None  #: the condition under which threads that come to it release; None: all do


def releases(graph: CallGraph, accesses: Accesses, *, guards: bool = True) -> list[Release]:
    """Return the places in a kernel and its callees, in order of functions and words; none if nothing is accessed.

    graph: a static one. accesses: by function and word something but 0 where the bytes in question may be accessed.
    guards: whether places on critical edges have conditions, and none is in front of an end; otherwise as in the paper.
    """
    by = with_calls(graph, accesses)
    behind = dict.fromkeys(graph.functions, 0)  # not 0 where a function cannot have the places
    found: dict[str, Around] = {}
    for name in graph.top_down:
        found[name] = here = around_words(graph.cfgs[name], by[name], 0, behind[name])
        for site in graph.sites[name]:
            guarded = graph.cfgs[name].views[site.index].guard is not None  # who does not call has to release, too
            behind[site.callee] |= here.after[site.index] | guarded
    out: list[Release] = []
    for name in graph.functions:
        inside = {site.index for site in graph.sites[name] if not behind[site.callee]}
        out += _places(graph.cfgs[name], found[name], inside, guards)
    return [place for place in out if not guards or not _at_end(graph, place)]


def _at_end(graph: CallGraph, place: Release) -> bool:
    """Return whether a place is directly in front of the end of all threads that come to it."""
    views = graph.cfgs[place.function].views
    return views[place.word].control == Flow.EXIT and views[place.word].guard is None


def _places(cfg: Cfg, here: Around, inside: set[int], guards: bool) -> list[Release]:
    """Return the places of a function, by words. inside: calls whose functions have them."""
    if not any(here.by):
        return []
    found = []
    for b in sorted(cfg.rpo):
        block = cfg.blocks[b]
        touching = [word for word in range(block.start, block.end) if here.by[word]]
        if here.after[block.end - 1]:
            found += [_on_edge(cfg, b, to, guards) for to in cfg.succs[b] if not here.at(cfg.blocks[to].start)[1]]
            end = cfg.views[block.end - 1]
            if not guards and end.control == Flow.EXIT and end.guard is not None:  # an edge to the one end of the paper
                found.append(Release(cfg.name, block.end - 1, None, end.guard))
        elif touching and touching[-1] not in inside:
            found.append(_behind(cfg, b, touching[-1]))
    return sorted(found, key=lambda place: (place.word, place.source or 0))


def _behind(cfg: Cfg, b: int, word: int) -> Release:
    """Return the place behind a word of a block."""
    alone = word + 1 < cfg.blocks[b].end or len(cfg.preds[cfg.block_of[word + 1]]) == 1
    return Release(cfg.name, word + 1, None if alone else b)


def _on_edge(cfg: Cfg, b: int, to: int, guards: bool) -> Release:
    """Return the place on an edge from a block with several successors."""
    if len(cfg.preds[to]) == 1 and to:
        return Release(cfg.name, cfg.blocks[to].start)
    if not guards:
        return Release(cfg.name, cfg.blocks[to].start, b)
    branch = cfg.blocks[b].end - 1
    predicate, negated = cfg.views[branch].guard or (TRUE, False)
    return Release(cfg.name, branch, None, (predicate, negated == (to == cfg.taken[b])))


def at_postdominator(graph: CallGraph, accesses: Accesses) -> list[Release]:
    """Return the one place of section 6.3 at which all threads of the kernel release.

    It is the first that is behind the last accesses on all ways, to which every thread comes that has not ended, once.
    It is in the kernel itself; calls access what the called function may. Nothing is returned where there is none.
    """
    by = with_calls(graph, accesses)[graph.kernel]
    cfg = graph.cfgs[graph.kernel]
    here = around_words(cfg, by, 0, 0)
    inside = {b: [w for w in range(cfg.blocks[b].start, cfg.blocks[b].end) if by[w]] for b in cfg.rpo}
    tree = post_dominators(cfg, running=True)
    at = next((int(b) for b in cfg.rpo if inside[b]), tree.root)
    while at != tree.root:
        b = BlockNumber(at)
        done = not here.after[cfg.blocks[b].end - 1] and not _comes_again(cfg, b)
        if done and tree.dominates(b, 0):
            return [_behind(cfg, b, inside[b][-1]) if inside[b] else Release(cfg.name, cfg.blocks[b].start)]
        at = tree.idom[at]
    return []


def _comes_again(cfg: Cfg, b: BlockNumber) -> bool:
    """Return whether a way leads from a block back to it."""
    seen, work = set(cfg.succs[b]), list(cfg.succs[b])
    while work:
        for to in cfg.succs[work.pop()]:
            if to not in seen:
                seen.add(to)
                work.append(to)
    return b in seen
