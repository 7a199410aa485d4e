"""All reconvergence stacks that two programs may have at a step of both are enumerated here, and compared.

Needs the ways between steps, each with the reconvergence points passed on it, in order; changes nothing. A branch may
push its points or, if its threads agree, not; equal neighbours are one. A program pops entries when it passes the point
of the topmost one. Each stack must come out the same on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Pair = tuple[int, int]
"""(reconvergence point of the rewritten branch, of the original one)."""
Stack = tuple[Pair, ...]
"""A reconvergence stack, the top last."""
Place = TypeVar("Place", bound=Hashable)
"""A step of both programs."""
MAX_STACKS = 512
"""Stacks that are compared for one step, and entries of one stack. Chosen by hand: it bounds the time on hostile
code."""


@dataclass(frozen=True)
class MatchedWay(Generic[Place]):
    """A way leads to the next matched step."""

    target: Place
    new: tuple[int, ...]  #: words of the rewritten program passed that are reconvergence points
    old: tuple[int, ...]  #: words of the original passed that are reconvergence points


class StacksDiffer(Exception, Generic[Place]):
    """`StacksDiffer` is raised where a step is reached with different stacks, or with too many."""

    def __init__(self, at: Place, message: str, expected: str = "", found: str = "") -> None:
        super().__init__(message)
        self.at, self.message, self.expected, self.found = at, message, expected, found


def compare_all(
    ways: Mapping[Place | None, Sequence[MatchedWay[Place]]], pushes: Callable[[Place], Pair | None]
) -> None:
    """Compare all possible stacks of both programs. ways: by step, None for the entry. pushes: the points of the branch
    at a step, None where there is none. Raises StacksDiffer."""
    reached: dict[Place, set[Stack]] = {}
    work: list[tuple[Place | None, Stack]] = [(None, ())]
    while work:
        at, stack = work.pop()
        for after in _pushed(None if at is None else pushes(at), stack):
            for way in ways[at]:
                left, right = _popped(after, way.new, 0), _popped(after, way.old, 1)
                if left != right:
                    raise StacksDiffer(
                        way.target,
                        "threads do not reconverge where the original's do",
                        f"waiting points {[ro for _, ro in right]} of the original",
                        f"{[ro for _, ro in left]}",
                    )
                known = reached.setdefault(way.target, set())
                if left in known:
                    continue
                if len(known) >= MAX_STACKS or len(left) > MAX_STACKS:
                    raise StacksDiffer(way.target, "too many ways to reconverge to compare them all")
                known.add(left)
                work.append((way.target, left))


def _pushed(pair: Pair | None, stack: Stack) -> list[Stack]:
    """Return the stacks after a step: a branch that names a point may push it."""
    return [stack] if pair is None or stack[-1:] == (pair,) else [stack, (*stack, pair)]


def _popped(stack: Stack, passed: tuple[int, ...], side: int) -> Stack:
    """Return the stack after its program has passed these words. side: 0 for the rewritten program, 1 for the
    original."""
    for point in passed:
        while stack and stack[-1][side] == point:
            stack = stack[:-1]
    return stack
