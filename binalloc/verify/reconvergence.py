"""This module checks that the two programs' reconvergence stacks always agree.

Needs the lockstep graph of `product.py`. A stack entry is the pair (new, original) of reconvergence points that a
matched branch named. A program pops entries when it passes the point of the topmost one. Between two matched steps both
pass positions of their own, so it is enough to compare, way by way, the effect of that. There are two comparisons:

- The quick one: both pass the same pairs in the same order, whatever the stack.
- The exact one, where the quick one fails: all stacks possible at each matched step are enumerated (`stacks.py`), and
  each must come out the same on either side. An added instruction that a loop passes again is harmless when no entry
  waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.verify.lockstep import Lockstep, LockstepEdge, LockstepNode, Position
from binalloc.verify.stacks import MatchedWay, Pair, StacksDiffer, compare_all

_MATCHED = frozenset(("move", "match", "branch", "call", "end"))  # steps in which the original takes part


class Disagreement(Exception):
    """`Disagreement` is raised where `node` is reached with different stacks, or the added instructions before it form
    a loop."""

    def __init__(self, node: LockstepNode, message: str, expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.expected, self.found = node, message, expected, found


def compare_stacks(product: Lockstep) -> None:
    """Raise Disagreement unless the stacks of both programs agree at every step."""
    points_new = {rn for rn, _ in product.reconvergence}
    points_old = {ro for _, ro in product.reconvergence}
    ways: dict[Position | None, list[MatchedWay[Position]]] = {}
    assert product.entry is not None
    ways[None] = list(_ways(product, product.entry, points_new, points_old))
    for at, node in product.nodes.items():
        if node.kind in _MATCHED:
            ways[at] = [w for e in node.edges for w in _ways(product, e, points_new, points_old)]
    if not _same_order(product, ways):
        _enumerate(product, ways)


def _ways(
    product: Lockstep, edge: LockstepEdge, new: set[int], old: set[int]
) -> Iterator[MatchedWay[Position]]:
    """Yield the ways from a step along an edge."""
    work: list[tuple[LockstepEdge, tuple[int, ...], tuple[int, ...], int]] = [(edge, (), (), 0)]
    while work:
        e, seen_new, seen_old, length = work.pop()
        node = product.nodes[e.target]
        matched = node.kind in _MATCHED
        passed = (*e.passed, *node.passed, node.m) if matched else (*e.passed, *node.passed)
        if not old.isdisjoint(passed):
            seen_old += tuple(p for p in passed if p in old)
        if node.n in new:
            seen_new += (node.n,)
        if matched:
            yield MatchedWay(e.target, seen_new, seen_old)
        elif length > len(product.nodes):
            raise Disagreement(node, "added instructions go round in a loop")
        else:
            work.extend((x, seen_new, seen_old, length + 1) for x in node.edges)


def _same_order(product: Lockstep, ways: dict[Position | None, list[MatchedWay[Position]]]) -> bool:
    """Return whether both programs pass the same pairs in the same order on all ways."""
    to_new: dict[int, int] = {}
    to_old: dict[int, int] = {}
    for rn, ro in product.reconvergence:
        if to_new.setdefault(ro, rn) != rn or to_old.setdefault(rn, ro) != ro:
            return False
    return all(tuple(to_new[p] for p in w.old) == w.new for group in ways.values() for w in group)


def _enumerate(product: Lockstep, ways: dict[Position | None, list[MatchedWay[Position]]]) -> None:
    """Compare all possible stacks of both programs."""
    try:
        compare_all(ways, lambda at: _points(product, at))
    except StacksDiffer as e:
        raise Disagreement(product.nodes[e.at], e.message, e.expected, e.found) from e


def _points(product: Lockstep, at: Position) -> Pair | None:
    """Return the reconvergence points of a step's branch."""
    node = product.nodes[at]
    if node.kind != "branch":
        return None
    rn, ro = product.new.fn.reconvergence(node.n), product.old.fn.reconvergence(node.m)
    return None if rn is None or ro is None else (rn, ro)
