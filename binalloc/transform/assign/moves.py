"""Moves that happen at once, as moves one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple


class Move(NamedTuple):
    """Register `target` takes what `source` holds. exchange: and the other way round."""

    target: int
    source: int
    exchange: bool = False


def in_sequence(moves: Sequence[tuple[int, int]], free: int, vacated: Collection[int] = ()) -> list[Move]:
    """Moves (target, source), targets distinct, so that each target gets what its source held before them all. free: a
    register that holds nothing, before and after, or -1. vacated: sources that are no targets, whose content nothing
    wants afterwards. With either no exchange is needed.

    A target that nobody reads any more is written first; what is left are circles. Without a register they take two
    rounds of exchanges, those of a round of different registers, so that none waits for another.
    """
    left = {t: s for t, s in moves if t != s}
    out = _chains(left)
    spare = free if free >= 0 else min(vacated, default=-1)
    circles = list(_circles(left))
    if spare >= 0:
        for circle in circles:
            out.append(Move(spare, circle[0]))
            out += [Move(t, s) for t, s in zip(circle, (*circle[1:], spare), strict=True)]
        return out
    for turn in (1, 0):
        for circle in circles:
            out += _mirrored(circle, turn)
    return out


def _chains(left: dict[int, int]) -> list[Move]:
    """Moves into targets that nobody reads any more, one after the other; `left` keeps the circles."""
    readers: dict[int, int] = {}
    for source in left.values():
        readers[source] = readers.get(source, 0) + 1
    ready = sorted(t for t in left if t not in readers)
    out: list[Move] = []
    while ready:
        target = ready.pop()
        source = left.pop(target)
        out.append(Move(target, source))
        readers[source] -= 1
        if not readers[source] and source in left:
            ready.append(source)
    return out


def _circles(left: Mapping[int, int]) -> Iterator[list[int]]:
    """Each with its registers so that every one takes what the next holds, and the last what the first does."""
    seen: set[int] = set()
    for first in sorted(left):
        if first in seen:
            continue
        circle = [first]
        while left[circle[-1]] != first:
            circle.append(left[circle[-1]])
        seen.update(circle)
        yield circle


def _mirrored(circle: Sequence[int], turn: int) -> Iterator[Move]:
    """Exchanges of the registers at places whose sum is `turn`: with 1, then with 0, all move by one place."""
    count = len(circle)
    for k in range(count):
        other = (turn - k) % count
        if k < other:
            yield Move(circle[k], circle[other], exchange=True)
