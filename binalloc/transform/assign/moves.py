"""This module turns parallel moves into a sequence of moves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple


class RegisterMove(NamedTuple):
    """A move copies the content of register `source` to `target`."""

    target: int
    source: int
    exchange: bool = False  #: the content of `target` goes to `source` at the same time


def in_sequence(moves: Sequence[tuple[int, int]], free: int, vacated: Collection[int] = ()) -> list[RegisterMove]:
    """Order moves (target, source), targets distinct, so that each target gets the content of its source before all of
    them. free: a register without content before and after, or -1. vacated: sources that are no targets and not needed
    afterwards. With either of them, no exchange is needed.

    A target that nobody reads any more is written first; only cycles are left. Without a free register, cycles take two
    rounds of exchanges. The exchanges of one round have different registers, so that none waits for another.
    """
    left = {t: s for t, s in moves if t != s}
    out = _chains(left)
    spare = free if free >= 0 else min(vacated, default=-1)
    circles = list(_circles(left))
    if spare >= 0:
        for circle in circles:
            out.append(RegisterMove(spare, circle[0]))
            out += [RegisterMove(t, s) for t, s in zip(circle, (*circle[1:], spare), strict=True)]
        return out
    for turn in (1, 0):
        for circle in circles:
            out += _mirrored(circle, turn)
    return out


def _chains(left: dict[int, int]) -> list[RegisterMove]:
    """Return moves into targets that nobody reads any more, one after the other; `left` keeps the cycles."""
    readers: dict[int, int] = {}
    for source in left.values():
        readers[source] = readers.get(source, 0) + 1
    ready = sorted(t for t in left if t not in readers)
    out: list[RegisterMove] = []
    while ready:
        target = ready.pop()
        source = left.pop(target)
        out.append(RegisterMove(target, source))
        readers[source] -= 1
        if not readers[source] and source in left:
            ready.append(source)
    return out


def _circles(left: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield each cycle as a list of registers. Every one takes the content of the next, and the last takes that of the
    first."""
    seen: set[int] = set()
    for first in sorted(left):
        if first in seen:
            continue
        circle = [first]
        while left[circle[-1]] != first:
            circle.append(left[circle[-1]])
        seen.update(circle)
        yield circle


def _mirrored(circle: Sequence[int], turn: int) -> Iterator[RegisterMove]:
    """Yield exchanges of the registers at places whose sum is `turn`. After 1 and then 0, all contents have moved by
    one place."""
    count = len(circle)
    for k in range(count):
        other = (turn - k) % count
        if k < other:
            yield RegisterMove(circle[k], circle[other], exchange=True)
