"""This module finds the places at which a thread has no more to do with some bytes of shared memory.

After "Scratchpad Sharing in GPUs", section 6.3: an instruction there tells that the thread has released them. It may
stand where no access follows on any way. It stands as early as it may, so each thread comes to it once. The paper has
functions without calls and without critical edges, and places by basic block. Here the places are words. Calls are
followed: where no call of a function has an access behind it, the function itself has the places.

Critical edges are kept. The place on one is in front of the branch, under the condition by which the branch takes it.
Threads that end need no place: whoever has ended has released.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.flow.callgraph import CallGraph
from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.sharing.access_ranges import Accesses, Around, around_words, with_calls
from binalloc.isa.interface.places import TRUE
from binalloc.isa.interface.view import Guard


@dataclass(frozen=True)
class Release:
    """A release is a place between two words of a function."""

    function: str
    word: int  #: the word behind it
    #: block from which alone threads come to it, where it stands behind that block's last word; None: on all ways
    source: int | None = None
    guard: Guard | None = None  #: the condition under which threads that come to it release; None: all do


def releases(graph: CallGraph, accesses: Accesses) -> list[Release]:
    """Return the places in a kernel and its callees, in order of functions and words; none if nothing is accessed.

    graph: a static one. accesses: by function and word something but 0 where the bytes in question may be accessed.
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
        out += _places(graph.cfgs[name], found[name], inside)
    return out


def _places(cfg: Cfg, here: Around, inside: set[int]) -> list[Release]:
    """Return the places of a function, by words. inside: calls whose functions have them."""
    if not any(here.by):
        return []
    found = []
    for b in sorted(cfg.rpo):
        block = cfg.blocks[b]
        touching = [word for word in range(block.start, block.end) if here.by[word]]
        if here.after[block.end - 1]:
            found += [_on_edge(cfg, b, to) for to in cfg.succs[b] if not here.at(cfg.blocks[to].start)[1]]
        elif touching and touching[-1] not in inside:
            found.append(_behind(cfg, b, touching[-1]))
    return sorted(found, key=lambda place: (place.word, place.source or 0))


def _behind(cfg: Cfg, b: int, word: int) -> Release:
    """Return the place behind a word of a block."""
    alone = word + 1 < cfg.blocks[b].end or len(cfg.preds[cfg.block_of[word + 1]]) == 1
    return Release(cfg.name, word + 1, None if alone else b)


def _on_edge(cfg: Cfg, b: int, to: int) -> Release:
    """Return the place on an edge from a block with several successors."""
    if len(cfg.preds[to]) == 1 and to:
        return Release(cfg.name, cfg.blocks[to].start)
    branch = cfg.blocks[b].end - 1
    predicate, negated = cfg.views[branch].guard or (TRUE, False)
    return Release(cfg.name, branch, None, (predicate, negated == (to == cfg.taken[b])))
