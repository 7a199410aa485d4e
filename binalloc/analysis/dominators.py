"""Dominator and post-dominator trees.

Needs a `Cfg`. Iterates to the fixed point over reverse postorder with the intersection of Cooper, Harvey and Kennedy,
"A Simple, Fast Dominance Algorithm" (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.cfg import Cfg

NONE = -1


@dataclass
class DominatorTree:
    """idom[b]: immediate dominator, NONE for the root and for nodes the root does not reach. root: a block, or for
    post-dominators the virtual exit, numbered len(blocks). depth: distance from the root, -1 where not reached."""

    root: int
    idom: list[int]
    depth: list[int]

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the root to b passes a (true for a == b); false where the root does not reach b."""
        if self.depth[b] < 0 or self.depth[a] < 0:
            return False
        while self.depth[b] > self.depth[a]:
            b = self.idom[b]
        return a == b


def dominators(cfg: Cfg) -> DominatorTree:
    """Dominators of the reachable blocks; root is block 0."""
    reach = cfg.rpo_number
    preds = [[p for p in ps if reach[p] >= 0] for ps in cfg.preds]
    return dominator_tree(len(cfg.blocks), 0, cfg.succs, preds)


def post_dominators(cfg: Cfg) -> DominatorTree:
    """Post-dominators of the reachable blocks; root is the virtual exit, numbered len(cfg.blocks).

    Blocks that end in RET or EXIT (guarded or not) have an edge to the virtual exit. Of the blocks that reach no exit,
    the last in reverse postorder gets one too, until all do: an infinite loop leaves at its lowest block.
    """
    count = len(cfg.blocks)
    reach = cfg.rpo_number
    succs: list[list[int]] = [list(s) for s in cfg.succs] + [[]]
    preds: list[list[int]] = [[p for p in ps if reach[p] >= 0] for ps in cfg.preds] + [[]]
    leaving = [b for b in cfg.rpo if cfg.views[cfg.blocks[b].end - 1].control in ("return", "exit")]
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


def _mark(start: list[int], preds: list[list[int]], done: list[bool]) -> None:
    work = [b for b in start if not done[b]]
    for b in work:
        done[b] = True
    while work:
        for p in preds[work.pop()]:
            if not done[p]:
                done[p] = True
                work.append(p)


def dominator_tree(count: int, root: int, succs: list[list[int]], preds: list[list[int]]) -> DominatorTree:
    """Dominators from `root` in a graph of `count` nodes; for post-dominators give the lists the other way round."""
    order = _postorder(count, root, succs)
    number = [-1] * count
    for position, b in enumerate(order):
        number[b] = position
    idom = [NONE] * count
    idom[root] = root
    changed = True
    while changed:
        changed = False
        for b in reversed(order[:-1]):
            new = NONE
            for p in preds[b]:
                if number[p] < 0 or idom[p] == NONE:
                    continue
                if new == NONE:
                    new = p
                    continue
                a = p
                while a != new:
                    while number[a] < number[new]:
                        a = idom[a]
                    while number[new] < number[a]:
                        new = idom[new]
            if idom[b] != new:
                idom[b] = new
                changed = True
    depth = [-1] * count
    for b in reversed(order):
        depth[b] = 0 if b == root else depth[idom[b]] + 1
    idom[root] = NONE
    return DominatorTree(root, idom, depth)


def _postorder(count: int, root: int, succs: list[list[int]]) -> list[int]:
    seen = [False] * count
    seen[root] = True
    order: list[int] = []
    stack = [(root, iter(succs[root]))]
    while stack:
        block, rest = stack[-1]
        for s in rest:
            if not seen[s]:
                seen[s] = True
                stack.append((s, iter(succs[s])))
                break
        else:
            order.append(block)
            stack.pop()
    return order
