"""The new kernel is paired here with the original, word by word, as the instruction map proposes.

Needs both kernels; leaves a `Pairing`, with findings for whatever differs. A word of the new kernel stands for the word
of the original that the map names, or was inserted. From each pair, every way must lead to the pair that the original
comes to next: through inserted words alone, and, where the original passes a barrier that the new kernel lacks,
through an inserted barrier.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.isa.instruction import NO_REGISTER, Function, Instr
from binalloc.isa.interface.places import PRED_BASE, REG
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.living import Called, living
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import Finding

INSERTED = -1
HELD = (Flow.ALLOC, Flow.FREE)


class Pairs:
    """Pairs relate words of two kernels. after: successors of each new word within the kernel, jumps last; only words
    that the kernel may come to have any. label: the original word that each new word stands for, or `INSERTED`."""

    def __init__(
        self, old: FunctionCode, new: FunctionCode, index: list[int], untouched: set[int], called: Called
    ) -> None:
        """untouched: registers that the original's call graph never uses. called: what the functions in it do."""
        self.old, self.new, self.label = old, new, index
        self.untouched, self.called = untouched, called
        self.findings: dict[Finding, None] = {}
        self.after: list[tuple[int, ...]] = [()] * len(new)
        self.removed: set[int] = set(range(len(old))) - set(index)
        self.points: dict[int, int] = {}  #: reconvergence points, the original's by new ones

    def fail(self, kind: str, message: str, n: int, m: int = -1, expected: str = "", found: str = "") -> None:
        self.findings[self.finding(kind, message, n, m, expected, found)] = None

    def finding(self, kind: str, message: str, n: int, m: int = -1, expected: str = "", found: str = "") -> Finding:
        """Return a finding at new word `n`, which stands for original word `m`, if any."""
        old = self.old.name if m >= 0 else ""
        word = text(self.new.fn, n)
        return Finding(kind, message, self.new.name, n, old, m, word, expected=expected, found=found)

    def same(self, instr: Instr, m: int) -> bool:
        """Return whether an instruction is that at original word `m`, but for links."""
        old = self.old.instrs[m]
        isa = set_of(old)
        if set_of(instr) is not isa:
            return False
        if isa.links(instr) and isa.links(old):
            instr = isa.relink(instr, isa.links(old))
        return isa.alike(instr, old)

    def skip(self, m: int) -> list[int]:
        """Return the barriers at original word `m` and behind it that the new kernel lacks, one after the other."""
        found = []
        while m in self.removed and self._plain_barrier(m):
            found.append(m)
            m += 1
        return found

    def _plain_barrier(self, m: int) -> bool:
        barrier, view = set_of(self.old.instrs[m]).barrier(self.old.instrs[m]), self.old.views[m]
        return barrier is not None and barrier.plain and view.control == Flow.BARRIER and view.guard is None

    def point(self, n: int, m: int) -> None:
        """Note the reconvergence points of a pair of branches."""
        new, old = self.new.fn.reconvergence(n), self.old.fn.reconvergence(m)
        if (new is None) != (old is None):
            self.fail("reconvergence", "only one of the branches may diverge", n, m)
        elif new is not None and old is not None and self.points.setdefault(new, old) != old:
            self.fail("reconvergence", "one reconvergence point stands for two of the original", n, m)

    def deeper(self, n: int) -> bool:
        """Return whether lanes that part at a branch take an entry of the stack, as their way does not begin at the
        reconvergence point, where those of the original just wait."""
        m = self.label[n]
        new, old = self.new.fn.reconvergence(n), self.old.fn.reconvergence(m)
        ways = ((self.new.fn.target(n), self.old.fn.target(m)), (n + 1, m + 1))
        return any(was == old and to != new for to, was in ways)

    def reconvergence(self, ways: Iterable[tuple[list[int], list[int], int]]) -> None:
        """Check that on every way both programs pass the same reconvergence points in the same order. ways: the new
        words, the original's, and the new word in front."""
        points = set(self.points.values())
        if len(points) != len(self.points):
            self.fail("reconvergence", "two reconvergence points stand for one of the original", 0)
        for new, old, source in ways:
            if [self.points[n] for n in new if n in self.points] != [m for m in old if m in points]:
                self.fail("reconvergence", "threads do not meet again where the original's do", source, old[-1])


class Pairing(Pairs):
    """A pairing relates two kernels that take the same ways."""

    def __init__(
        self, old: FunctionCode, new: FunctionCode, index: list[int], untouched: set[int], called: Called
    ) -> None:
        super().__init__(old, new, index, untouched, called)
        self._ways: list[tuple[list[int], list[int], int]] = []
        self._inserted: dict[int, int] = {}  # inserted words with the original word in front of which they are

    def run(self) -> None:
        if not len(self.new) or not len(self.old):
            self.fail("map", "a kernel has no words", 0)
            return
        work, seen = [self._come(0, 0, 0)], {INSERTED}
        while work:
            n = work.pop()
            if n in seen:
                continue
            seen.add(n)
            m = self.label[n]
            self._compare(n, m)
            view = self.new.views[n]
            falls, jumps = successors(view.control, view.guard is not None)
            ways = [(n + 1, m + 1)] * falls
            if jumps and view.control == Flow.BRANCH:
                ways.append((self.new.fn.target(n), self.old.fn.target(m)))
                self.point(n, m)
            self.after[n] = tuple(to for to, _ in ways)
            work += [self._come(to, at, n) for to, at in ways]
        self.reconvergence(self._ways)
        self._check_inserted()

    # -- ways

    def _come(self, n: int, m: int, source: int) -> int:
        """Follow inserted words from new word `n` to the pair of original word `m`; return it, or `INSERTED`."""
        first, passed, barrier = m, [], False
        while 0 <= n < len(self.new) and self.label[n] == INSERTED:
            if n in passed:
                self.fail("order", "inserted words form a loop", n)
                return INSERTED
            passed.append(n)
            barrier |= self.new.views[n].control in HELD
            to = self.new.fn.target(n) if self.new.jump(n) else n + 1
            self.after[n] = (to,)
            n = to
        skipped = self.skip(m)
        m += len(skipped)
        if not (0 <= n < len(self.new) and 0 <= m < len(self.old)) or self.label[n] != m:
            found = self.label[n] if 0 <= n < len(self.new) else INSERTED
            self.fail("order", "comes to another word than the original", source, first,
                      f"{self.old.name}+{m} next", f"new word {n}, for {self.old.name}+{found}")  # fmt: skip
            return INSERTED
        if skipped and not barrier:
            self.fail("barrier", "nothing takes the place of a barrier of the original", n, skipped[0])
        for k in passed:
            self._inserted[k] = m
        self._ways.append(([*passed, n], [*skipped, m], source))
        return n

    # -- words

    def _compare(self, n: int, m: int) -> None:
        """Check that two words do the same, but for links and addresses in shared memory."""
        old, new = self.old.instrs[m], self.new.instrs[n]
        isa = set_of(old)
        as_old = new
        if set_of(new) is isa and new.name == old.name:
            memory, was = self.new.views[n].memory, self.old.views[m].memory
            if memory is not None and was is not None and memory.space == was.space == Space.SHARED:
                as_old = isa.readdress(new, None if was.base is None else was.base.index, was.offset)
        if not self.same(as_old, m):
            self.fail("instruction", "not the original's instruction", n, m, text(self.old.fn, m), text(self.new.fn, n))

    def _check_inserted(self) -> None:
        live = living(self.old, self.called, range(len(self.old)))
        for n, m in self._inserted.items():
            view = self.new.views[n]
            if view.control in HELD:
                if view.guard is not None:
                    self.fail("together", "an inserted barrier is guarded", n)
            elif self.new.jump(n) or self.new.nops[n]:
                continue
            elif not view.pure or self.new.faulting[n]:
                self.fail("inserted", "an inserted word has an effect, or may fault", n)
            for ref in view.defs:
                if ref.file == REG:
                    if not self.untouched.issuperset(ref.registers()):
                        self.fail("inserted", "an inserted word writes a register of the original", n)
                elif live[m] >> (PRED_BASE + ref.index) & 1:
                    self.fail("inserted", "an inserted word writes a predicate that the original needs", n, m)

    def size(self, n: int) -> int | None:
        """Return the bytes that a BAR.ALLOC asks for, None where they are no immediate."""
        instr = self.new.instrs[n]
        return set_of(instr).held_shared(instr)


def used_registers(functions: list[Function]) -> set[int]:
    """Return the registers that functions name, in code or record."""
    used = {NO_REGISTER}
    for fn in functions:
        used |= {fn.info.local_stack, fn.info.slot_pointer}
        for instr in fn.instrs:
            used |= _registers(set_of(instr).view(instr), instr)
    return used


def _registers(view: View, instr: Instr) -> set[int]:
    return {r for refs in (view.defs, view.uses) for ref in refs if ref.file == REG for r in ref.registers()}


def shares(view: View) -> bool:
    """Return whether an instruction may access shared memory."""
    memory = view.memory
    return memory is not None and memory.space in (Space.SHARED, Space.GENERIC)


def stores(view: View) -> bool:
    return view.memory is not None and view.memory.access in (Access.STORE, Access.ATOMIC)
