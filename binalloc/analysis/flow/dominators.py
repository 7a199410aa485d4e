"""This module builds dominator and post-dominator trees of a function's blocks.

Needs a `Cfg`; leaves it untouched.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.dominance import DominatorTree, dominator_tree
from binalloc.isa.kinds import LEAVES, Flow


def dominators(cfg: Cfg) -> DominatorTree:
    """Return the dominators of the reachable blocks; the root is block 0."""
    reach = cfg.rpo_number
    preds = [[p for p in ps if reach[p] >= 0] for ps in cfg.preds]
    return dominator_tree(len(cfg.blocks), 0, cfg.succs, preds)


def leaves(cfg: Cfg, block: BlockNumber, *, running: bool = False) -> bool:
    """Return whether a block ends in RET or EXIT, guarded or not. running: an EXIT with a guard does not count, as a
    thread that goes on running falls through it."""
    last = cfg.views[cfg.blocks[block].end - 1]
    return last.control in LEAVES and not (running and last.control == Flow.EXIT and last.guard is not None)


def post_dominators(cfg: Cfg, *, running: bool = False) -> DominatorTree:
    """Return the post-dominators of the reachable blocks; the root is the virtual exit, numbered len(cfg.blocks).

    Blocks that leave (see `leaves`) have an edge to the virtual exit. Among the blocks with no path to an exit, the
    last in reverse postorder gets an edge too, until all have a path: an infinite loop leaves at its lowest block.
    """
    count = len(cfg.blocks)
    reach = cfg.rpo_number
    succs: list[list[int]] = [[*s] for s in cfg.succs]
    preds: list[list[int]] = [[p for p in ps if reach[p] >= 0] for ps in cfg.preds]
    succs.append([])
    preds.append([])
    leaving = [b for b in cfg.rpo if leaves(cfg, b, running=running)]
    done = [False] * count
    _mark(leaving, preds, done)
    for b in reversed(cfg.rpo):
        if not done[b]:
            leaving.append(b)
            _mark([b], preds, done)
    for b in leaving:
        succs[b].append(count)
        preds[count].append(b)
    return dominator_tree(count + 1, count, preds, succs)


def _mark(start: Sequence[int], preds: Sequence[Sequence[int]], done: list[bool]) -> None:
    """Mark the blocks from which one of `start` can be reached."""
    work = [b for b in start if not done[b]]
    for b in work:
        done[b] = True
    while work:
        for p in preds[work.pop()]:
            if not done[p]:
                done[p] = True
                work.append(p)
