"""This module finds dominance frontiers: where what one block dominates meets other ways.

Needs a `Cfg` and its dominators; leaves them untouched. (Cytron et al., "Efficiently Computing Static Single Assignment
Form and the Control Dependence Graph", TOPLAS 1991, section 4.)
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.analysis.flow.cfg import Cfg
from binalloc.dominance import DominatorTree


def frontiers(cfg: Cfg, tree: DominatorTree) -> list[set[int]]:
    """Return the dominance frontier of each block: where its dominance ends."""
    found: list[set[int]] = [set() for _ in cfg.blocks]
    for b in cfg.rpo:
        preds = [p for p in cfg.preds[b] if cfg.rpo_number[p] >= 0]
        if len(preds) < 2 and b != tree.root:
            continue
        for p in preds:
            at: int = p
            while at not in (tree.idom[b], -1):
                found[at].add(b)
                at = tree.idom[at]
    return found


def iterated(frontier: list[set[int]], start: Iterable[int]) -> set[int]:
    """Return the iterated dominance frontier of some blocks."""
    found: set[int] = set()
    work = [b for b in start if b < len(frontier)]
    while work:
        new = frontier[work.pop()] - found
        found |= new
        work.extend(sorted(new))
    return found
