"""This module reads the operands of a virtual instruction as sources, and makes the instruction anew from other
sources.

`read` returns the operands a, b and c, whatever form holds them. `swapped` exchanges a and b. `rebuild` finds a form
for new operands, and returns None where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.emitter import BankConst, Imm, Source, signed, template
from binalloc.frontend.ir import RZ
from binalloc.isa.instruction import Instr
from binalloc.isa.table.opcodes import FORM_C_CONST, FORM_C_IMM, FORM_CONST, FORM_IMM, FORM_REG, OpSpec

_OPERAND_FIELDS = frozenset(("ra", "rb", "rc", "imm", "coff", "cbank", "form"))
"""Fields that hold operands a, b and c. `rebuild` does not copy them."""
MARKS = ("nega", "negb", "negc", "absa", "absb", "absc")  # fields of negation and absolute value


@dataclass(slots=True)
class Operands:
    """An operation has up to three operands; None stands for one that it does not have."""

    a: int | None
    b: Source | None
    c: Source | None
    marks: frozenset[str]  #: negation and absolute bits that are set


def read(instr: Instr) -> Operands:
    """Return the operands of an operation. It must have an operand B."""
    f, op = instr.f, instr.op
    form = f.get("form", FORM_REG)
    b: Source
    c: Source | None = None
    if form == FORM_IMM:
        b = Imm(f["imm"])
    elif form == FORM_CONST:
        b = BankConst(f["cbank"], f["coff"])
    else:
        b = f["rc"] if form in (FORM_C_IMM, FORM_C_CONST) else f["rb"]
    if "c" in op.operand:
        c = (
            Imm(f["imm"])
            if form == FORM_C_IMM
            else BankConst(f["cbank"], f["coff"])
            if form == FORM_C_CONST
            else f["rc"]
        )
    return Operands(f["ra"] if "ra" in op.operand else None, b, c, frozenset(m for m in MARKS if f.get(m)))


def swapped(op: OpSpec, operands: Operands) -> Operands:
    """Return the operands with a and b exchanged, and their marks, too. b must be a register."""
    assert isinstance(operands.b, int)
    marks = set(operands.marks)
    if op.operand["ra"].neg or op.operand["ra"].abs:
        for one, other in (("nega", "negb"), ("absa", "absb")):
            has = one in marks, other in marks
            marks -= {one, other}
            marks |= {other} if has[0] else set()
            marks |= {one} if has[1] else set()
    return Operands(operands.b, operands.a, operands.c, frozenset(marks))


def form_of(op: OpSpec, b: Source | None, c: Source | None) -> int | None:
    """Return the form for these sources, or None."""
    if b is not None and not isinstance(b, int):
        if c is not None and not isinstance(c, int):
            return None
        form = FORM_IMM if isinstance(b, Imm) else FORM_CONST
    elif c is not None and not isinstance(c, int):
        form = FORM_C_IMM if isinstance(c, Imm) else FORM_C_CONST
    else:
        form = FORM_REG
    return form if form in op.forms else None


def rebuild(instr: Instr, operands: Operands, **fields: int) -> Instr | None:
    """Return `instr` with other operands and fields, or None where no form holds them.

    The negation of an immediate is applied to its value.
    """
    op = instr.op
    b, c = operands.b, operands.c
    if op.name == "IADD3":  # -0 gives a carry, +0 does not: RZ has a sign bit, an immediate zero has not
        b = RZ if b == Imm(0) else b
        c = RZ if c == Imm(0) else c
    form = form_of(op, b, c)
    if form is None:
        return None
    f = dict(template(op, form))
    old = instr.f
    for key in f:
        if key in old and key not in _OPERAND_FIELDS and key not in MARKS:
            f[key] = old[key]
    f.update(fields)
    if operands.a is not None:
        f["ra"] = operands.a
    for name, source in (("b", b), ("c", c)):
        if source is None:
            continue
        negative, absolute = "neg" + name in operands.marks, "abs" + name in operands.marks
        if isinstance(source, Imm):
            f["imm"] = signed(op, source.bits, negative, absolute, bool(f.get("x")))
            continue
        if isinstance(source, BankConst):
            f["cbank"], f["coff"] = source.bank, source.offset
        elif name == "b":
            f["rc" if form in (FORM_C_IMM, FORM_C_CONST) else "rb"] = source
        else:
            f["rc"] = source
        for mark, present in (("neg" + name, negative), ("abs" + name, absolute)):
            if present:
                f[mark] = 1
    for mark in ("nega", "absa"):
        if mark in operands.marks:
            f[mark] = 1
    return Instr(op, f, instr.guard, instr.guard_neg, instr.ctrl)
