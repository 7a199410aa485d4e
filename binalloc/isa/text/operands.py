"""Operands of one assembly statement are matched here to the signature of its operation, by the table.

Needs the operands as written; leaves an `Instr` whose fields obey `rules.py`, and fix-ups. These are for labels and
functions of addresses that are not known yet.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from binalloc.isa.instruction import Control, Instr, default_fields
from binalloc.isa.kinds import Flow
from binalloc.isa.table.fields import FIELDS, RZ
from binalloc.isa.table.opcodes import (
    FORM_C_CONST,
    FORM_C_IMM,
    FORM_CONST,
    FORM_IMM,
    FORM_NAMES,
    FORM_REG,
    OPCODES,
    SPECIAL_REGISTERS,
    Operand,
    OpSpec,
)
from binalloc.isa.table.rules import check_fields, shape_of
from binalloc.isa.text.arguments import Arg, float_bits, parse_float
from binalloc.isa.text.line import LineCursor

_SPECIAL = {name: i for i, name in enumerate(SPECIAL_REGISTERS)}  # numbers of special registers by name
UNIFORM = "uniform"  # written as a reconvergence point: all lanes agree on the branch


class Fixup(NamedTuple):
    """A fix-up is a field to be filled in later with the place of a label or a function."""

    kind: str  #: target or reconv of a label, call or address of a function
    name: str
    column: int  #: for messages


@cache
def _template(code: int, form: int, flags: int) -> dict[str, int]:
    """Return all fields of a shape at their defaults."""
    return default_fields(OPCODES[code], {"form": form, "limm": flags & 1, "cimm": flags >> 1})


class OperandBuilder:
    """A builder collects the fields of one instruction while its operands are matched."""

    __slots__ = ("columns", "f", "fixups", "form", "line", "op")

    def __init__(self, op: OpSpec, modifiers: tuple[tuple[str, int], ...], line: LineCursor) -> None:
        self.op = op
        self.line = line
        self.f = dict(modifiers)
        self.form = FORM_REG
        self.fixups: list[Fixup] = []
        self.columns: dict[str, int] = {}

    def match(self, args: list[Arg], column: int) -> None:
        """Assign `args` to the signature in order. Optional operands are left out where the kind does not fit. column:
        for a missing operand."""
        i = 0
        for o in self.op.operands:
            arg = args[i] if i < len(args) else None
            kind = _KINDS.get(o.kind, _NUMBER)
            if arg is not None and arg.kind in kind.accepts and not (o.kind == "pd" and arg.neg):
                kind.read(self, o, arg)
                i += 1
            elif not o.optional:
                self._missing(o, arg, column)
        if i < len(args):
            self.line.place.fail(
                args[i].column, f"{self.op.name}: operand does not fit here", found=self._text(args[i]),
                expected=f"{self.op.name} {signature_text(self.op)}",
            )  # fmt: skip

    def _missing(self, o: Operand, arg: Arg | None, column: int) -> None:
        """Raise MalformedInput for an operand that is missing, or of another kind."""
        what = _KINDS.get(o.kind, _NUMBER).expected
        if not what:
            what = f"an immediate {FIELDS[o.name].minimum}..{FIELDS[o.name].maximum} ({o.name})"
        self.line.place.fail(
            column if arg is None else arg.column,
            f"{self.op.name}: missing operand" if arg is None else f"{self.op.name}: wrong kind of operand",
            found="nothing" if arg is None else self._text(arg),
            expected=what,
            remedy=f"The operands are {self.op.name} {signature_text(self.op)}.",
        )

    def _text(self, arg: Arg) -> str:
        """Return the first token of an operand as written, for messages."""
        for tok in self.line.toks:
            if tok.column == arg.column:
                return repr(tok.text) + {"mem": " (an address)", "const": " (a constant)"}.get(arg.kind, "")
        return repr(arg.value)

    def put(self, field: str, value: int, column: int) -> None:
        """Set a field, whose value must fit. column: of the operand."""
        self.f[field] = value
        self.columns[field] = column
        spec = FIELDS[field]
        if not spec.minimum <= value <= spec.maximum:
            self.line.place.fail(
                column, f"{self.op.name}: {field} out of range", found=value,
                expected=f"{spec.minimum}..{spec.maximum}",
            )  # fmt: skip

    # -- one argument into the fields of its operand

    def number(self, o: Operand, arg: Arg) -> None:
        self.put(o.name, int(arg.value), arg.column)

    def register(self, o: Operand, arg: Arg) -> None:
        self.number(o, arg)
        self.marks(o, arg)

    def source_predicate(self, o: Operand, arg: Arg) -> None:
        self.number(o, arg)
        self.f[o.name + "n"] = int(arg.neg)

    def memory(self, o: Operand, arg: Arg) -> None:
        self.base(arg)
        self.put("moff", int(arg.value), arg.column)

    def constant_memory(self, o: Operand, arg: Arg) -> None:
        self.base(arg)
        self.constant(arg)

    def target(self, o: Operand, arg: Arg) -> None:
        control = "call" if self.op.control == Flow.CALL else "target"
        self.fixups.append(Fixup(control, str(arg.value), arg.column))

    def reconvergence(self, o: Operand, arg: Arg) -> None:
        if arg.value != UNIFORM:
            self.f["diverges"] = 1
        self.fixups.append(Fixup("reconv", str(arg.value), arg.column))

    def special_register(self, o: Operand, arg: Arg) -> None:
        if arg.value not in _SPECIAL:
            self.line.place.fail(
                arg.column, "unknown special register", found=repr(arg.value), expected=", ".join(_SPECIAL)
            )
        self.put("sreg", _SPECIAL[str(arg.value)], arg.column)

    def lane(self, o: Operand, arg: Arg) -> None:
        """Set the lane or clamp of a shuffle: a flag says whether it is an immediate."""
        flag, imm, reg = ("limm", "laneimm", "rb") if o.kind == "lane" else ("cimm", "clampimm", "rc")
        self.f[flag] = int(arg.kind == "imm")
        self.put(imm if arg.kind == "imm" else reg, int(arg.value), arg.column)
        self.marks(o, arg)

    def base(self, arg: Arg) -> None:
        self.put("ra", arg.base if arg.base >= 0 else RZ, arg.column)

    def marks(self, o: Operand, arg: Arg) -> None:
        """Set the neg and abs bits, where the operand has them."""
        for given, has, prefix, what in (
            (arg.neg, o.neg, "neg", "negated"),
            (arg.absolute, o.abs, "abs", "taken as an absolute value"),
        ):
            if has:
                self.f[prefix + o.name[-1]] = int(given)
            elif given:
                self.line.place.fail(
                    arg.column, f"{self.op.name}: this operand cannot be {what}", found=self._text(arg),
                    expected="the plain operand",
                )  # fmt: skip

    def flexible(self, o: Operand, arg: Arg) -> None:
        """Set operand b or c: its kind decides the form of the instruction."""
        is_b = o.kind == "b"
        if arg.kind == "reg":
            # Where C is an immediate, B is in field rc; `finish` moves it there.
            self.put("rb" if is_b else "rc", int(arg.value), arg.column)
            self.marks(o, arg)
            return
        if arg.kind == "const":
            form = FORM_CONST if is_b else FORM_C_CONST
        else:
            form = FORM_IMM if is_b else FORM_C_IMM
        if self.form != FORM_REG:
            self.line.place.fail(
                arg.column, f"{self.op.name}: only one operand can be an immediate or a constant",
                found=self._text(arg), expected="a register", remedy="Put one of them into a register with MOV.",
            )  # fmt: skip
        if form not in self.op.forms:
            self.line.place.fail(
                arg.column, f"{self.op.name} has no form with {FORM_NAMES[form]}", found=self._text(arg),
                expected="a register", remedy="Put it into a register with MOV.",
            )  # fmt: skip
        self.form = form
        if arg.kind == "const":
            if arg.base >= 0 and arg.base != RZ:
                self.line.place.fail(
                    arg.column, "only LDC takes a register in a constant's address", found=self._text(arg),
                    expected="c[bank][offset]",
                )  # fmt: skip
            self.constant(arg)
            self.marks(o, arg)
        else:
            self.put("imm", self.immediate(o, arg), arg.column)

    def immediate(self, o: Operand, arg: Arg) -> int:
        """Return the 32 bits of an immediate."""
        if arg.kind == "func":
            self.fixups.append(Fixup("address", str(arg.value), arg.column))
            return 0
        if arg.kind == "float":
            value, suffix = parse_float(str(arg.value))
            double = o.width(self.f) == 2
            if double and suffix == "f":
                self.line.place.fail(
                    arg.column, f"{self.op.name}: a single-precision immediate for a double operand",
                    found=arg.value, expected="a double, such as 1.5d",
                )  # fmt: skip
            return float_bits(value, double or suffix == "d", self.line.place, arg.column)
        number = int(arg.value)
        if not -(1 << 31) <= number < 1 << 32:
            self.line.place.fail(
                arg.column, f"{self.op.name}: immediate out of range", found=number,
                expected=f"{-(1 << 31)}..{(1 << 32) - 1}",
            )  # fmt: skip
        return number & 0xFFFFFFFF

    def constant(self, arg: Arg) -> None:
        self.put("cbank", arg.bank, arg.column)
        self.put("coff", int(arg.value), arg.column)

    def finish(self, guard: tuple[int, bool], ctrl: Control) -> Instr:
        """Return the instruction."""
        f = self.f
        if self.form in (FORM_C_IMM, FORM_C_CONST):
            f["rc"] = f.pop("rb")
        flags = f.get("limm", 0) | f.get("cimm", 0) << 1
        merged = {**_template(self.op.code, self.form, flags), **f}
        problem = check_fields(shape_of(self.op, merged), merged)
        if problem:
            column = self.columns.get(problem.field, self.line.toks[0].column)
            self.line.place.fail(
                column, problem.message, found=problem.found, expected=problem.expected, remedy=problem.remedy
            )
        return Instr(self.op, merged, guard[0], guard[1], ctrl)


class _Kind(NamedTuple):
    """Operands of one kind are read in this way."""

    accepts: tuple[str, ...]  #: kinds of argument that fit
    expected: str  #: for messages where none fits
    read: Callable[[OperandBuilder, Operand, Arg], None]  #: the method that takes the argument
    shown: str = ""  #: text in signatures; without one, the operand's name


_FLEXIBLE = (
    ("reg", "imm", "float", "const", "func"),
    "a register, immediate or c[bank][offset]",
    OperandBuilder.flexible,
)
_LANE = _Kind(("reg", "imm"), "a register or immediate", OperandBuilder.lane)
_NUMBER = _Kind(("imm",), "", OperandBuilder.number)
_KINDS = {
    "rd": _Kind(("reg",), "a register", OperandBuilder.register, "Rd"),
    "reg": _Kind(("reg",), "a register", OperandBuilder.register),
    "pd": _Kind(("pred",), "a predicate", OperandBuilder.number),
    "ps": _Kind(("pred",), "a predicate, possibly negated", OperandBuilder.source_predicate),
    "b": _Kind(*_FLEXIBLE, "B"),
    "c": _Kind(*_FLEXIBLE, "C"),
    "mem64": _Kind(("mem",), "an address [Rpair+offset]", OperandBuilder.memory, "[Ra+offset]"),
    "mem32": _Kind(("mem",), "an address [R+offset]", OperandBuilder.memory, "[Ra+offset]"),
    "cmem": _Kind(("const",), "c[bank][R+offset]", OperandBuilder.constant_memory, "c[bank][Ra+offset]"),
    "target": _Kind(("name",), "a label", OperandBuilder.target, "label"),
    "reconv": _Kind(("name",), "a label, or `uniform`", OperandBuilder.reconvergence, "label|uniform"),
    "sreg": _Kind(("name",), "a special register SR_...", OperandBuilder.special_register, "SR"),
    "lane": _LANE,
    "clamp": _LANE,
}
"""By the kind of an operand; operands of all other kinds are numbers."""


def signature_text(op: OpSpec) -> str:
    """Return the operands of `op` in words, for messages and ISA.md: `Rd, [Pd0], Ra, B`."""
    out = []
    for o in op.operands:
        name = o.name.capitalize() if o.kind in ("reg", "pd", "ps") else o.name
        text = _KINDS.get(o.kind, _NUMBER).shown or name
        out.append(f"[{text}]" if o.optional else text)
    return ", ".join(out)
