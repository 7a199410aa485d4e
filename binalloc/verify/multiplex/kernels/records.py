"""The records of two kernels, and the functions that they call, are compared here. Code that no proof of this package
knows is refused.

Needs both modules; returns findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.kinds import Flow, Space
from binalloc.isa.sets.table import set_of
from binalloc.verify.multiplex.kernels.pairing import HELD, INSERTED, shares
from binalloc.verify.multiplex.waits import reads_others
from binalloc.verify.reading.code import FunctionCode, text
from binalloc.verify.report import Finding
from binalloc.verify.resources import check_data
from binalloc.verify.surroundings import check_surroundings

MOST_THREADS = 1024  # of a block, as on every GPU that Loom is modelled on
MOST_SHARED = 1 << 20
"""Most bytes of shared memory that are followed one by one; chosen by hand, above any machine's."""


def check_records(
    original: Module, made: Module, old: Function, new: Function, may_differ: Sequence[str]
) -> list[Finding]:
    """Check what must not change in the kernel's record, but for some of its fields, and in the rest of the modules."""
    found = []

    def fail(message: str, expected: str = "", now: str = "") -> None:
        found.append(Finding("resources", message, old.name, expected=expected, found=now))

    before = vars(replace(old.info, **{name: getattr(new.info, name) for name in may_differ}))
    for name, value in before.items():
        if value != getattr(new.info, name):
            fail(f"the kernel's {name} changed", str(value), str(getattr(new.info, name)))
    if new.info.registers < old.info.registers:
        fail("fewer registers", str(old.info.registers), str(new.info.registers))
    if original.memory_model != made.memory_model:
        fail("the memory model changed")
    return [*found, *check_data(original, made), *check_surroundings(original, made, old.name)]


def check_known(code: FunctionCode, limits: SetLimits) -> list[Finding]:
    """Refuse what no proof of this package knows. code: of the original."""
    found = []
    if code.fn.info.slot_bytes or code.fn.info.spill_local:
        found.append(Finding("not proven", "the kernel has slots, or spills", code.name))
    for n, (view, instr) in enumerate(zip(code.views, code.instrs, strict=True)):
        memory, barrier = view.memory, set_of(instr).barrier(instr)
        reason = ""
        if shares(view) and memory is not None and (memory.space == Space.GENERIC or memory.givers or memory.spill):
            reason = "a generic access, one by the whole warp, or a spill"
        elif code.special[n] in (limits.shared_size, limits.slot_base, limits.shared_window):
            reason = "code that depends on the place or size of shared memory"
        elif view.control in (*HELD, Flow.RELSSP, Flow.RETURN, Flow.CALL_INDIRECT):
            reason = "such an instruction in the original"
        elif barrier is not None and (view.guard is not None or not barrier.waits or barrier.number != 0
                                      or barrier.threads != 0):  # fmt: skip
            reason = "a barrier that is guarded, named, or not for the whole block"
        if reason:
            message, word = f"{reason} is not known to this proof", text(code.fn, n)
            found.append(Finding("not proven", message, "", -1, code.name, n, word))
    return found


def check_callees(
    original: Module, made: Module, old: Function, new: Function, callees: list[Function]
) -> list[Finding]:
    """Check that called functions are the same, and have nothing to do with other threads."""
    found = []

    def fail(kind: str, message: str) -> None:
        found.append(Finding(kind, message, old.name))

    theirs = {fn.name: fn for fn in made.reached(new) if fn is not new}
    if set(theirs) != {fn.name for fn in callees}:
        fail("call", "the new kernel calls other functions")
        return found
    for fn in callees:
        other = theirs[fn.name]
        if not equal(original, made, fn, other):
            fail("call", f"the function {fn.name} changed")
        for instr in fn.instrs:
            view = set_of(instr).view(instr)
            others = shares(view) or reads_others(view) or set_of(instr).barrier(instr) is not None
            if others or view.control in (Flow.EXIT, Flow.CALL_INDIRECT, Flow.RELSSP, *HELD):
                fail("not proven", f"{fn.name} has to do with other threads, or ends its own")
                break
    for n, m in enumerate(new.origin.index if new.origin is not None else ()):
        if m >= 0 and new.instrs[n].control == Flow.CALL:
            one, two = original.callee(old, m), made.callee(new, n)
            if one is None or two is None or one.name != two.name:
                fail("call", f"word {n} calls another function")
    return found


def block_fault(block: tuple[int, int, int], fn: Function) -> str:
    x, y, z = block
    if not 0 < x * y * z <= MOST_THREADS or min(block) < 1:
        return f"no block has {x} x {y} x {z} threads"
    if fn.info.block != (0, 0, 0) and fn.info.block != block:
        return f"the kernel requires blocks of {fn.info.block}"
    return ""


def kernel_of(module: Module, name: str) -> Function | None:
    found = [fn for fn in module.functions if fn.name == name]
    return found[0] if len(found) == 1 and found[0].info.is_kernel else None


def fits(index: list[int], words: int) -> bool:
    return all(type(k) is int and INSERTED <= k < words for k in index)


def equal(original: Module, made: Module, one: Function, other: Function) -> bool:
    """Return whether two called functions have the same code and record, and call the same."""
    if len(one.instrs) != len(other.instrs) or one.shared != other.shared:
        return False
    if vars(replace(one.info, machine="")) != vars(replace(other.info, machine="")):
        return False
    for n, (a, b) in enumerate(zip(one.instrs, other.instrs, strict=True)):
        if set_of(a) is not set_of(b) or not set_of(a).alike(a, b):
            return False
        if a.control == Flow.CALL:
            callees = original.callee(one, n), made.callee(other, n)
            if callees[0] is None or callees[1] is None or callees[0].name != callees[1].name:
                return False
    return True
