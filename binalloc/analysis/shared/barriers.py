"""This module finds who comes to each barrier of a kernel.

Needs the scopes of `uniformity`; leaves them untouched. The multiplex paper's access regions are bounded by barriers of
all threads of a block (section 3), so it matters whether a barrier is one. Nothing is said of when threads come: lanes
that have parted before come one after the other, if they do not meet again first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from binalloc.analysis.flow.cfg import BlockNumber
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.uniformity import Scope, Uniformity
from binalloc.isa.interface.barriers import Barrier
from binalloc.isa.kinds import Flow


class Arrival(StrEnum):
    """The arrival at a barrier says which threads of a block come to it, whenever one does."""

    ALL = "all"
    RUNNING = "running"  # all but those that have ended before
    SOME = "some"  # perhaps not all that run


@dataclass(frozen=True)
class BarrierSite:
    """A barrier site is an instruction at which threads arrive at a barrier of their block."""

    place: Place
    barrier: Barrier
    arrival: Arrival
    reason: Place | None  #: what keeps threads away: a branch, a guarded call or a guard that divides them; an EXIT


def barrier_sites(found: Uniformity) -> list[BarrierSite]:
    """Return the barriers in reachable code, callers first and in order of words."""
    ends = early_ends(found)
    sites = []
    for name, f in found.program.functions.items():
        for index, seen in enumerate(f.cfg.views):
            barrier = found.program.isa.barrier(seen.instr)
            if barrier is not None and f.cfg.reachable(index):
                sites.append(_site(found, Place(name, index), barrier, ends))
    return sites


def _site(found: Uniformity, place: Place, barrier: Barrier, ends: list[Place]) -> BarrierSite:
    """Return the site of a barrier. ends: where single threads of a block may end."""
    if found.executed(*place) < Scope.BLOCK:
        return BarrierSite(place, barrier, Arrival.SOME, divided_at(found, place))
    end = ended_before(found, place, ends)
    return BarrierSite(place, barrier, Arrival.ALL if end is None else Arrival.RUNNING, end)


def ended_before(found: Uniformity, place: Place, ends: list[Place]) -> Place | None:
    """Return an end at which threads of a block may have ended when others come to `place`. ends: the candidates."""
    return next((end for end in ends if _comes_from(found, end, place)), None)


def early_ends(found: Uniformity) -> list[Place]:
    """Return the EXITs at which some threads of a block may end while others go on."""
    return [
        Place(name, index)
        for name, f in found.program.functions.items()
        for index, seen in enumerate(f.cfg.views)
        if seen.control == Flow.EXIT and f.cfg.reachable(index) and found.executed(name, index) < Scope.BLOCK
    ]


def _comes_from(found: Uniformity, end: Place, place: Place) -> bool:
    """Return whether threads may come to `place` after others of their block have ended at `end`. In another function
    than the kernel they always may: it may be called again."""
    kernel = found.program.kernel
    if not end.function == place.function == kernel.name:
        return True
    cfg = kernel.cfg
    after = (s for word in _parted_at(found, end) for s in cfg.succs[cfg.block_of[word]])
    return cfg.block_of[place.word] in reached(cfg.succs, after)


def _parted_at(found: Uniformity, place: Place) -> Iterator[int]:
    """Yield the words of the function at which threads of a block part, so that not all come to `place`: the nearest
    first."""
    scopes, f = found.functions[place.function], found.program[place.function]
    if found.guard(*place) < Scope.BLOCK:
        yield place.word
    seen: set[BlockNumber] = set()
    work = deque([f.cfg.block_of[place.word]])
    while work:
        for b in scopes.divisions.decided_by[work.popleft()]:
            if b not in seen:
                seen.add(b)
                work.append(b)
                last = f.cfg.blocks[b].end - 1
                if found.guard(place.function, last) < Scope.BLOCK:
                    yield last


def divided_at(found: Uniformity, place: Place) -> Place:
    """Return an instruction at which threads of a block part, so that not all of them come to `place`."""
    for word in _parted_at(found, place):
        return Place(place.function, word)
    for site in found.program.graph.sites_of(place.function):
        if found.executed(site.caller, site.index) < Scope.BLOCK:
            return divided_at(found, Place(site.caller, site.index))
    raise AssertionError("threads part somewhere")
