"""The merged kernel is paired here with the original, for each virtual block by itself.

Needs both kernels, and the ways that the original's threads may take; leaves a `MergedPairing`, with findings for
whatever differs. The words of the merged kernel are followed with what inserted words compute in the threads of the
virtual block, so that inserted branches and guards are decided. From each pair, every way must lead to the pair that
the original comes to next. Accesses to shared memory may have other addresses than the original's, which are noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from binalloc.bitset import bits
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import PRED_BASE, REG
from binalloc.isa.interface.view import ALWAYS, successors
from binalloc.isa.kinds import CALLS, Access, Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.addressing.expressions import Place, under
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairs
from binalloc.verify.multiplex.living import Called, living
from binalloc.verify.multiplex.merged.numbers import Known, Machine, Value, expression, forget
from binalloc.verify.multiplex.merged.roles import role_of
from binalloc.verify.multiplex.words import Word
from binalloc.verify.reading.code import FunctionCode

MOST_STEPS = 60_000
"""Most words that are followed for one virtual block; chosen by hand, it bounds the time on hostile code."""
ENTRY = -1  # the pair in front of the first way
Key = tuple[int, tuple[tuple[int, Value], ...]]
"""A pair of one virtual block: its new word, and what is known in front of it."""


@dataclass(frozen=True)
class Way:
    """A way leads from one pair to the next, through inserted words."""

    source: int  #: new word of the pair that it leaves, or `ENTRY`
    jump: bool
    passed: tuple[int, ...]  #: inserted words, in order
    barriers: tuple[int, ...]  #: positions in `passed` of barriers that the virtual block comes to
    to: int  #: new word of the next pair
    old: int  #: original word in front of which the way begins
    skipped: tuple[int, ...]  #: barriers of the original that it passes and the merged kernel lacks


@dataclass
class Course:
    """The course of one virtual block is a graph of pairs. out: by pair, the ways that leave it, with their ends."""

    virtual: int
    present: int | None = None  #: virtual blocks of its merged block that the grid has; None where that is left open
    out: dict[Key | None, list[tuple[Way, Key]]] = field(default_factory=dict)
    idle: set[Key] = field(default_factory=set)  #: stores that its threads leave out
    addresses: dict[Key, object] = field(default_factory=dict)  #: of accesses to shared memory, but for their offsets


class Lost(Exception):
    """`Lost` is raised where a way cannot be followed: there is a finding."""


class MergedPairing(Pairs):
    """A merged pairing has a course for each virtual block. feasible: by original word, those that may come next."""

    def __init__(
        self, old: FunctionCode, new: FunctionCode, index: list[int], untouched: set[int], called: Called,
        feasible: Mapping[int, set[int]],
    ) -> None:  # fmt: skip
        super().__init__(old, new, index, untouched, called)
        self.feasible = feasible
        self.old_words = [Word(instr) for instr in old.instrs]
        self.words = [Word(instr) for instr in new.instrs]
        self.live_old, self.live_new = living(old, called, range(len(old))), living(new, called, index)
        self.courses: list[Course] = []
        self._steps = 0

    def follow(self, machine: Machine) -> None:
        """Follow one virtual block from the kernel's first word."""
        course = Course(machine.virtual, machine.present)
        self.courses.append(course)
        self._steps = 0
        work: list[Key] = []
        try:
            work.append(self._come(machine, course, None, (ENTRY, False), (0, 0), {}, {}))
        except Lost:
            return
        seen: set[Key] = set()
        while work:
            key = work.pop()
            if key in seen:
                continue
            seen.add(key)
            n, values = key[0], dict(key[1])
            dirty: dict[int, str] = {}
            try:
                self._pair(machine, course, key, values, dirty)
                for jump, to, at in self._ways(n, self.label[n]):
                    work.append(self._come(machine, course, key, (n, jump), (to, at), dict(values), dict(dirty)))
            except Lost:
                continue

    def has_named(self) -> bool:
        """Return whether there are inserted barriers of virtual blocks."""
        inserted = (word.barrier for word, label in zip(self.words, self.label, strict=True) if label == INSERTED)
        return any(barrier is not None and not barrier.plain for barrier in inserted)

    def finish(self) -> None:
        """Check reconvergence points, when all virtual blocks have been followed."""
        self.reconvergence(
            ([*way.passed, way.to], [*way.skipped, self.label[way.to]], max(way.source, 0)) for way in self.ways()
        )

    def ways(self) -> dict[Way, None]:
        """Return the ways of all virtual blocks, each once."""
        return {way: None for course in self.courses for out in course.out.values() for way, _ in out}

    def surplus_ends(self, machine: Machine) -> None:
        """Check that a virtual block beyond the grid ends before it does anything."""
        self._end_at_once(machine, "surplus", "a virtual block beyond the grid goes on")

    def padding_ends(self, machine: Machine) -> None:
        """Check that the threads with which a virtual block is padded end before they do anything: then the others find
        the lanes of their last warp as in a block of the original."""
        self._end_at_once(machine, "padding", "threads with which a virtual block is padded go on")

    def _end_at_once(self, machine: Machine, kind: str, message: str) -> None:
        n, values = 0, Known()
        for _ in range(len(self.new)):
            if self.label[n] != INSERTED:
                break
            view = self.new.views[n]
            truth = machine.truth(view.guard, values)
            if view.control == Flow.EXIT and truth is not None and (truth.all or truth.none):
                if truth.all:
                    return
            elif self.new.nops[n] or (view.pure and view.control == Flow.NONE and not self.new.faulting[n]):
                machine.execute(self.words[n], values)
            else:
                break
            n += 1
        self.fail(kind, message, min(n, len(self.new) - 1))

    # -- ways

    def _ways(self, n: int, m: int) -> list[tuple[bool, int, int]]:
        """Return the ways that leave a pair: whether it jumps, and the next words."""
        view = self.new.views[n]
        falls, jumps = successors(view.control, view.guard is not None)
        ways = [(False, n + 1, m + 1)] * falls
        if jumps and view.control == Flow.BRANCH:
            ways.append((True, self.new.fn.target(n), self.old.fn.target(m)))
            self.point(n, m)
        return [way for way in ways if way[2] in self.feasible.get(m, ())]

    def _come(self, machine: Machine, course: Course, source: Key | None, leaves: tuple[int, bool],
              starts: tuple[int, int], values: Known, dirty: dict[int, str]) -> Key:  # fmt: skip
        """Follow inserted words to the next pair, and return it. leaves: the pair's new word, and whether it jumps.
        starts: the new word and the original's to begin with. dirty: registers that hold another special register's
        value than the original's."""
        n, m = starts
        passed: list[int] = []
        barriers: list[int] = []
        while 0 <= n < len(self.new) and self.label[n] == INSERTED:
            self._steps += 1
            if self._steps > MOST_STEPS:
                self.fail("order", "inserted words go on for too long", n)
                raise Lost
            passed.append(n)
            n = self._inserted(machine, n, m, values, dirty, barriers, len(passed) - 1)
        skipped = self.skip(m)
        first, m = m, m + len(skipped)
        if not (0 <= n < len(self.new) and 0 <= m < len(self.old)) or self.label[n] != m:
            found = self.label[n] if 0 <= n < len(self.new) else INSERTED
            self.fail("order", "comes to another word than the original", max(leaves[0], 0), first,
                      f"{self.old.name}+{m} next", f"new word {n}, for {self.old.name}+{found}")  # fmt: skip
            raise Lost
        for at, name in dirty.items():
            if self.live_old[m] >> at & 1 and values.get(at) != machine.expected[name]:
                self.fail("special", f"R{at} is not the virtual block's {name}", n, m)
                raise Lost
            values.pop(at, None)
        way = Way(leaves[0], leaves[1], tuple(passed), tuple(barriers), n, first, tuple(skipped))
        live = self.live_new[n]
        key: Key = (n, tuple((at, values[at]) for at in sorted(values) if live >> at & 1))
        course.out.setdefault(source, []).append((way, key))
        return key

    def _inserted(self, machine: Machine, n: int, m: int, values: Known, dirty: dict[int, str],
                  barriers: list[int], at: int) -> int:  # fmt: skip
        """Execute an inserted word in front of original word `m`, and return the next one."""
        view, word = self.new.views[n], self.words[n]
        acts = view.control in (Flow.BRANCH, Flow.EXIT, Flow.BARRIER)
        if acts:
            truth = machine.truth(view.guard, values)
            if truth is None or not (truth.all or truth.none):
                self.fail("inserted", "threads of a virtual block may disagree on an inserted word", n, m)
                raise Lost
            if truth.none:
                return n + 1
            if view.control == Flow.BRANCH:
                return self.new.fn.target(n)
            if view.control == Flow.EXIT:
                self.fail("inserted", "a virtual block of the grid ends at an inserted word", n, m)
                raise Lost
            if word.barrier is None or role_of(word.barrier, machine.merge.threads) is None:
                self.fail("inserted", "an inserted barrier is not one of the whole block or of virtual blocks", n, m)
                raise Lost
            barriers.append(at)
            if word.defs:
                self._vote(machine, n, m, values)
            return n + 1
        if not self.new.nops[n]:
            if not view.pure or self.new.faulting[n] or view.convergent:
                self.fail("inserted", "an inserted word has an effect, or may fault", n, m)
                raise Lost
            for ref in view.defs:
                if ref.file == REG:
                    if not self.untouched.union(dirty).issuperset(ref.registers()):
                        self.fail("inserted", "an inserted word writes a register of the original", n, m)
                        raise Lost
                elif self.live_old[m] >> (PRED_BASE + ref.index) & 1:
                    self.fail("inserted", "an inserted word writes a predicate that the original needs", n, m)
                    raise Lost
            machine.execute(word, values, lambda at: at < PRED_BASE and at not in self.untouched and at not in dirty)
        return n + 1

    def _vote(self, machine: Machine, n: int, m: int, values: Known) -> None:
        """Note the answer of a vote in front of original word `m`. Where it is "true" although the virtual block has
        given "false", it has to come to the vote again without doing anything."""
        view, word = self.new.views[n], self.words[n]
        assert word.barrier is not None
        (at,) = word.defs
        if view.guard is not None or self.live_old[m] >> at & 1:
            self.fail("inserted", "a vote has a guard, or writes a predicate that the original needs", n, m)
            raise Lost
        values[at] = machine.decided(True)
        if word.barrier.gives:
            return
        to, passed = n + 1, set[int]()
        while to != n:
            truth = machine.truth(self.new.views[to].guard, values) if 0 <= to < len(self.new) else None
            if truth is None or to in passed or self.label[to] != INSERTED or not (truth.all or truth.none):
                break
            passed.add(to)
            if self.new.views[to].control == Flow.BRANCH:
                to = self.new.fn.target(to) if truth.all else to + 1
            elif self.new.nops[to] or truth.none:
                to += 1
            else:
                break
        if to != n:
            self.fail("inserted", "does not come to the vote again if another virtual block has given \"true\"", n, m)
            raise Lost
        values[at] = machine.decided(False)

    # -- pairs

    def _pair(self, machine: Machine, course: Course, key: Key, values: Known, dirty: dict[int, str]) -> None:
        """Check that a pair of words do the same, and note what is known behind it."""
        n = key[0]
        m = self.label[n]
        view, instr, special = self.new.views[n], self.new.instrs[n], self.old.special[m]
        if special in machine.expected:
            forget(values, self.words[n].defs)
            self._special(machine, n, m, values, dirty)
            return
        if view.memory is not None and view.memory.space == Space.SHARED:
            course.addresses[key] = self._address(n, values)
            instr = self._readdressed(n, m)
        if not self.same(instr, m):
            truth = machine.truth(view.guard, values) if self._store(instr, m) else None
            if truth is None or not (truth.all or truth.none):
                self.fail("instruction", "not the original's instruction", n, m, self._old_text(m), self._new_text(n))
                raise Lost
            if truth.none:
                course.idle.add(key)
        written = bits(self.called.writes) if view.control in CALLS else self.words[n].defs
        for at in written:
            values.pop(at, None)
        forget(values, written)

    def _address(self, n: int, values: Known) -> object:
        """Return what is known of the address of an access, without its offset."""
        view = self.new.views[n]
        assert view.memory is not None
        if view.memory.base is None:
            return Place(False, None, 0)
        at = view.memory.base.index
        return expression(values, at, lambda at: at not in self.untouched) or under(values.get(at), view.guard)

    def _readdressed(self, n: int, m: int) -> Instr:
        """Return a word with the address of the original's access."""
        instr, memory, was = self.new.instrs[n], self.new.views[n].memory, self.old.views[m].memory
        isa = set_of(self.old.instrs[m])
        if set_of(instr) is not isa or memory is None or was is None or was.space != memory.space:
            return instr
        return isa.readdress(instr, None if was.base is None else was.base.index, was.offset)

    def _store(self, instr: Instr, m: int) -> bool:
        """Return whether a word is an unguarded store of the original to shared memory under a guard of its own."""
        was, memory = self.old.views[m], self.old.views[m].memory
        if memory is None or memory.space != Space.SHARED or memory.access != Access.STORE or was.guard is not None:
            return False
        return self.same(instr.replace(guard=ALWAYS), m)

    def _special(self, machine: Machine, n: int, m: int, values: Known, dirty: dict[int, str]) -> None:
        """Let a word stand for one that reads a special register of another value: what it writes may differ until the
        next pair."""
        old, new, name = self.old.views[m], self.new.views[n], self.old.special[m]
        assert name is not None
        registers = [at for at in self.old_words[m].defs if at < PRED_BASE]
        plain = old.guard is None and new.guard is None and new.pure and not self.new.faulting[n]
        if not plain or len(registers) != 1 or self.words[n].defs != self.old_words[m].defs or new.convergent:
            self.fail("special", "reads a special register in a form that this proof does not know", n, m)
            raise Lost
        machine.execute(self.words[n], values)
        dirty[registers[0]] = name

    def _old_text(self, m: int) -> str:
        return set_of(self.old.instrs[m]).text(self.old.instrs[m])

    def _new_text(self, n: int) -> str:
        return set_of(self.new.instrs[n]).text(self.new.instrs[n])
