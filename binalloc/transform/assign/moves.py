"""Moves that happen at once, as moves one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Move(NamedTuple):
    """Register `target` takes what `source` holds. exchange: and the other way round."""

    target: int
    source: int
    exchange: bool = False


def in_sequence(moves: Sequence[tuple[int, int]], free: int) -> list[Move]:
    """Moves (target, source), targets distinct, so that each target gets what its source held before them all. free: a
    register that holds nothing, before and after, or -1; with it no exchange is needed.

    A target that nobody reads any more is written first; what is left are circles.
    """
    left = {t: s for t, s in moves if t != s}
    readers: dict[int, int] = {}
    for source in left.values():
        readers[source] = readers.get(source, 0) + 1
    ready = sorted(t for t in left if t not in readers)
    out: list[Move] = []
    while left:
        while ready:
            target = ready.pop()
            source = left.pop(target)
            out.append(Move(target, source))
            readers[source] -= 1
            if not readers[source]:
                del readers[source]
                if source in left:
                    ready.append(source)
        if left:
            _open_circle(min(left), left, readers, ready, free, out)
    return out


def _open_circle(
    target: int, left: dict[int, int], readers: dict[int, int], ready: list[int], free: int, out: list[Move]
) -> None:
    """In a circle every register is read once. Either its first one's content is saved, or two exchange."""
    if free >= 0:
        out.append(Move(free, target))
        reader = next(t for t, s in left.items() if s == target)
        left[reader] = free
        readers[free] = readers.pop(target)
        ready.append(target)
        return
    source = left.pop(target)
    out.append(Move(target, source, exchange=True))
    del readers[source]
    reader = next(t for t, s in left.items() if s == target)  # what it wants lies in `source` now
    del readers[target]
    if reader == source:
        del left[reader]
    else:
        left[reader] = source
        readers[source] = 1
