"""This module finds where the shared memory of a block holds something: what was written before may be read later.

Needs the pieces of a kernel with their `kills`; leaves them untouched. All threads are thought to wait for each other
at the place that is asked about, as at the bounds of the multiplex paper's access regions (section 3). Then everything
before it in a thread's way is before everything behind it in another's. So bytes are held if they may be written on
some way to the place, and read on some way from it. What all threads overwrite on a way is not read behind the next
barrier, but may be read before it, by a thread that has come further.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.shared.overwritten import Edge
from binalloc.analysis.shared.pieces import Pieces


@dataclass
class _Later:
    """Bytes are listed here by piece that may be read later: before the next barrier on the way, and behind one."""

    near: list[int]
    far: list[int]


def held_bytes(found: Pieces, loops: dict[Edge, tuple[int, int]]) -> list[int]:
    """Return the bytes that are held at the begin of each piece, as bitsets.

    loops: by the edge that leaves a loop, the loop and what all its rounds have overwritten (`overwritten.set_kills`).
    Within the loop itself, rounds before the place do not count.
    """
    written = _written(found)
    nest = found.memory.program.kernel.loops
    around: list[frozenset[int]] = []
    for piece in found.all:
        inside, k = set(), nest.loop_of[piece.block]
        while k >= 0:
            inside.add(k)
            k = nest.loops[k].parent
        around.append(frozenset(inside & {k for k, _ in loops.values()}))
    later = {inside: _later(found, _open_to(found, loops, inside)) for inside in sorted(set(around), key=sorted)}
    return [
        written[n] & (later[inside].near[n] | later[inside].far[n]) for n, inside in enumerate(around)
    ]  # fmt: skip


def _written(found: Pieces) -> list[int]:
    """Return the bytes that may have been written before each piece."""
    before = [0] * len(found.all)
    work = list(range(len(found.all)))[::-1]
    while work:
        n = work.pop()
        after = before[n] | found.all[n].writes
        for s in found.all[n].succs:
            if after & ~before[s]:
                before[s] |= after
                work.append(s)
    return before


def _open_to(found: Pieces, loops: dict[Edge, tuple[int, int]], inside: frozenset[int]) -> dict[Edge, int]:
    """Return what is overwritten on edges between pieces, for places inside of some loops."""
    return {
        (found.last[source], found.first[target]): overwritten
        for (source, target), (k, overwritten) in loops.items()
        if k not in inside
    }


def _later(found: Pieces, edges: dict[Edge, int]) -> _Later:
    """Return what may be read from the begin of each piece on. edges: what is overwritten on the way between two."""
    count = len(found.all)
    later = _Later([0] * count, [0] * count)
    work = list(range(count))
    while work:
        n = work.pop()
        piece, near, far = found.all[n], 0, 0
        for s in piece.succs:
            near |= later.near[s]
            far |= later.far[s] & ~edges.get((n, s), 0)
        if piece.barrier:
            near, far = 0, far | near
        near, far = near | piece.reads, far & ~piece.kills
        if (near, far) != (later.near[n], later.far[n]):
            later.near[n], later.far[n] = near, far
            work.extend(piece.preds)
    return later
