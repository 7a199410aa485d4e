"""This module follows from word to word where a thread's own words are: in shared or in local memory.

Needs a pairing, the course of the original's block, and the columns of a part. Leaves findings in the pairing.

A thread's column is in shared memory, in local memory, or *nowhere*: no thread can have written it yet, so what it
holds is undefined. It moves to local memory directly behind a barrier, byte by byte, before anybody accesses the part
again; and back directly in front of one. No phase of the block has accesses both to the part in shared memory and to
columns in local memory. So while a thread has its column in local memory, no other one accesses its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from heapq import heappop, heappush

from binalloc.isa.interface.view import Memory
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.course import Course
from binalloc.verify.multiplex.graph import Meetings
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.reading.code import ref_bits
from binalloc.verify.shorten.own_columns import Columns


class Mode(Enum):
    """A mode says where a thread's column is."""

    NOWHERE = auto()
    SHARED = auto()
    FRESH = auto()  # in shared memory, and the thread has not accessed the part since the last barrier
    COMING = auto()  # bytes of it are copied to local memory
    LOCAL = auto()
    GOING = auto()  # bytes of it are copied to shared memory
    GONE = auto()  # all are, and the next barrier has not opened yet


_AT_ONCE = {
    frozenset((Mode.NOWHERE, Mode.SHARED)): Mode.SHARED, frozenset((Mode.NOWHERE, Mode.FRESH)): Mode.FRESH,
    frozenset((Mode.SHARED, Mode.FRESH)): Mode.SHARED, frozenset((Mode.NOWHERE, Mode.LOCAL)): Mode.LOCAL,
    frozenset((Mode.NOWHERE, Mode.GONE)): Mode.GONE, frozenset((Mode.SHARED, Mode.GONE)): Mode.GONE,
    frozenset((Mode.FRESH, Mode.GONE)): Mode.GONE,
}  # fmt: skip
"""What holds where two ways meet; elsewhere a column would be at two places."""

Content = tuple[Space, int, int]
"""What a copy has loaded: from which memory, which byte of the column, and how many."""


@dataclass(frozen=True)
class _State:
    """A state holds in front of a word. moved: bytes of the column that are copied, as a bitset."""

    mode: Mode
    moved: int = 0
    held: tuple[tuple[int, Content], ...] = field(default=())  #: by register

    def without(self, places: list[int]) -> _State:
        return replace(self, held=tuple(each for each in self.held if each[0] not in places))

    def accessed(self, mode: Mode) -> _State:
        """Return the state behind an access to the part or a barrier: what copies have loaded may be old by then."""
        return replace(self, mode=mode, held=())


class Modes:
    """The modes of one part."""

    def __init__(self, pairing: Pairing, course: Course, columns: Columns, reach: dict[int, list[Range]]) -> None:
        self.pairing, self.course, self.columns, self.reach = pairing, course, columns, reach
        self.part = columns.part
        self.every = (1 << self.part.bytes) - 1
        self.converted = set(columns.words)
        self.shared = {n for n in reach if self._in_shared(n)}
        self.copies: set[int] = set()  #: words that copy, found on the way
        self.read = any(self._reads(n) for n in self.shared)
        self.states: dict[int, _State] = {0: _State(Mode.NOWHERE)}

    def run(self) -> None:
        heap, waiting = [0], {0}
        while heap and not self.pairing.findings:
            n = heappop(heap)
            waiting.discard(n)
            behind = self._behind(n, self.states[n])
            for to in self.pairing.after[n] if behind is not None else ():
                assert behind is not None
                old = self.states.get(to)
                new = behind if old is None else self._met(old, behind, to)
                if new is not None and new != old:
                    self.states[to] = new
                    if to not in waiting:
                        waiting.add(to)
                        heappush(heap, to)
        if not self.pairing.findings:
            self._check_phases()

    def _in_shared(self, n: int) -> bool:
        """Return whether a word of the original may access the part in shared memory."""
        memory = self.pairing.old.views[self.pairing.label[n]].memory
        assert memory is not None
        touches = any(low < self.part.end and high + memory.size > self.part.first for low, high in self.reach[n])
        return n not in self.converted and touches

    def _reads(self, n: int) -> bool:
        memory = self.pairing.old.views[self.pairing.label[n]].memory
        return memory is not None and memory.access != Access.STORE

    def _fail(self, message: str, n: int) -> None:
        self.pairing.fail("own", message, n, self.pairing.label[n])

    # -- steps

    def _behind(self, n: int, state: _State) -> _State | None:
        """Return what holds behind a word, None after a finding."""
        view = self.pairing.new.views[n]
        if self.pairing.label[n] == INSERTED:
            found = self._inserted(n, state)
        elif set_of(view.instr).barrier(view.instr) is not None:
            found = self._barrier(n, state)
        elif n in self.shared:
            found = self._stays(n, state)
        elif n in self.converted:
            found = self._local(n, state)
        else:
            found = state
            if view.control == Flow.EXIT and self.read and state.mode not in (Mode.NOWHERE, Mode.SHARED, Mode.FRESH):
                self._fail("a thread may end while others count on its words", n)
        written = [at for ref in view.defs for at in ref_bits(ref)]
        if found is None or self.pairing.label[n] == INSERTED:
            return found
        return found.without(written)

    def _barrier(self, n: int, state: _State) -> _State | None:
        if state.mode in (Mode.NOWHERE, Mode.LOCAL):
            return state.accessed(state.mode)
        if state.mode in (Mode.SHARED, Mode.FRESH, Mode.GONE):
            return replace(state.accessed(Mode.FRESH), moved=0)
        self._fail("comes to a barrier with some of its words copied", n)
        return None

    def _stays(self, n: int, state: _State) -> _State | None:
        """Let a thread access the part in shared memory, as the original does."""
        if state.mode in (Mode.NOWHERE, Mode.SHARED, Mode.FRESH):
            return state.accessed(Mode.SHARED)
        self._fail("accesses shared memory where its words are in local memory", n)
        return None

    def _local(self, n: int, state: _State) -> _State | None:
        """Let a thread access its column in local memory."""
        if state.mode in (Mode.NOWHERE, Mode.LOCAL):
            return state.accessed(Mode.LOCAL)
        self._fail("accesses local memory where its words are in shared memory", n)
        return None

    def _inserted(self, n: int, state: _State) -> _State | None:
        """Let an inserted word copy, or compute."""
        view = self.pairing.new.views[n]
        written = [at for ref in view.defs for at in ref_bits(ref)]
        memory = view.memory
        if memory is None:
            return state.without(written)
        at = self._at(n, memory)
        if at is None:
            if self._elsewhere(n, memory):
                return state.without(written)
            self._fail("copies what is not in the column of its thread", n)
            return None
        self.copies.add(n)
        if memory.access == Access.LOAD:
            return self._loaded(n, state, written, (memory.space, at, memory.size))
        return self._stored(n, state, memory, at)

    def _loaded(self, n: int, state: _State, written: list[int], content: Content) -> _State | None:
        """Let a copy load bytes of the column."""
        wanted = (Mode.FRESH, Mode.COMING) if content[0] == Space.SHARED else (Mode.LOCAL, Mode.GOING)
        if state.mode not in wanted:
            self._fail("copies words from where they are not", n)
            return None
        mode = Mode.COMING if content[0] == Space.SHARED else state.mode
        held = [*state.without(written).held, *((at, content) for at in written[:1])]
        return replace(state, mode=mode, held=tuple(sorted(held)))

    def _stored(self, n: int, state: _State, memory: Memory, at: int) -> _State | None:
        """Let a copy store bytes of the column."""
        inwards = memory.space == Space.LOCAL
        source = Space.SHARED if inwards else Space.LOCAL
        registers = [place for ref in memory.data(self.pairing.new.views[n].uses) for place in ref_bits(ref)]
        content = dict(state.held).get(registers[0]) if registers else None
        if content != (source, at, memory.size):
            self._fail("copies another word than the one that belongs there", n)
            return None
        if state.mode not in ((Mode.COMING,) if inwards else (Mode.LOCAL, Mode.GOING)):
            self._fail("copies words to where they are already", n)
            return None
        moved = (state.moved if state.mode != Mode.LOCAL else 0) | (1 << at + memory.size) - (1 << at)
        if moved == self.every:
            return replace(state, mode=Mode.LOCAL if inwards else Mode.GONE, moved=0)
        return replace(state, mode=Mode.COMING if inwards else Mode.GOING, moved=moved)

    def _at(self, n: int, memory: Memory) -> int | None:
        """Return the first byte of the column that a copy accesses, None if it is in none, or in another part's."""
        if memory.space == Space.SHARED:
            place = self.columns.place(n, memory)
            return None if place is None else place[0] * self.part.width + place[1]
        base = None if memory.base is None else memory.base.index
        exact = self.columns.values.exact(n, base, memory.offset)
        if exact is None or (exact != exact[0]).any() or exact[0] % memory.size:
            return None
        at = int(exact[0]) - self.part.local
        return at if 0 <= at <= self.part.bytes - memory.size else None

    def _elsewhere(self, n: int, memory: Memory) -> bool:
        """Return whether a copy is surely to none of this part's bytes. The modes of another part judge it."""
        base = None if memory.base is None else memory.base.index
        exact = self.columns.values.exact(n, base, memory.offset)
        if exact is None:
            return False
        part = self.part
        first, end = (
            (part.first, part.end) if memory.space == Space.SHARED else (part.local, part.local + part.bytes)
        )
        return bool(((exact + memory.size <= first) | (exact >= end)).all())

    def _met(self, old: _State, new: _State, n: int) -> _State | None:
        """Return what holds where two ways meet, None after a finding."""
        held = tuple(each for each in old.held if each in new.held)
        if (old.mode, old.moved) == (new.mode, new.moved):
            return replace(old, held=held)
        mode = _AT_ONCE.get(frozenset((old.mode, new.mode)))
        if mode is None or old.moved or new.moved:
            self._fail("its words are in shared memory on one way to a word, and not on another", n)
            return None
        return _State(mode, 0, held)

    # -- phases

    def _check_phases(self) -> None:
        """Check that no phase has accesses to the part in shared memory, and others to columns in local memory."""
        graph, walk = self.course.graph, self.course.walk
        assert walk is not None
        meetings = Meetings(walk.edges, self.course.barriers)
        home = {n: b for b, words in enumerate(graph.words) for n in words}
        for phase in meetings.phases(graph.entry):
            inside = {n for n in home if phase >> home[n] & 1}
            stays = sorted(self.shared & inside)
            if stays and inside & (self.converted | self.copies):
                self._fail("others may access shared memory meanwhile", stays[0])
