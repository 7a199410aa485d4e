"""This module checks that the two programs' reconvergence stacks always agree.

Needs the lockstep graph of `product.py`. A stack entry is the pair (new, original) of reconvergence points that a
matched branch named. A program pops entries when it passes the point of the topmost one. Between two matched steps both
pass positions of their own, so it is enough to compare, way by way, the effect of that. There are two comparisons:

- The quick one: both pass the same pairs in the same order, whatever the stack.
- The exact one, where the quick one fails: all stacks possible at each matched step are enumerated, and each must come
  out the same on either side. A branch may push its pair or, if its threads agree, not; equal neighbours are one. An
  added instruction that a loop passes again is harmless when no entry waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binalloc.verify.lockstep import Lockstep, LockstepEdge, LockstepNode, Position

Pair = tuple[int, int]
"""(reconvergence point of the rewritten branch, of the original one)."""
Stack = tuple[Pair, ...]
"""A reconvergence stack, the top last."""
MAX_STACKS = 512
"""Stacks that are compared for one step, and entries of one stack. Chosen by hand: it bounds the time on hostile
code."""
_MATCHED = frozenset(("move", "match", "branch", "call", "end"))  # steps in which the original takes part


@dataclass(frozen=True)
class MatchedWay:
    """A way leads from one matched step to the next."""

    source: Position | None  #: the step it starts from; None: the entry
    target: Position  #: the next matched step
    new: tuple[int, ...]  #: positions of the rewritten program passed that are reconvergence points
    old: tuple[int, ...]  #: positions of the original passed that are reconvergence points


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
    ways: dict[Position | None, list[MatchedWay]] = {}
    assert product.entry is not None
    ways[None] = list(_ways(product, None, product.entry, points_new, points_old))
    for at, node in product.nodes.items():
        if node.kind in _MATCHED:
            ways[at] = [w for e in node.edges for w in _ways(product, at, e, points_new, points_old)]
    if not _same_order(product, ways):
        _enumerate(product, ways)


def _ways(
    product: Lockstep, source: Position | None, edge: LockstepEdge, new: set[int], old: set[int]
) -> Iterator[MatchedWay]:
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
            yield MatchedWay(source, e.target, seen_new, seen_old)
        elif length > len(product.nodes):
            raise Disagreement(node, "added instructions go round in a loop")
        else:
            work.extend((x, seen_new, seen_old, length + 1) for x in node.edges)


def _same_order(product: Lockstep, ways: dict[Position | None, list[MatchedWay]]) -> bool:
    """Return whether both programs pass the same pairs in the same order on all ways."""
    to_new: dict[int, int] = {}
    to_old: dict[int, int] = {}
    for rn, ro in product.reconvergence:
        if to_new.setdefault(ro, rn) != rn or to_old.setdefault(rn, ro) != ro:
            return False
    return all(tuple(to_new[p] for p in w.old) == w.new for group in ways.values() for w in group)


def _enumerate(product: Lockstep, ways: dict[Position | None, list[MatchedWay]]) -> None:
    """Compare all possible stacks of both programs."""
    reached: dict[Position, set[Stack]] = {}
    work: list[tuple[Position | None, Stack]] = [(None, ())]
    while work:
        at, stack = work.pop()
        for after in _pushed(product, at, stack):
            for way in ways[at]:
                left, right = _popped(after, way.new, 0), _popped(after, way.old, 1)
                if left != right:
                    raise Disagreement(
                        product.nodes[way.target],
                        "threads do not reconverge where the original's do",
                        f"waiting points {[ro for _, ro in right]} of the original",
                        f"{[ro for _, ro in left]}",
                    )
                known = reached.setdefault(way.target, set())
                if left in known:
                    continue
                if len(known) >= MAX_STACKS or len(left) > MAX_STACKS:
                    raise Disagreement(product.nodes[way.target], "too many ways to reconverge to compare them all")
                known.add(left)
                work.append((way.target, left))


def _pushed(product: Lockstep, at: Position | None, stack: Stack) -> list[Stack]:
    """Return the stacks after the step: a branch that names a point may push it."""
    node = None if at is None else product.nodes[at]
    if node is None or node.kind != "branch":
        return [stack]
    rn, ro = product.new.fn.reconvergence(node.n), product.old.fn.reconvergence(node.m)
    if rn is None or ro is None or stack[-1:] == ((rn, ro),):
        return [stack]
    return [stack, (*stack, (rn, ro))]


def _popped(stack: Stack, passed: tuple[int, ...], side: int) -> Stack:
    """Return the stack after its program has passed these positions. side: 0 for the rewritten program, 1 for the
    original."""
    for point in passed:
        while stack and stack[-1][side] == point:
            stack = stack[:-1]
    return stack
