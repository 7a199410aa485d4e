"""Two functions are paired here, of which the second has inserted words, and copies in place of reads of the block.

Needs a function of both modules; leaves a `Paired`, with findings for whatever else differs. All words of the original
are there, in order. Inserted words lie in *runs*, each directly in front of a word, and every way to this word begins
with the run: what a run computes of special registers holds at its word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import REG
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.block_order.fitting import IN_GRID
from binalloc.verify.multiplex.words import Word
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import Finding

INSERTED = -1


@dataclass(frozen=True, slots=True)
class Read:
    """A read is a word of the original that asks for the block's place along an axis of the grid."""

    word: int  #: of the original
    axis: int  #: of the grid
    source: int | None  #: register of which the new word is a copy; None where it asks as the original does


@dataclass
class Paired:
    """A pair of functions. untouched: registers that the original's call graph never uses."""

    old: FunctionCode
    new: FunctionCode
    untouched: set[int]
    limits: SetLimits
    runs: dict[int, list[Word]] = field(default_factory=dict)  #: by the original's word the words in front of it
    reads: list[Read] = field(default_factory=list)
    findings: dict[Finding, None] = field(default_factory=dict)

    def fail(self, kind: str, message: str, n: int, m: int = -1, expected: str = "", found: str = "") -> None:
        old, word = self.old.name if m >= 0 else "", text(self.new.fn, n)
        self.findings[
            Finding(kind, message, self.new.name, n, old, m, word, expected=expected, found=found)
        ] = None  # fmt: skip

    def run(self, original: Module, made: Module) -> None:
        """Pair all words."""
        places = self._places()
        if places is None:
            self.fail("map", "not all words of the original are there in order, with the others in front of them", -1)
            return
        begins = [0, *(n + 1 for n in places)]
        for m, n in enumerate(places):
            self._word(m, n, begins)
            self.runs[m] = [Word(self.new.instrs[k]) for k in range(begins[m], n) if not self.new.nops[k]]
            for k in range(begins[m], n):
                self._inserted(k, m)
            if self.old.views[m].control in CALLS:
                callees = original.callee(self.old.fn, m), made.callee(self.new.fn, n)
                if callees[0] is None or callees[1] is None or callees[0].name != callees[1].name:
                    self.fail("call", "calls another function", n, m)
            said = self.new.fn.touches.get(n)
            if said not in (None, self.old.fn.touches.get(m)):
                self.fail("symbols", "its address is said to come from other variables than the original's", n, m)
        if any(self.new.fn.touches.get(n) is not None for n in set(range(len(self.new))) - set(places)):
            self.fail("symbols", "an inserted word is said to touch variables", -1)

    @property
    def written(self) -> dict[int, set[int]]:
        """Return the places that each run writes, by the original's word behind it."""
        return {m: {at for word in words for at in word.defs} for m, words in self.runs.items()}

    def _places(self) -> list[int] | None:
        """Return where the original's words are; None where not all are there in order. The map is not trusted: what it
        says is compared word by word."""
        old, new = self.old.fn, self.new.fn
        if len(old.instrs) == len(new.instrs):
            return list(range(len(old.instrs)))
        index = new.origin.index if new.origin is not None and new.origin.function == old.name else []
        places = [n for n, m in enumerate(index) if m != INSERTED]
        fits = len(index) == len(new.instrs) and [index[n] for n in places] == list(range(len(old.instrs)))
        return places if fits and places and places[-1] == len(index) - 1 else None

    def _word(self, m: int, n: int, begins: list[int]) -> None:
        """Compare a word with the original's. begins: by word of the original where its run begins."""
        one, other = self.old.instrs[m], self.new.instrs[n]
        isa = set_of(one)
        axis = self.limits.places.get(self.old.special[m] or "", -1) - IN_GRID
        if axis >= 0 and self.old.views[m].defs:
            self._read(m, n, axis)
            return
        same = set_of(other) is isa
        if same and isa.links(one):
            links = {name: begins[m + 1 + distance] - n - 1 for name, distance in isa.links(one).items()
                     if 0 <= m + 1 + distance < len(begins)}  # fmt: skip
            same = isa.links(other) == links
            other = isa.relink(other, isa.links(one)) if isa.links(other) else other
        if not same or not isa.alike(one, other):
            self.fail("instruction", "not the original's instruction", n, m, text(self.old.fn, m), text(self.new.fn, n))

    def _read(self, m: int, n: int, axis: int) -> None:
        """Note a read of the block's place."""
        one, other = self.old.instrs[m], self.new.instrs[n]
        target = self.old.views[m].defs[0]
        if target.units != 1 or len(self.old.views[m].defs) != 1:
            self.fail("not proven", "a read of more than the block's place along one axis", n, m)
            return
        if set_of(other) is set_of(one) and set_of(one).alike(one, other):
            self.reads.append(Read(m, axis, None))
            return
        copied = self.new.copies[n]
        if copied is None or copied[0] != target.index \
                or self.new.views[n].guard != self.old.views[m].guard:  # fmt: skip
            self.fail("instruction", "neither the original's read of the block's place nor a copy in its stead", n, m,
                      text(self.old.fn, m), text(self.new.fn, n))  # fmt: skip
            return
        self.reads.append(Read(m, axis, copied[1]))

    def _inserted(self, n: int, m: int) -> None:
        """Check that an inserted word does nothing but write registers of its own."""
        view = self.new.views[n]
        if self.new.nops[n]:
            return
        harmless = view.pure and not self.new.faulting[n] and not view.convergent and view.control == Flow.NONE
        if not harmless or view.guard is not None:
            self.fail("inserted", "an inserted word has an effect, may fault, or has a guard", n, m)
        if any(ref.file != REG or not self.untouched.issuperset(ref.registers()) for ref in view.defs):
            self.fail("inserted", "an inserted word writes a place of the original", n, m)


def functions_of(module: Module, kernel: Function) -> dict[str, Function]:
    """Return the kernel and the functions that it calls, by name."""
    return {fn.name: fn for fn in module.reached(kernel)}
