"""The life of one virtual block is cut here at its barriers, into segments.

Needs its course, the outline and a walk of it; leaves a `VirtualBlock`. A segment has the bytes of shared memory that
threads may read and write between one barrier and the next, and the barriers that may come next. *Turnings* are
branches from which different barriers may come next: a segment says at which of them the block went where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.verify.multiplex.merged.outline import Outline
from binalloc.verify.multiplex.merged.pairing import Course, Key, MergedPairing
from binalloc.verify.multiplex.merged.places import Place, linked
from binalloc.verify.multiplex.merged.placing import AddressMap
from binalloc.verify.multiplex.merged.roles import Role, role_of
from binalloc.verify.multiplex.merged.turn import follow
from binalloc.verify.multiplex.spread import Mask
from binalloc.verify.multiplex.words import Word

MOST_TURNINGS = 8  # in one segment; chosen by hand, more are in loops that pass turnings and no barrier
END = -1
Turning = tuple[int, int]
"""A node with a branch or an end, and the node to which it leads, or `END`."""
Turnings = tuple[Turning, ...] | None
"""Turnings one after the other; None where they are not known."""


@dataclass(eq=False)
class Touched:
    """This object has the bytes of the merged block that threads may read, and those that they may write."""

    reads: Mask
    writes: Mask

    def add(self, reads: Mask, writes: Mask) -> None:
        self.reads |= reads
        self.writes |= writes

    def conflict(self, other: Touched) -> Mask:
        """Return the bytes that both touch, and one of them may write."""
        return self.writes & (other.reads | other.writes) | self.reads & other.writes


@dataclass(eq=False)
class Segment:
    """A segment begins with a barrier of the whole merged block, or at the kernel's entry. after: ends, with the
    turnings on the way there. An end is the place of a barrier, or None where threads may have ended."""

    first: Place
    all: Touched
    free: Touched  #: of them, those that the virtual block may access while it does not have the turn
    last: Touched  #: by threads that may end in it: a barrier orders no accesses of warps that have ended
    last_free: Touched
    after: set[tuple[Turnings, Place | None]] = field(default_factory=set)


@dataclass(frozen=True)
class Seen:
    """A walk of the outline has seen these nodes, bytes and ends."""

    feasible: dict[int, set[int]]  #: by node, the nodes that may come next
    accessed: dict[int, Mask]  #: by node, the bytes of the original that a shared access may touch
    turnings: set[int]  #: nodes
    leaving: set[int]  #: nodes of other branches, behind which threads may end without coming to a barrier
    ends: set[int]  #: nodes at which all threads of a block end, or none: they are turnings, too


class VirtualBlock:
    """A virtual block has segments, by the places at which they begin. Their bytes are those of the merged block."""

    def __init__(
        self, course: Course, pairing: MergedPairing, outline: Outline, words: list[Word | None], seen: Seen,
        addresses: AddressMap, threads: int,
    ) -> None:  # fmt: skip
        """threads: of a virtual block."""
        self.number, self.words, self.seen, self.map = course.virtual, words, seen, addresses
        self.pairing, self.threads = pairing, threads
        self.entry = Place(-1, role=Role.WHOLE)
        self.places: dict[Key, Place] = {}
        self.inserted: list[Place] = []  #: places of inserted barriers
        self.named: list[Place] = []  #: those of counted ones
        self._missing: list[Place] = []
        self._build(course, outline)
        owes = course.present == course.virtual + 1 and any(place.role != Role.OWN for place in self.named)
        self.turn = follow(self.entry, owes, self.ends)

    @cached_property
    def segments(self) -> dict[Place, Segment]:
        """Return the segments between barriers of the whole merged block."""
        return self._segments((Role.WHOLE,), self.seen.turnings)

    @cached_property
    def events(self) -> dict[Place, Segment]:
        """Return segments that end, too, where the virtual block waits for its turn. Their turnings are, besides,
        branches behind which it may end."""
        return self._segments((Role.WHOLE, Role.TAKE), self.seen.turnings | self.seen.leaving)

    @cached_property
    def in_turn(self) -> Touched:
        """Return the bytes that it may touch in its turn."""
        return self._touched(self.turn.held)

    def _segments(self, ends: tuple[Role, ...], branches: set[int]) -> dict[Place, Segment]:
        """Return the segments, by the places at which they begin. ends: roles of barriers that end one. branches: nodes
        that are turnings."""
        found: dict[Place, Segment] = {}
        work = [self.entry]
        while work:
            place = work.pop()
            if place not in found:
                found[place] = self._segment(place, ends, branches)
                work += [end for _, end in found[place].after if end is not None]
                work += [place.again] if place.again is not None else []
        return found

    def _build(self, course: Course, outline: Outline) -> None:
        work: list[tuple[Key | None, Place]] = [(None, self.entry)]
        while work:
            key, place = work.pop()
            for way, to in course.out.get(key, ()):
                first = outline.steps[way][0]
                if key is not None and first not in self.seen.feasible.get(key[0], ()):
                    continue
                at, ordered = place, False
                for position, node in zip(way.barriers, outline.barriers_of(way), strict=True):
                    at = linked(at, self._barrier(node, way.passed[position]))
                    ordered |= at.orders
                if way.skipped and not ordered:
                    at = linked(at, Place(first, missing=True))
                    self._missing.append(at)
                if to not in self.places:
                    word = self.words[to[0]]
                    stops = word is not None and word.barrier is not None
                    role = Role.WHOLE if stops else None
                    self.places[to] = Place(to[0], role=role, idle=to in course.idle)
                    work.append((to, self.places[to]))
                linked(at, self.places[to])

    def _barrier(self, node: int, word: int) -> Place:
        """Return the place of an inserted barrier."""
        barrier = self.pairing.words[word].barrier
        assert barrier is not None
        role = role_of(barrier, self.threads)
        place = Place(node, role, barrier.number, word, gives=barrier.gives if barrier.vote else None)
        if barrier.vote and not barrier.gives and self.pairing.words[word].defs:
            place.again = Place(node, role, barrier.number, word, gives=barrier.gives)
            linked(place.again, place)
        self.inserted.append(place)
        if role != Role.WHOLE:
            self.named.append(place)
        return place

    def _segment(self, first: Place, cuts: tuple[Role, ...], branches: set[int]) -> Segment:
        segment = Segment(first, self._nothing(), self._nothing(), self._nothing(), self._nothing())
        work: list[tuple[Place, Turnings]] = [(to, ()) for to in first.out]
        done: set[tuple[Place, Turnings]] = set()
        while work:
            place, turnings = work.pop()
            if (place, turnings) in done:
                continue
            done.add((place, turnings))
            if place.role in cuts:
                segment.after.add((turnings, place))
                continue
            if self.ends(place):
                whole = not place.out or place.node in self.seen.ends
                if whole:
                    segment.after.add((self._turned(turnings, place, END, branches), None))
                elif Role.TAKE not in cuts:  # with turns, what other threads come to matters
                    segment.after.add((None, None))
            for to in place.out:
                work.append((to, self._turned(turnings, place, to.node, branches)))
        places = {place for place, _ in done if place.role not in cuts}
        ending = places.intersection(_before([p for p in places if self.ends(p)], cuts))
        for place in places:
            touched, free, last = self.accesses(place), place not in self.turn.held, place in ending
            for into, belongs in (
                (segment.all, True), (segment.free, free), (segment.last, last), (segment.last_free, free and last)
            ):  # fmt: skip
                if belongs:
                    into.add(*touched)
        return segment

    def _touched(self, places: Iterable[Place]) -> Touched:
        """Return the bytes that are touched at some places."""
        found = self._nothing()
        for place in places:
            found.add(*self.accesses(place))
        return found

    def _nothing(self) -> Touched:
        return Touched(np.zeros(self.map.room, np.bool_), np.zeros(self.map.room, np.bool_))

    def ends(self, place: Place) -> bool:
        """Return whether threads may end at a place."""
        word = None if place.missing or place.role else self.words[place.node]
        return word is not None and word.view.control == Flow.EXIT

    def _turned(self, turnings: Turnings, place: Place, to: int, branches: set[int]) -> Turnings:
        """Return the turnings with one more, if there is one at a place. to: the node that comes next, or `END`."""
        turning = place.node in branches or place.node in self.seen.ends
        if place.missing or place.role or not turning or turnings is None:
            return turnings
        return (*turnings, (place.node, to)) if len(turnings) < MOST_TURNINGS else None

    def accesses(self, place: Place) -> tuple[Mask, Mask]:
        """Return the bytes of the merged block that threads may read and write at a place."""
        none: Mask = np.zeros(self.map.room, np.bool_)
        word = None if place.missing or place.role else self.words[place.node]
        touched = self.seen.accessed.get(place.node)
        if word is None or word.view.memory is None or touched is None:
            return none, none
        touched, access = self.map.moved(touched), word.view.memory.access
        writes = access != Access.LOAD and not place.idle
        return (none if access == Access.STORE else touched), (touched if writes else none)

    # -- barriers that are missing

    def missed(self) -> list[Place]:
        """Return the places of missing barriers that order accesses."""
        found = []
        for place in self._missing:
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
            word = None if place.missing or place.role else self.words[place.node]
            memory = None if word is None else word.view.memory
            if word is not None and word.view.control in CALLS:
                loads = stores = True
            if memory is not None and memory.space not in (Space.SHARED, Space.LOCAL, Space.CONST):
                loads |= memory.access != Access.STORE
                stores |= memory.access != Access.LOAD
        return reads, writes, loads, stores


def _before(last: list[Place], cuts: tuple[Role, ...]) -> set[Place]:
    """Return the places from which others are reached without passing a barrier of certain roles."""
    found: set[Place] = set()
    work = list(last)
    while work:
        place = work.pop()
        if place not in found and place.role not in cuts:
            found.add(place)
            work += place.before
    return found


def _reached(first: list[Place], next_of: Callable[[Place], list[Place]]) -> list[Place]:
    """Return the places that are reached without passing a barrier."""
    found: dict[Place, None] = {}
    work = list(first)
    while work:
        place = work.pop()
        if place not in found:
            found[place] = None
            work += next_of(place) if not place.orders else []
    return list(found)
