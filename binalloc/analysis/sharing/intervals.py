"""This module divides the run of a block at the barriers that all its threads meet.

Needs the pieces of a kernel whose barriers all are such; leaves them untouched. An *interval* is what threads of a
block may execute between two barriers that follow one another: all come from the first one to the second. Whatever one
thread does in an interval is behind all that others did in earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from binalloc.analysis.shared.barriers import Arrival
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.pieces import Pieces
from binalloc.analysis.shared.reach import Reach, Reached
from binalloc.analysis.sharing.arrivals import Arrivals


@dataclass(frozen=True)
class Interval:
    """An interval leads from one barrier to the next."""

    begin: int | None  #: piece that is the barrier at its begin, None at the start of the block
    end: int | None  #: piece that is the barrier at its end, None where all threads end
    pieces: frozenset[int]  #: what threads may execute in it


class _Known(Reach):
    """The reach of accesses that are known already."""

    def __init__(self, reach: Reach, accesses: list[Reached]) -> None:
        super().__init__(reach.ranges, reach.size)
        self.accesses = accesses


def divided(memory: SharedMemory, accesses: list[Reached]) -> SharedMemory:
    """Return the memory with all barriers as ones of all threads, and with no bytes left out.

    accesses: all of them, with what is known of each. memory: one whose running threads all come to the same barriers
    (`arrivals`). Threads that have ended are not waited for, and access nothing any more.
    """
    barriers = [
        replace(site, arrival=Arrival.ALL, barrier=site.barrier._replace(threads=0)) for site in memory.barriers
    ]
    reach = _Known(memory.reach, accesses)
    return replace(memory, reach=reach, barriers=barriers, common=memory.common.only(0), private=0)


def intervals(found: Pieces, arrivals: Arrivals) -> list[Interval]:
    """Return the intervals of a block's runs, by the barriers at their begins.

    A thread that goes to no barrier any more ends before the next one opens, so what it does is in the same interval.
    """
    barriers = {n for n, piece in enumerate(found.all) if piece.barrier}
    single = {
        found.last[b]: [found.first[to] for to in arrivals.leaving(b)] for b in found.cfg.rpo if arrivals.leaving(b)
    }
    out = []
    for begin in (None, *sorted(barriers)):
        starts = [found.first[found.cfg.rpo[0]]] if begin is None else found.all[begin].succs
        inside = _closed(found, starts, forward=True)
        last = {n for n in inside if not found.all[n].succs}
        for end in [*sorted(barriers & inside), None] if last else sorted(barriers & inside):
            leading = _closed(found, last if end is None else [end], forward=False, first=True) & inside - barriers
            alone = [to for n in leading & single.keys() for to in single[n]]
            leading |= _closed(found, alone, forward=True) & inside
            out.append(Interval(begin, end, frozenset(leading)))
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
