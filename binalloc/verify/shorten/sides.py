"""A kernel before and after a step: what the proofs of steps need of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.depth import pushes
from binalloc.verify.multiplex.kernels.pairing import INSERTED as INSERTED
from binalloc.verify.multiplex.kernels.proof import Given, Proof
from binalloc.verify.multiplex.living import Called
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import CheckReport, Finding


@dataclass
class Sides:
    """Sides are a kernel before a step (old) and after it (new).

    label: by new word the old one that it stands for, or `INSERTED`; it is not trusted. untouched: registers that
    nothing used before.
    """

    kernel: str
    old: FunctionCode
    new: FunctionCode
    label: list[int]
    untouched: set[int]
    called: Called  #: what the functions do that it calls
    findings: dict[Finding, None] = field(default_factory=dict)

    def fail(self, kind: str, message: str, n: int = -1, m: int = -1) -> None:
        """Note a finding at new word `n` and old word `m`."""
        new = text(self.new.fn, n) if n >= 0 else ""
        old = text(self.old.fn, m) if m >= 0 else ""
        name = self.old.name if m >= 0 else ""
        self.findings[Finding(kind, message, self.kernel, n, name, m, new, expected=old, found=new)] = None

    def same(self, n: int, m: int) -> bool:
        """Return whether two words are the same but for where branches lead."""
        old, new = self.old.instrs[m], self.new.instrs[n]
        isa = set_of(old)
        if set_of(new) is not isa:
            return False
        if isa.links(new) and new.name == old.name:
            new = isa.relink(new, isa.links(old))
        return isa.alike(new, old)

    def require_no_deeper(self) -> None:
        """Check that no branch takes more entries of the reconvergence stack than the original's. Up to one call deep
        the stack suffices in any case (`depth.py`), and late exits have no calls behind them."""
        for n, m in enumerate(self.label):
            branches = m != INSERTED and self.old.views[m].control == self.new.views[n].control == Flow.BRANCH
            if branches and pushes(self.new, n) > pushes(self.old, m):
                self.fail("stack", "takes more entries of the reconvergence stack than the original", n, m)


def ways(view: View) -> tuple[bool, bool]:
    """Return whether a word lets threads go on behind it, and whether it jumps within the kernel."""
    falls, jumps = successors(view.control, view.guard is not None)
    return falls, jumps and view.control == Flow.BRANCH


def proven(original: Module, made: Module, kernel: str, prove: Callable[[Sides], None]) -> CheckReport:
    """Return the report of a proof. prove: adds findings to the sides. Raises nothing."""
    return _Step(original, made, kernel, prove).report()


class _Step(Proof):
    """The proof of one step."""

    may_differ = ("registers", "machine")

    def __init__(self, original: Module, made: Module, kernel: str, step: Callable[[Sides], None]) -> None:
        super().__init__(original, made, kernel)
        self.step = step

    def records(self, old: Function, new: Function) -> None:
        if old.shared != new.shared:
            self.fail("resources", "the shared variables changed")

    def prove(self, given: Given) -> None:
        if self.findings:
            return
        sides = Sides(self.kernel, given.old, given.new, given.index, given.untouched, given.called)
        self.step(sides)
        if any(instr.control in CALLS for fn in given.callees for instr in fn.instrs):
            sides.require_no_deeper()
        self.findings.update(sides.findings)
