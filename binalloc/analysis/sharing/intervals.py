"""This module divides the run of a block at the barriers that all its threads meet.

Needs the pieces of a kernel whose barriers all are such; leaves them untouched. An *interval* is what threads of a
block may execute between two barriers that follow one another: all come from the first one to the second. Whatever one
thread does in an interval is behind all that others did in earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from binalloc.analysis.shared.barriers import Arrival, BarrierSite, early_ends
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.pieces import Pieces
from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.interface.places import LANES


@dataclass(frozen=True)
class Interval:
    """An interval leads from one barrier to the next."""

    begin: int | None  #: piece that is the barrier at its begin, None at the start of the block
    end: int | None  #: piece that is the barrier at its end, None where all threads end
    pieces: frozenset[int]  #: what threads may execute in it


def undivided(memory: SharedMemory) -> BarrierSite | None:
    """Return a barrier at which not all running threads of the block wait for one another; None if there is none."""
    for site in memory.barriers:
        guarded = memory.program[site.place.function].cfg.views[site.place.word].guard is not None
        if guarded or site.arrival is Arrival.SOME or not _whole(memory, site.barrier):
            return site
    return None


def divided(memory: SharedMemory) -> SharedMemory:
    """Return the memory with all barriers as ones of all threads, and with no bytes left out.

    memory: one of which `undivided` is None. Threads that have ended are not waited for, and access nothing any more.
    """
    barriers = [
        replace(site, arrival=Arrival.ALL, barrier=site.barrier._replace(threads=0)) for site in memory.barriers
    ]
    return replace(memory, barriers=barriers, common=memory.common.only(0), private=0)


def _whole(memory: SharedMemory, barrier: Barrier) -> bool:
    threads = memory.ranges.threads
    every = -(-threads.count // LANES) * LANES if threads.size is not None else 0
    return barrier.waits and barrier.threads in (0, every)


def intervals(found: Pieces) -> list[Interval]:
    """Return the intervals of a block's runs, by the barriers at their begins."""
    barriers = [n for n, piece in enumerate(found.all) if piece.barrier]
    single = _single_ends(found)
    out = []
    for begin in (None, *barriers):
        starts = [found.first[found.cfg.rpo[0]]] if begin is None else found.all[begin].succs
        inside = _closed(found, starts, forward=True)
        reached = frozenset(inside)
        ending = reached if single is None else _closed(found, single & inside, forward=False) & reached
        for end in barriers:
            if end in inside:
                leading = _closed(found, [end], forward=False, first=True) & reached
                out.append(Interval(begin, end, frozenset((leading | ending) - set(barriers))))
        last = {n for n in inside if not found.all[n].succs}
        if last:
            leading = _closed(found, last, forward=False) & reached
            out.append(Interval(begin, None, frozenset((leading | ending) - set(barriers))))
    return out


def _closed(found: Pieces, starts: Iterable[int], *, forward: bool, first: bool = False) -> set[int]:
    """Return the pieces that ways from (or to) some pieces pass, up to barriers. first: the starts are barriers that
    are gone beyond."""
    seen: set[int] = set()
    work = list(starts)
    begun = set(work) if first else set[int]()
    while work:
        n = work.pop()
        if n in seen:
            continue
        seen.add(n)
        if not found.all[n].barrier or n in begun:
            work += found.all[n].succs if forward else found.all[n].preds
    return seen


def _single_ends(found: Pieces) -> set[int] | None:
    """Return the pieces in which single threads may end while others go on; None where that is in a called function."""
    words = set()
    for place in early_ends(found.memory.scopes):
        if place.function != found.memory.program.graph.kernel:
            return None
        words.add(place.word)
    return {n for n, piece in enumerate(found.all) if not words.isdisjoint(range(piece.start, piece.end))}
