"""Addresses of the new kernel are followed here as expressions over the original's registers.

Needs a pairing and the addresses that each access may have; leaves findings. Only registers and predicates of inserted
words are followed. An expression is forgotten when the original writes a register in it, and when the block gives its
memory back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.isa.instruction import Instr
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.kinds import CALLS, Flow, Space
from binalloc.verify.multiplex.addressing.expressions import (
    Below,
    Choice,
    Expression,
    Fact,
    Place,
    Under,
    based,
    cases,
    guarded,
    plus,
    registers,
    results,
    under,
)
from binalloc.verify.multiplex.division import WORDS, Division
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.reading.code import ref_bits
from binalloc.verify.report import Finding

Known = dict[int, Fact]
"""What is known of the places that inserted words write."""


@dataclass(frozen=True)
class Held:
    """A `Held` says what holds in front of a word."""

    holds: bool | None  #: whether the block holds memory; None where it may or may not
    known: Known


class Addresses:
    """The proof that accesses go where the division says. feasible: by word, the words that may come next."""

    def __init__(self, pairing: Pairing, division: Division, reach: Mapping[int, list[Range]],
                 feasible: Mapping[int, set[int]], clobbered: int) -> None:  # fmt: skip
        """clobbered: places that calls write."""
        self.pairing, self.division, self.reach, self.feasible = pairing, division, reach, feasible
        self.clobbered = bits(clobbered)
        self.findings: dict[Finding, None] = {}
        self.before: dict[int, Held] = {}
        self.end = 0  # of the private bytes below the public part, as far as they are accessed
        self.begin = WORDS  # of those above it

    def fail(self, kind: str, message: str, n: int, m: int = -1, expected: str = "", found: str = "") -> None:
        self.findings[self.pairing.finding(kind, message, n, m, expected, found)] = None

    def run(self, entry: int) -> None:
        self.before[entry] = Held(False, {})
        work = [entry]
        while work:
            n = work.pop()
            after = self._step(n, self.before[n])
            for to in self.feasible.get(n, ()):
                old = self.before.get(to)
                new = after if old is None else _met(old, after)
                if new != old:
                    self.before[to] = new
                    work.append(to)
        for n in sorted(self.before):
            self._check(n, self.before[n])
        room = self.pairing.new.fn.info.shared_bytes
        if self.end > room or self.begin - self.division.moved < self.end:
            self.fail("address", "private bytes have no room, or lie one on another", 0,
                              expected=f"{self.end} bytes, then those from {self.begin - self.division.moved:#x}",
                              found=f"{room} bytes")  # fmt: skip

    # -- steps

    def _step(self, n: int, state: Held) -> Held:
        """Return what holds behind a word."""
        new, known = self.pairing.new, dict(state.known)
        view, instr = new.views[n], new.instrs[n]
        places = [at for ref in view.defs for at in ref_bits(ref)]
        if self.pairing.label[n] != INSERTED:
            for at in self.clobbered if view.control in CALLS else places:
                known = {k: x for k, x in known.items() if k != at and at not in registers(x)}
            return Held(state.holds, known)
        if view.control in (Flow.ALLOC, Flow.FREE):
            known = {k: x for k, x in known.items() if not based(x) and k not in places}
            if view.control == Flow.ALLOC:
                known.update({at: Place(True, None, 0) for at in places})
            return Held(view.control == Flow.ALLOC, known)
        values = self._values(instr, n, state.known)
        for k, at in enumerate(places):
            value = self._guarded(n, values.get(k), state.known, at)
            if value is None:
                known.pop(at, None)
            else:
                known[at] = value
        for k, x in list(known.items()):
            if isinstance(x, Under) and x.predicate in places:
                del known[k]
        return Held(state.holds, known)

    def _values(self, instr: Instr, n: int, known: Known) -> dict[int, Expression | Below]:
        """Return what an inserted word writes, by position, as far as it is such an expression."""

        def read(place: int) -> Expression | None:
            term = known.get(place)
            if term is None and place not in self.pairing.untouched and place < PRED_BASE:
                return Place(False, place, 0)
            return term if isinstance(term, Place | Choice) else None

        uses = [at for ref in self.pairing.new.views[n].uses for at in ref_bits(ref)]
        return results(instr, uses, read)

    def _guarded(self, n: int, value: Expression | Below | None, known: Known, place: int) -> Fact | None:
        """Return what a place holds behind a word that writes `value`, if its guard holds."""
        guard, old = self.pairing.new.views[n].guard, known.get(place)
        test = None if guard is None else known.get(PRED_BASE + guard[0])
        return guarded(guard, value, test, old if isinstance(old, Place | Choice) else None)

    # -- checks

    def _check(self, n: int, state: Held) -> None:
        new = self.pairing.new
        view, m = new.views[n], self.pairing.label[n]
        if view.control == Flow.ALLOC and state.holds is not False:
            self.fail("held", "the block may hold shared memory already", n, expected="no shared memory held")
        elif view.control == Flow.FREE:
            if state.holds is not True:
                self.fail("held", "the block may hold nothing", n, expected="shared memory held")
            elif state.known.get(ref_bits(view.uses[0])[0] if view.uses else -1) != Place(True, None, 0):
                self.fail("held", "frees another address than its BAR.ALLOC gave", n)
        elif m != INSERTED and view.memory is not None and view.memory.space == Space.SHARED and n in self.reach:
            self._access(n, m, state)

    def _access(self, n: int, m: int, state: Held) -> None:
        memory, was = self.pairing.new.views[n].memory, self.pairing.old.views[m].memory
        assert memory is not None
        assert was is not None
        value: object = Place(False, None, 0)
        if memory.base is not None:
            place = memory.base.index
            value = state.known.get(place) if place in self.pairing.untouched else Place(False, place, 0)
        value = under(value, self.pairing.new.views[n].guard)
        if not isinstance(value, Place | Choice):
            self.fail("address", "the address is not known", n, m)
            return
        found = plus(value, Place(False, None, memory.offset % WORDS))
        register = None if was.base is None else was.base.index
        assert found is not None
        for test, leaf, ranges in cases(found, self.reach[n], register, was.offset):
            if test:
                self.fail("address", f"chosen by another register: {test}", n, m)
            for low, high in ranges:
                self._leaf(n, m, state, leaf, low, high)

    def _leaf(self, n: int, m: int, state: Held, leaf: Place, low: int, high: int) -> None:
        """Check that original addresses from `low` to `high` go where the division says."""
        memory, was = self.pairing.new.views[n].memory, self.pairing.old.views[m].memory
        assert memory is not None
        assert was is not None
        register = None if was.base is None else was.base.index
        distance = (leaf.number - was.offset) % WORDS
        for first, end, public, moved in self.division.parts():
            a, b = max(low, first), min(high, end - 1)
            a, b = -(-a // memory.size) * memory.size, b // memory.size * memory.size
            if a > b:
                continue
            if b + memory.size > end:
                self.fail("address", "an access may go to both parts at once", n, m, found=f"{b:#x}")
            if (leaf.based, leaf.register, distance) != (public, register, moved % WORDS):
                expected = f"{a:#x} to {b:#x} at {'base' if public else 'address'} {moved:+#x}"
                found = f"{'base' if leaf.based else 'address'} {_signed(distance):+#x}"
                if leaf.register != register:
                    found = f"another register, {found}"
                self.fail("address", "goes to another address than the original's", n, m, expected, found)
            if not public and first == 0:
                self.end = max(self.end, b + memory.size)
            elif not public:
                self.begin = min(self.begin, a)
            if public and state.holds is not True:
                self.fail("held", "accesses public memory that the block may not hold", n, m)


def _signed(number: int) -> int:
    return (number + WORDS // 2) % WORDS - WORDS // 2


def _met(a: Held, b: Held) -> Held:
    known = {k: x for k, x in a.known.items() if b.known.get(k) == x}
    return Held(a.holds if a.holds == b.holds else None, known)
