"""This module builds dominator trees of graphs whose nodes are numbers.

Iterates to the fixed point over reverse postorder with the intersection of Cooper, Harvey and Kennedy, "A Simple, Fast
Dominance Algorithm" (2001). Needs and leaves lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NONE = -1  # not the number of a node


@dataclass
class DominatorTree:
    """The dominator tree holds the immediate dominator and the depth of each node of a graph."""

    root: int  #: the node from which all others are to be reached
    idom: list[int]  #: by node: its immediate dominator, NONE for the root and for unreachable nodes
    depth: list[int]  #: by node: its distance from the root in the tree, -1 where unreachable

    def dominates(self, a: int, b: int) -> bool:
        """Return whether every path from the root to b passes a (true for a == b); false where b is unreachable from
        the root."""
        if self.depth[b] < 0 or self.depth[a] < 0:
            return False
        while self.depth[b] > self.depth[a]:
            b = self.idom[b]
        return a == b


def dominator_tree(
    count: int, root: int, succs: Sequence[Sequence[int]], preds: Sequence[Sequence[int]]
) -> DominatorTree:
    """Return the dominator tree from `root` in a graph of `count` nodes. For post-dominators, exchange `succs` and
    `preds`."""
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
    """Return the nodes reachable from `root`, each behind the successors found from it in a depth-first search."""
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
