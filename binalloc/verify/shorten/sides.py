"""A kernel before and after a step: what both proofs need of them, and what no step may change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from binalloc.call_stack import with_room
from binalloc.collection import no_collection
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.banks import bank_bytes
from binalloc.isa.interface.view import View, successors
from binalloc.isa.kinds import CALLS, Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.graph import TooTangled
from binalloc.verify.multiplex.kernels.pairing import used_registers
from binalloc.verify.multiplex.walk import TooLong
from binalloc.verify.reading.code import FunctionCode, Malformed, text
from binalloc.verify.report import CheckReport, Finding
from binalloc.verify.resources import check_accesses, check_data
from binalloc.verify.surroundings import check_surroundings

INSERTED = -1
_MAY_DIFFER = ("registers", "machine")  # of the kernel's record


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


def ways(view: View) -> tuple[bool, bool]:
    """Return whether a word lets threads go on behind it, and whether it jumps within the kernel."""
    falls, jumps = successors(view.control, view.guard is not None)
    return falls, jumps and view.control == Flow.BRANCH


@with_room
@no_collection()
def proven(original: Module, made: Module, kernel: str, prove: Callable[[Sides], None]) -> CheckReport:
    """Return the report of a proof. prove: adds findings to the sides. Raises nothing."""
    findings: dict[Finding, None] = {}
    try:
        sides = _sides(original, made, kernel, findings)
        if sides is not None and not findings:
            prove(sides)
            findings.update(sides.findings)
    except (TooLong, TooTangled):
        findings[Finding("limit", "the kernel is too long, or has a loop with two entries", kernel)] = None
    except Malformed as e:
        findings[Finding("malformed", str(e), kernel)] = None
    except Exception as e:
        message = f"the checker could not make sense of the binaries: {type(e).__name__}: {e}"
        findings[Finding("internal", message, kernel)] = None
    errors = sorted(findings, key=lambda e: (e.function, e.index, e.kind, e.message, e.operand, e.found))
    return CheckReport(not errors, errors[: CheckReport.LIMIT], [], {})


def _sides(original: Module, made: Module, kernel: str, findings: dict[Finding, None]) -> Sides | None:
    """Return the two sides, and note what changed beside the kernel's code."""
    old, new = (_kernel(module, kernel) for module in (original, made))
    if old is None or new is None:
        findings[Finding("kernel", "the kernel is missing", kernel)] = None
        return None
    before = replace(old.info, **{name: getattr(new.info, name) for name in _MAY_DIFFER})
    if before != new.info or new.info.registers < old.info.registers or old.shared != new.shared:
        findings[Finding("resources", "the kernel's record changed", kernel)] = None
    if original.memory_model != made.memory_model:
        findings[Finding("resources", "the memory model changed", kernel)] = None
    for finding in (*check_data(original, made), *check_surroundings(original, made, kernel)):
        findings[finding] = None
    index = new.origin.index if new.origin is not None and new.origin.function == old.name else None
    if index is None or len(index) != len(new.instrs) or not all(
        type(k) is int and INSERTED <= k < len(old.instrs) for k in index
    ):
        findings[Finding("map", "the instruction map does not fit the code", kernel)] = None
        return None
    codes = [
        FunctionCode(fn, bank_bytes(module.constants, fn.info.params), follow=False)
        for module, fn in ((original, old), (made, new))
    ]
    callees = [fn for fn in original.reached(old) if fn is not old]
    untouched = set(range(set_of(original).limits.registers)) - used_registers([old, *callees])
    for finding in check_accesses([codes[1]], new.info):
        findings[finding] = None
    sides = Sides(kernel, codes[0], codes[1], index, untouched)
    _same_calls(original, made, sides)
    findings.update(sides.findings)
    return sides


def _same_calls(original: Module, made: Module, sides: Sides) -> None:
    """Check that calls enter the same functions. (Functions that no other kernel calls are compared here.)"""
    for n, m in enumerate(sides.label):
        if m == INSERTED or sides.new.views[n].control not in CALLS:
            continue
        one, two = original.callee(sides.old.fn, m), made.callee(sides.new.fn, n)
        if one is None or two is None or not _equal(original, made, one, two, set()):
            sides.fail("call", "a call enters another function", n, m)


def _equal(original: Module, made: Module, one: Function, other: Function, seen: set[str]) -> bool:
    """Return whether two called functions have the same code and record, and call the same."""
    if one.name in seen:
        return one.name == other.name
    seen.add(one.name)
    if len(one.instrs) != len(other.instrs) or one.name != other.name or one.shared != other.shared:
        return False
    if replace(one.info, machine="") != replace(other.info, machine=""):
        return False
    for n, (a, b) in enumerate(zip(one.instrs, other.instrs, strict=True)):
        if set_of(a) is not set_of(b) or not set_of(a).alike(a, b):
            return False
        if a.control == Flow.CALL:
            two = original.callee(one, n), made.callee(other, n)
            if two[0] is None or two[1] is None or not _equal(original, made, two[0], two[1], seen):
                return False
    return True


def _kernel(module: Module, name: str) -> Function | None:
    found = [fn for fn in module.functions if fn.name == name]
    return found[0] if len(found) == 1 and found[0].info.is_kernel else None
