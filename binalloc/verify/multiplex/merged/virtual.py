"""The life of one virtual block is cut here at its barriers, into segments.

Needs its course, the outline and a walk of it; leaves a `VirtualBlock`. A segment has the bytes of shared memory that
threads may read and write between one barrier and the next, and the barriers that may come next. *Turnings* are
branches from which different barriers may come next: a segment says at which of them the block went where.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.verify.multiplex.merged.outline import Outline
from binalloc.verify.multiplex.merged.pairing import Course, Key
from binalloc.verify.multiplex.merged.placing import AddressMap
from binalloc.verify.multiplex.spread import Mask
from binalloc.verify.multiplex.words import Word

MOST_TURNINGS = 8  # in one segment; chosen by hand, more are in loops that pass turnings and no barrier
END = -1
Turning = tuple[int, int]
"""A node with a branch or an end, and the node to which it leads, or `END`."""
Turnings = tuple[Turning, ...] | None
"""Turnings one after the other; None where they are not known."""


@dataclass(eq=False)
class Place:
    """A place is a pair of the course, a barrier between two of them, or a barrier that is missing there."""

    node: int  #: of the outline
    barrier: bool = False
    missing: bool = False
    idle: bool = False
    out: list[Place] = field(default_factory=list)
    before: list[Place] = field(default_factory=list)


@dataclass(eq=False)
class Segment:
    """A segment begins with a barrier, or at the kernel's entry. after: ends, with the turnings on the way there. An
    end is the place of a barrier, or None where threads may have ended."""

    first: Place
    reads: Mask
    writes: Mask
    last_reads: Mask  #: by threads that may end in it: a barrier orders no accesses of warps that have ended
    last_writes: Mask
    after: set[tuple[Turnings, Place | None]] = field(default_factory=set)


@dataclass(frozen=True)
class Seen:
    """A walk of the outline has seen these nodes, bytes and ends."""

    feasible: dict[int, set[int]]  #: by node, the nodes that may come next
    accessed: dict[int, Mask]  #: by node, the bytes of the original that a shared access may touch
    turnings: set[int]  #: nodes
    ends: set[int]  #: nodes at which all threads of a block end, or none: they are turnings, too


class VirtualBlock:
    """A virtual block has segments, by the places at which they begin. Their bytes are those of the merged block."""

    def __init__(
        self, course: Course, outline: Outline, words: list[Word | None], seen: Seen, addresses: AddressMap
    ) -> None:
        self.number, self.words, self.seen, self.map = course.virtual, words, seen, addresses
        self.entry = Place(-1, barrier=True)
        self.places: dict[Key, Place] = {}
        self._build(course, outline)
        self.segments: dict[Place, Segment] = {}
        work = [self.entry]
        while work:
            place = work.pop()
            if place not in self.segments:
                segment = self._segment(place)
                self.segments[place] = segment
                work += [end for _, end in segment.after if end is not None]

    def _build(self, course: Course, outline: Outline) -> None:
        work: list[tuple[Key | None, Place]] = [(None, self.entry)]
        while work:
            key, place = work.pop()
            for way, to in course.out.get(key, ()):
                first = outline.steps[way][0]
                if key is not None and first not in self.seen.feasible.get(key[0], ()):
                    continue
                at = place
                for node in outline.barriers_of(way):
                    at = _linked(at, Place(node, barrier=True))
                if way.skipped and not way.barriers:
                    at = _linked(at, Place(first, missing=True))
                if to not in self.places:
                    word = self.words[to[0]]
                    stops = word is not None and word.barrier is not None
                    self.places[to] = Place(to[0], barrier=stops, idle=to in course.idle)
                    work.append((to, self.places[to]))
                _linked(at, self.places[to])

    def _segment(self, first: Place) -> Segment:
        none: Mask = np.zeros(self.map.room, np.bool_)
        segment = Segment(first, none, none, none, none)
        work: list[tuple[Place, Turnings]] = [(to, ()) for to in first.out]
        done: set[tuple[Place, Turnings]] = set()
        while work:
            place, turnings = work.pop()
            if (place, turnings) in done:
                continue
            done.add((place, turnings))
            if place.barrier:
                segment.after.add((turnings, place))
                continue
            read, written = self.accesses(place)
            segment.reads, segment.writes = segment.reads | read, segment.writes | written
            if self._ends(place):
                whole = not place.out or place.node in self.seen.ends
                segment.after.add((self._turned(turnings, place, END) if whole else None, None))
            for to in place.out:
                work.append((to, self._turned(turnings, place, to.node)))
        places = {place for place, _ in done}
        ending = _reached([p for p in places if self._ends(p)], lambda p: p.before)
        for place in places.intersection(ending):
            read, written = self.accesses(place)
            segment.last_reads, segment.last_writes = segment.last_reads | read, segment.last_writes | written
        return segment

    def _ends(self, place: Place) -> bool:
        word = None if place.missing or place.barrier else self.words[place.node]
        return word is not None and word.view.control == Flow.EXIT

    def _turned(self, turnings: Turnings, place: Place, to: int) -> Turnings:
        """Return the turnings with one more, if there is one at a place. to: the node that comes next, or `END`."""
        turning = place.node in self.seen.turnings or place.node in self.seen.ends
        if place.missing or not turning or turnings is None:
            return turnings
        return (*turnings, (place.node, to)) if len(turnings) < MOST_TURNINGS else None

    def accesses(self, place: Place) -> tuple[Mask, Mask]:
        """Return the bytes of the merged block that threads may read and write at a place."""
        none: Mask = np.zeros(self.map.room, np.bool_)
        word = None if place.missing or place.barrier else self.words[place.node]
        touched = self.seen.accessed.get(place.node)
        if word is None or word.view.memory is None or touched is None:
            return none, none
        touched, access = self.map.moved(touched), word.view.memory.access
        writes = access != Access.LOAD and not place.idle
        return (none if access == Access.STORE else touched), (touched if writes else none)

    # -- barriers that are missing

    def missed(self) -> list[Place]:
        """Return the places of missing barriers that order accesses."""
        places = {at for first in self.segments for at in _reached(first.out, lambda p: p.out)}
        found = []
        for place in places:
            if place.missing:
                one = _reached(place.before, lambda p: p.before)
                other = _reached(place.out, lambda p: p.out)
                if self._conflict(one, other):
                    found.append(place)
        return found

    def _conflict(self, one: list[Place], other: list[Place]) -> bool:
        (reads, writes, loads, stores), (reads2, writes2, loads2, stores2) = self._all(one), self._all(other)
        shared = (writes & (reads2 | writes2)) | (reads & writes2)
        return bool(shared.any()) or (stores and (loads2 or stores2)) or (loads and stores2)

    def _all(self, places: list[Place]) -> tuple[Mask, Mask, bool, bool]:
        """Return the bytes of shared memory that are read and written, and whether other memory is."""
        reads: Mask = np.zeros(self.map.room, np.bool_)
        writes = reads
        loads = stores = False
        for place in places:
            read, written = self.accesses(place)
            reads, writes = reads | read, writes | written
            word = None if place.missing or place.barrier else self.words[place.node]
            memory = None if word is None else word.view.memory
            if word is not None and word.view.control in CALLS:
                loads = stores = True
            if memory is not None and memory.space not in (Space.SHARED, Space.LOCAL, Space.CONST):
                loads |= memory.access != Access.STORE
                stores |= memory.access != Access.LOAD
        return reads, writes, loads, stores


def _linked(place: Place, to: Place) -> Place:
    if to not in place.out:
        place.out.append(to)
        to.before.append(place)
    return to


def _reached(first: list[Place], next_of: Callable[[Place], list[Place]]) -> list[Place]:
    """Return the places that are reached without passing a barrier."""
    found: dict[Place, None] = {}
    work = list(first)
    while work:
        place = work.pop()
        if place not in found:
            found[place] = None
            work += next_of(place) if not place.barrier else []
    return list(found)
