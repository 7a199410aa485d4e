"""The proof of own words: what belongs to one thread alone for a while waits in its local memory.

    report = check_own_words(original, made, "kernel", (64, 1, 1), parts)

**What is proven**, for every launch with blocks of that size: where the original's run ends well, the new kernel's
does, with the same results.

- *Lockstep.* Thread by thread, the new kernel executes the original's words, with the same operands, guards and
  branches. Some loads and stores are to local memory instead. Inserted words write registers that the original never
  uses, or copy (`own_columns.py`, `own_modes.py`).
- *Columns* (`own_columns.py`). Such an access goes to a column that its thread alone has, whatever the row; and to the
  byte of local memory that stands for the byte. The original uses no byte of that local memory.
- *Phases* (`own_modes.py`). Between two barriers no thread accesses in shared memory what others have in local memory.
  Each thread has all its words at one place: in shared memory, or, behind a copy of all of them, in local memory.
- *Together*. All threads of a block that have not ended come to the same barriers in the same order (`parting.py`).

**What is not.** Races of the original, and reads of bytes that it never wrote. Kernels with generic accesses, named
barriers, slots or spills are refused, as by `verify.multiplex.check`. `check_own_words` raises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from binalloc.bitset import bits
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import REG
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.course import Course
from binalloc.verify.multiplex.division import WORDS, Division
from binalloc.verify.multiplex.kernels.pairing import INSERTED, Pairing
from binalloc.verify.multiplex.kernels.proof import Given, Proof
from binalloc.verify.multiplex.kernels.records import MOST_SHARED, block_fault
from binalloc.verify.multiplex.memory import Range
from binalloc.verify.multiplex.words import Word
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.own_columns import Columns, Part, plain_access
from binalloc.verify.shorten.own_modes import Modes
from binalloc.verify.shorten.own_values import TooLong, Values

_SIZES = (1, 2, 4)  # bytes that a copy moves at a time: a register, or zeros and the rest of it


def check_own_words(
    original: Module, made: Module, kernel: str, block: tuple[int, int, int], parts: Sequence[tuple[int, ...]]
) -> CheckReport:
    """Prove that `made`'s kernel does what `original`'s does, for blocks of this size. parts: first byte, byte behind
    the last, stride, width, and first byte in local memory of each part; they are not trusted."""
    return _OwnWords(original, made, kernel, block, [Part(*part) for part in parts]).report()


class _OwnWords(Proof):
    may_differ = ("registers", "local_bytes", "machine")

    def __init__(
        self, original: Module, made: Module, kernel: str, block: tuple[int, int, int], parts: Sequence[Part]
    ) -> None:
        super().__init__(original, made, kernel)
        self.block, self.parts = block, sorted(parts, key=lambda part: part.first)

    def records(self, old: Function, new: Function) -> None:
        faults = [block_fault(self.block, old), *(part.fault() for part in self.parts)]
        if old.shared != new.shared:
            faults.append("the shared variables changed")
        if any(part.end > old.info.shared_bytes for part in self.parts) or old.info.shared_bytes > MOST_SHARED:
            faults.append("a part is not in static memory")
        shared = [(part.first, part.end) for part in self.parts]
        local = sorted((part.local, part.local + part.bytes) for part in self.parts)
        local = [(0, old.info.local_bytes), *local, (new.info.local_bytes, new.info.local_bytes)]
        for spans in (shared, local):
            if any(before[1] > after[0] for before, after in pairwise(spans)):
                faults.append("parts lie one on another, or on local memory of the original")
        for fault in faults:
            if fault:
                self.fail("parts", fault)

    def prove(self, given: Given) -> None:
        if self.findings:
            return
        pairing = _Pairing(given.old, given.new, given.index, given.untouched, given.called)
        self.pairing = pairing
        pairing.run()
        if pairing.findings:
            return
        course = Course(pairing, self.block, Division(0, 0, 0, 0), WORDS)
        course.run(addresses=False)
        if pairing.findings or course.walk is None:
            return
        self.stats = course.stats
        words = [Word(instr) for instr in given.new.instrs]
        modulus = max((part.stride for part in self.parts), default=1)
        try:
            values = Values(words, pairing.after, pairing.label, course.setting, modulus, bits(given.called.writes))
        except TooLong:
            pairing.fail("limit", "what registers hold does not settle", 0)
            return
        reach = course.walk.reach
        found = [self._columns(pairing, part, values, reach) for part in self.parts]
        claimed = {n for columns in found for n in columns.words}
        for n in sorted(pairing.converted & reach.keys() - claimed):
            pairing.fail("own", "an access to local memory stands for one to no part", n, pairing.label[n])
        copies = set[int]()
        for columns in found:
            if not pairing.findings:
                modes = Modes(pairing, course, columns, reach)
                modes.run()
                copies |= modes.copies
        for n, view in enumerate(given.new.views):
            stray = pairing.label[n] == INSERTED and view.memory is not None and pairing.after[n]
            if stray and n not in copies and not pairing.findings:
                pairing.fail("own", "copies nothing of any part", n)

    def _columns(self, pairing: _Pairing, part: Part, values: Values, reach: dict[int, list[Range]]) -> Columns:
        """Return the columns of a part, with findings for accesses that are not to them."""
        columns = Columns(part, values)
        for n in sorted(pairing.converted & reach.keys()):
            old = pairing.old.views[pairing.label[n]]
            assert old.memory is not None
            if any(low < part.end and high + old.memory.size > part.first for low, high in reach[n]):
                fault = columns.add(n, old.memory, reach[n])
                if fault:
                    pairing.fail("own", fault, n, pairing.label[n])
        fault = columns.fault()
        if fault:
            pairing.fail("own", fault, 0)
        if pairing.findings:
            return columns
        for n in columns.words:
            fault = columns.judge(n, pairing.old.views[pairing.label[n]], pairing.new.views[n])
            if fault:
                pairing.fail("own", fault, n, pairing.label[n])
        return columns


class _Pairing(Pairing):
    """A pairing of kernels whose accesses may be to local memory in the new one. converted: these new words."""

    converted: set[int]

    def run(self) -> None:
        self.converted = set()
        super().run()

    def _compare(self, n: int, m: int) -> None:
        old, new = self.old.instrs[m], self.new.instrs[n]
        if self.same(new, m):
            return
        isa, was = set_of(old), self.old.views[m].memory
        if set_of(new) is isa and was is not None and plain_access(self.old.views[m], Space.SHARED):
            twin = isa.in_space(new, Space.SHARED) if plain_access(self.new.views[n], Space.LOCAL) else None
            base = None if was.base is None else was.base.index
            if twin is not None and self.same(isa.readdress(twin, base, was.offset), m):
                self.converted.add(n)
                return
        self.fail("instruction", "not the original's instruction", n, m)

    def _check_inserted(self) -> None:
        for n in self._inserted:
            view = self.new.views[n]
            if self.new.jump(n) or self.new.nops[n]:
                continue
            copies = (plain_access(view, Space.SHARED) or plain_access(view, Space.LOCAL)) and view.guard is None
            if view.memory is not None:
                if not copies or view.memory.size not in _SIZES:
                    self.fail("inserted", "an inserted word is no copy", n)
            elif not view.pure or self.new.faulting[n] or view.control != Flow.NONE or view.guard is not None:
                self.fail("inserted", "an inserted word has an effect, or may fault", n)
            if any(ref.file != REG or not self.untouched.issuperset(ref.registers()) for ref in view.defs):
                self.fail("inserted", "an inserted word writes what the original uses", n)
