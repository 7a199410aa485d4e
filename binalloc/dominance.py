"""Dominator trees of graphs whose nodes are numbers.

Iterates to the fixed point over reverse postorder with the intersection of Cooper, Harvey and Kennedy, "A Simple, Fast
Dominance Algorithm" (2001). Needs and leaves lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NONE = -1


@dataclass
class DominatorTree:
    """idom[b]: immediate dominator, NONE for the root and for nodes the root does not reach. depth: distance from the
    root, -1 where not reached."""

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


def dominator_tree(
    count: int, root: int, succs: Sequence[Sequence[int]], preds: Sequence[Sequence[int]]
) -> DominatorTree:
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


def _postorder(count: int, root: int, succs: Sequence[Sequence[int]]) -> list[int]:
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
