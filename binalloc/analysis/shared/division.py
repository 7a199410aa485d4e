"""This module finds what a branch does to threads that take different ways at it.

Needs a `Cfg`; leaves it untouched. A branch *divides* threads if its predicate differs between them. Then a value may
differ between them only where two of the ways join and bring different definitions of it: at the blocks where an SSA
form would need a phi for definitions at the branch's two targets. These are the iterated dominance frontier of the
targets (Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", TOPLAS
1991, sections 4 and 5). Threads that end are not waited for by anybody, so an EXIT divides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.analysis.flow.cfg import NO_BLOCK, BlockNumber, Cfg
from binalloc.analysis.flow.dominators import dominators, leaves, post_dominators
from binalloc.analysis.flow.frontiers import frontiers, iterated


class Division(NamedTuple):
    """A division is what a block's last instruction does to threads, if its predicate differs between them."""

    block: BlockNumber  #: the block that ends in the branch or guarded RET
    joins: frozenset[int]  #: blocks at which two ways join; the number of blocks stands for the function's end
    between: frozenset[int]  #: blocks on the ways, up to the block where all threads are together again


@dataclass
class Divisions:
    """The divisions of a function are listed by block."""

    found: list[Division] = field(default_factory=list)  #: in order of blocks
    #: for each block those whose last instruction decides whether a running thread comes to it: its control dependences
    decided_by: list[list[BlockNumber]] = field(default_factory=list)


def divisions(cfg: Cfg) -> Divisions:
    """Return the divisions of a function."""
    together = post_dominators(cfg, running=True)
    end = together.root
    succs: list[list[int]] = [[*s] for s in cfg.succs]
    for b in cfg.rpo:
        if leaves(cfg, b, running=True):
            succs[b].append(end)
    found = Divisions([], [[] for _ in cfg.blocks])
    frontier = frontiers(cfg, dominators(cfg))
    for b in sorted(cfg.rpo):
        if len(succs[b]) < 2:
            continue
        meet = together.idom[b]
        for s in succs[b]:
            at = s
            while at != meet:
                found.decided_by[at].append(b)
                at = together.idom[at]
        between = reached(succs, succs[b], meet)
        joins = iterated(frontier, succs[b]) & (between | {meet})
        found.found.append(Division(b, frozenset(joins | ({end} if meet == end else set())), frozenset(between)))
    found.decided_by = [sorted(set(blocks)) for blocks in found.decided_by]
    return found


def reached(succs: Sequence[Sequence[int]], start: Iterable[int], until: int = NO_BLOCK) -> set[int]:
    """Return the blocks that a way from `start` comes to before block `until`. The function's end is none."""
    found: set[int] = set()
    work = [*start]
    while work:
        b = work.pop()
        if b != until and b < len(succs) and b not in found:
            found.add(b)
            work.extend(succs[b])
    return found
