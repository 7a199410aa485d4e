"""This module intersects and unites sets of points, which are sorted, disjoint, half-open intervals."""

from __future__ import annotations

from bisect import bisect_right

from binalloc.models.allocation.terms import Interval

_FEW = 16
"""If one set has this many times fewer intervals than the other, they are inserted one by one, and both are not sorted.
Chosen by hand: the result is the same."""


def meet(one: list[Interval], other: list[Interval]) -> bool:
    """Say whether the sets have a point in common. Time: of the smaller, times the logarithm of the larger."""
    small, large = (one, other) if len(one) < len(other) else (other, one)
    if not small or small[-1][1] <= large[0][0] or large[-1][1] <= small[0][0]:
        return False
    for start, end in small:
        at = bisect_right(large, start, key=_end)
        if at < len(large) and large[at][0] < end:
            return True
    return False


def union(one: list[Interval], other: list[Interval]) -> list[Interval]:
    """Return the points of both sets, which must not meet."""
    if not one or not other or one[-1][1] < other[0][0]:
        return one + other
    out: list[Interval] = []
    if len(one) < len(other):
        one, other = other, one
    if len(other) * _FEW < len(one):
        return _with_few(one, other)
    for start, end in sorted(one + other):
        if out and out[-1][1] == start:
            out[-1] = out[-1][0], end
        else:
            out.append((start, end))
    return out


def _with_few(many: list[Interval], few: list[Interval]) -> list[Interval]:
    """Do what `union` does by inserting each of a few intervals."""
    out = list(many)
    for start, end in few:
        at = bisect_right(out, start, key=_start)
        first = last = at
        if at and out[at - 1][1] == start:
            first, start = at - 1, out[at - 1][0]
        if at < len(out) and out[at][0] == end:
            last, end = at + 1, out[at][1]
        out[first:last] = [(start, end)]
    return out


def _start(interval: Interval) -> int:
    return interval[0]


def _end(interval: Interval) -> int:
    return interval[1]
