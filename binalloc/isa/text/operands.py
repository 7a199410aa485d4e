"""Operands of one assembly statement: from tokens to the fields of an instruction, by the table's signatures.

Needs the tokens of a line and the names in scope; leaves an `Instr` whose fields obey `rules.py`, and the fix-ups for
labels and functions whose addresses are not known yet.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from binalloc.isa.instruction import DEFAULT_CONTROL, Control, Instr, default_fields
from binalloc.isa.table.fields import FIELDS, PT
from binalloc.isa.table.mnemonics import BadMnemonic, parse_mnemonic
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
from binalloc.isa.text.lexer import Place, Token

REGISTERS = {f"R{i}": i for i in range(255)} | {"RZ": 255}
PREDICATES = {f"P{i}": i for i in range(7)} | {"PT": PT}
_SPECIAL = {name: i for i, name in enumerate(SPECIAL_REGISTERS)}
UNIFORM = "uniform"


class Arg(NamedTuple):
    """One operand as written. kind: reg, pred, imm, float, const, mem, name, func.

    value: number (immediate, offset) or name; base: register of an address or -1; bank: constant bank; neg, absolute:
    source modifiers (neg is ! on predicates).
    """

    kind: str
    value: int | float | str
    column: int
    neg: bool = False
    absolute: bool = False
    base: int = -1
    bank: int = 0


class Fixup(NamedTuple):
    """A field to be filled in later with the place of a label (target, reconv) or a function (call, address)."""

    kind: str
    name: str
    column: int


class Line:
    """A cursor over the tokens of one line, with the names in scope."""

    __slots__ = ("at", "names", "place", "toks")

    def __init__(self, toks: list[Token], place: Place, names: Mapping[str, int]) -> None:
        self.toks = toks
        self.place = place
        self.names = names
        self.at = 0

    @property
    def tok(self) -> Token:
        return self.toks[self.at]

    def take(self, text: str) -> bool:
        """Step over punctuation `text` if it stands here."""
        tok = self.toks[self.at]
        if tok.kind == "punct" and tok.text == text:
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            self.unexpected(repr(text))

    def unexpected(self, expected: str, remedy: str | None = None) -> None:
        tok = self.tok
        found = "the end of the line" if tok.kind == "end" else repr(tok.text)
        self.place.fail(tok.column, "syntax error", found=found, expected=expected, remedy=remedy)

    def done(self) -> bool:
        return self.toks[self.at].kind == "end"

    def finish(self) -> None:
        if not self.done():
            self.unexpected("the end of the line")

    def integer(self) -> int:
        """An expression of integers and names: + - * and parentheses."""
        base, value = self.address(registers=False)
        assert base < 0
        return value

    def address(self, registers: bool = True) -> tuple[int, int]:
        """A sum with at most one register: (register or -1, number)."""
        base, total, sign = -1, 0, 1
        if self.take("-"):
            sign = -1
        while True:
            tok = self.tok
            if registers and tok.kind == "name" and (text := tok.text.removesuffix(".64")) in REGISTERS:
                if base >= 0 or sign < 0:
                    self.place.fail(
                        tok.column, "an address has at most one register, added", found=tok.text,
                        expected="a number or name", remedy="Compute the sum with IADD3 first.",
                    )  # fmt: skip
                base = REGISTERS[text]
                self.at += 1
            else:
                total += sign * self._product()
            if self.take("+"):
                sign = 1
            elif self.take("-"):
                sign = -1
            else:
                return base, total

    def _product(self) -> int:
        column = self.tok.column
        value = self._factor()
        while self.take("*"):
            value *= self._factor()
            if abs(value) >> 512:  # no field is a quarter as wide; without a bound, powers of powers would never end
                self.place.fail(column, "product out of range", found="more than 512 bits")
        return value

    def _factor(self) -> int:
        tok = self.tok
        if tok.kind == "int":
            self.at += 1
            return number(tok.text)
        if tok.kind == "name":
            if tok.text not in self.names:
                self.place.fail(
                    tok.column, "undefined name", found=repr(tok.text), expected="a number or a name declared above",
                    remedy="Declare it with .equ, .shared, .param or in a .const bank before its first use.",
                )  # fmt: skip
            self.at += 1
            return self.names[tok.text]
        if self.take("-"):
            return -self._factor()
        if self.take("("):
            value = self.integer()
            self.need(")")
            return value
        self.unexpected("a number or a name")
        raise AssertionError


def number(text: str) -> int:
    """The value of an integer token."""
    return int(text) if text.isdigit() else int(text, 0)


def parse_float(text: str) -> tuple[float, str]:
    """Value and suffix (f, d or "") of a float token."""
    suffix = text[-1] if text[-1] in "fd" else ""
    return float(text.removesuffix(suffix) if suffix else text), suffix


def float_bits(value: float, wide: bool, place: Place, column: int) -> int:
    """The 32-bit immediate for a float: f32 bits, or the high word of an f64 whose low word must be zero."""
    if math.isinf(value):
        place.fail(column, "float out of range", remedy="Write infinity as its bits, 0x7f800000 (f64: 0x7ff00000).")
    if wide:
        bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
        if bits & 0xFFFFFFFF:
            place.fail(
                column, "this double does not fit an immediate, which holds its high word only", found=repr(value),
                expected="a double whose low 32 bits are zero", remedy="Put it into a .const bank with .double.",
            )  # fmt: skip
        return bits >> 32
    try:
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        bits = 0x7F800000
    if bits & 0x7FFFFFFF == 0x7F800000:
        place.fail(column, "float out of range", found=repr(value), expected="at most 3.4028235e38")
    return bits


def parse_arg(line: Line) -> Arg:
    """One operand at the cursor."""
    tok = line.toks[line.at]
    kind, text, column = tok
    if kind == "name":
        if text in REGISTERS:
            line.at += 1
            return Arg("reg", REGISTERS[text], column)
        if text in PREDICATES:
            line.at += 1
            return Arg("pred", PREDICATES[text], column)
        if text == "c" and line.toks[line.at + 1].text == "[":
            return _constant(line, column)
        if text not in line.names:
            line.at += 1
            return Arg("name", text, column)
    elif kind == "dot":
        line.at += 1
        return Arg("name", text, column)
    elif kind == "float":
        line.at += 1
        return Arg("float", text, column)
    elif kind == "punct":
        if text == "[":
            line.at += 1
            base, offset = line.address()
            line.need("]")
            return Arg("mem", offset, column, base=base)
        if text == "!":
            line.at += 1
            pred = line.tok
            if pred.text not in PREDICATES:
                line.unexpected("a predicate P0..P6 or PT")
            line.at += 1
            return Arg("pred", PREDICATES[pred.text], column, neg=True)
        if text == "&":
            line.at += 1
            name = line.tok
            if name.kind != "name":
                line.unexpected("a function's name")
            line.at += 1
            return Arg("func", name.text, column)
        if text in "-|":
            signed = _signed(line, column)
            if signed is not None:
                return signed
    return Arg("imm", line.integer(), column)


def _constant(line: Line, column: int) -> Arg:
    line.at += 1
    line.need("[")
    bank = line.integer()
    line.need("]")
    line.need("[")
    base, offset = line.address()
    line.need("]")
    return Arg("const", offset, column, base=base, bank=bank)


def _signed(line: Line, column: int) -> Arg | None:
    """-R1, |R1|, -|R1|, the same of constants, and negated floats; None for a negated integer."""
    start = line.at
    neg = line.take("-")
    absolute = line.take("|")
    tok = line.tok
    if tok.kind == "float" and neg and not absolute:
        line.at += 1
        return Arg("float", "-" + tok.text, column)
    if tok.text in REGISTERS:
        line.at += 1
        arg = Arg("reg", REGISTERS[tok.text], column, neg, absolute)
    elif tok.text == "c" and line.toks[line.at + 1].text == "[":
        arg = _constant(line, column)._replace(neg=neg, absolute=absolute)
    elif absolute:
        line.unexpected("a register or c[bank][offset]", "An immediate can be written with its absolute value.")
        raise AssertionError
    else:
        line.at = start
        return None
    if absolute:
        line.need("|")
    return arg


def parse_label(line: Line) -> Arg:
    """A label or function at the cursor: any name, a register's too, because these have a name space of their own."""
    tok = line.tok
    if tok.kind not in ("name", "dot"):
        return parse_arg(line)
    line.at += 1
    return Arg("name", tok.text, tok.column)


def parse_args(line: Line, one: Callable[[Line], Arg] = parse_arg) -> list[Arg]:
    """The comma-separated operands, each read by `one`, up to the control code or the end of the line."""
    tok = line.tok
    if tok.kind == "end" or tok.text == "{":
        return []
    out = [one(line)]
    while line.take(","):
        out.append(one(line))
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Matching operands to a signature

_EXPECT = {
    "rd": "a register", "reg": "a register", "pd": "a predicate", "ps": "a predicate, possibly negated",
    "b": "a register, immediate or c[bank][offset]", "c": "a register, immediate or c[bank][offset]",
    "mem64": "an address [Rpair+offset]", "mem32": "an address [R+offset]", "cmem": "c[bank][R+offset]",
    "target": "a label", "reconv": "a label, or `uniform`", "sreg": "a special register SR_...",
    "lane": "a register or immediate", "clamp": "a register or immediate",
}  # fmt: skip
_ACCEPT: dict[str, tuple[str, ...]] = {
    "rd": ("reg",), "reg": ("reg",), "pd": ("pred",), "ps": ("pred",),
    "b": ("reg", "imm", "float", "const", "func"), "c": ("reg", "imm", "float", "const", "func"),
    "mem64": ("mem",), "mem32": ("mem",), "cmem": ("const",), "target": ("name",), "reconv": ("name",),
    "sreg": ("name",), "lane": ("reg", "imm"), "clamp": ("reg", "imm"),
}  # fmt: skip


@cache
def _template(code: int, form: int, flags: int) -> dict[str, int]:
    return default_fields(OPCODES[code], {"form": form, "limm": flags & 1, "cimm": flags >> 1})


class Builder:
    """Collects the fields of one instruction while its operands are matched."""

    __slots__ = ("columns", "f", "fixups", "form", "line", "op")

    def __init__(self, op: OpSpec, modifiers: tuple[tuple[str, int], ...], line: Line) -> None:
        self.op = op
        self.line = line
        self.f = dict(modifiers)
        self.form = FORM_REG
        self.fixups: list[Fixup] = []
        self.columns: dict[str, int] = {}

    def match(self, args: list[Arg], column: int) -> None:
        """Assign `args` to the signature in order; optional operands are left out where the kind does not fit."""
        i = 0
        for o in self.op.operands:
            arg = args[i] if i < len(args) else None
            if arg is not None and arg.kind in _ACCEPT.get(o.kind, ("imm",)) and not (o.kind == "pd" and arg.neg):
                self.assign(o, arg)
                i += 1
            elif not o.optional:
                self._missing(o, arg, column)
        if i < len(args):
            self.line.place.fail(
                args[i].column, f"{self.op.name}: operand does not fit here", found=self._text(args[i]),
                expected=f"{self.op.name} {signature_text(self.op)}",
            )  # fmt: skip

    def _missing(self, o: Operand, arg: Arg | None, column: int) -> None:
        lo = FIELDS[o.name] if o.kind not in _EXPECT else None
        what = _EXPECT[o.kind] if lo is None else f"an immediate {lo.minimum}..{lo.maximum} ({o.name})"
        self.line.place.fail(
            column if arg is None else arg.column,
            f"{self.op.name}: missing operand" if arg is None else f"{self.op.name}: wrong kind of operand",
            found="nothing" if arg is None else self._text(arg),
            expected=what,
            remedy=f"The operands are {self.op.name} {signature_text(self.op)}.",
        )

    def _text(self, arg: Arg) -> str:
        """The operand as written, as far as its first tokens tell."""
        for tok in self.line.toks:
            if tok.column == arg.column:
                return repr(tok.text) + {"mem": " (an address)", "const": " (a constant)"}.get(arg.kind, "")
        return repr(arg.value)

    def put(self, field: str, value: int, column: int) -> None:
        self.f[field] = value
        self.columns[field] = column
        spec = FIELDS[field]
        if not spec.minimum <= value <= spec.maximum:
            self.line.place.fail(
                column, f"{self.op.name}: {field} out of range", found=value,
                expected=f"{spec.minimum}..{spec.maximum}",
            )  # fmt: skip

    def assign(self, o: Operand, arg: Arg) -> None:
        kind = o.kind
        if kind == "rd" or kind == "reg":
            self.put(o.name, int(arg.value), arg.column)
            self.marks(o, arg)
        elif kind == "pd":
            self.put(o.name, int(arg.value), arg.column)
        elif kind == "ps":
            self.put(o.name, int(arg.value), arg.column)
            self.f[o.name + "n"] = int(arg.neg)
        elif kind in ("b", "c"):
            self.flexible(o, arg)
        elif kind in ("mem64", "mem32"):
            self.put("ra", arg.base if arg.base >= 0 else 255, arg.column)
            self.put("moff", int(arg.value), arg.column)
        elif kind == "cmem":
            self.put("ra", arg.base if arg.base >= 0 else 255, arg.column)
            self.constant(arg)
        elif kind == "target":
            control = "call" if self.op.control == "call" else "target"
            self.fixups.append(Fixup(control, str(arg.value), arg.column))
        elif kind == "reconv":
            if arg.value != UNIFORM:
                self.f["diverges"] = 1
            self.fixups.append(Fixup("reconv", str(arg.value), arg.column))
        elif kind == "sreg":
            if arg.value not in _SPECIAL:
                self.line.place.fail(
                    arg.column, "unknown special register", found=repr(arg.value), expected=", ".join(_SPECIAL)
                )
            self.put("sreg", _SPECIAL[str(arg.value)], arg.column)
        elif kind in ("lane", "clamp"):
            flag, imm, reg = ("limm", "laneimm", "rb") if kind == "lane" else ("cimm", "clampimm", "rc")
            self.f[flag] = int(arg.kind == "imm")
            self.put(imm if arg.kind == "imm" else reg, int(arg.value), arg.column)
            self.marks(o, arg)
        else:
            self.put(o.name, int(arg.value), arg.column)

    def marks(self, o: Operand, arg: Arg) -> None:
        """The neg and abs bits, where the operand has them."""
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
        """Operand b or c: its kind decides the form of the instruction."""
        is_b = o.kind == "b"
        if arg.kind == "reg":
            # Where C is an immediate, B stands in field rc; `finish` moves it there.
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
            if arg.base >= 0 and arg.base != 255:
                self.line.place.fail(
                    arg.column, "only LDC takes a register in a constant's address", found=self._text(arg),
                    expected="c[bank][offset]",
                )  # fmt: skip
            self.constant(arg)
            self.marks(o, arg)
        else:
            self.put("imm", self.immediate(o, arg), arg.column)

    def immediate(self, o: Operand, arg: Arg) -> int:
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


def signature_text(op: OpSpec) -> str:
    """The operands of `op` in words, for messages and ISA.md: `Rd, [Pd0], Ra, B`."""
    out = []
    for o in op.operands:
        text = {
            "rd": "Rd", "b": "B", "c": "C", "mem64": "[Ra+offset]", "mem32": "[Ra+offset]",
            "cmem": "c[bank][Ra+offset]", "target": "label", "reconv": "label|uniform", "sreg": "SR",
        }.get(o.kind, o.name.capitalize() if o.kind in ("reg", "pd", "ps") else o.name)  # fmt: skip
        out.append(f"[{text}]" if o.optional else text)
    return ", ".join(out)


def parse_control(line: Line) -> Control:
    """The control code `{stall:4 yield wr:0 rd:1 wait:03 reuse:0}` at the cursor; the default without one."""
    if not line.take("{"):
        return DEFAULT_CONTROL
    seen: dict[str, int] = {}
    while not line.take("}"):
        key = line.tok
        if key.text not in ("stall", "yield", "wr", "rd", "wait", "reuse") or key.text in seen:
            line.unexpected("stall:N, yield, wr:N, rd:N, wait:DIGITS, reuse:DIGITS (each once) or '}'")
        line.at += 1
        if key.text == "yield":
            seen["yield"] = 0
            continue
        line.need(":")
        value = line.tok
        if value.kind != "int" or not value.text.isdigit():
            line.unexpected("a number" if key.text in ("stall", "wr", "rd") else "digits")
        line.at += 1
        top = {"stall": 15, "wr": 5, "rd": 5, "wait": 5, "reuse": 3}[key.text]
        parts = [int(value.text)] if key.text in ("stall", "wr", "rd") else [int(d) for d in value.text]
        if max(parts) > top or len(set(parts)) != len(parts):
            line.place.fail(value.column, f"{key.text} out of range", found=value.text, expected=f"0..{top}, each once")
        seen[key.text] = parts[0] if key.text in ("stall", "wr", "rd") else sum(1 << d for d in parts)
    return Control(
        seen.get("stall", 1), seen.get("yield", 1), seen.get("wr", 7), seen.get("rd", 7), seen.get("wait", 0),
        seen.get("reuse", 0),
    )  # fmt: skip


def parse_instruction(line: Line) -> tuple[Instr, list[Fixup]]:
    """The instruction at the cursor, to the end of the line."""
    guard = (PT, False)
    if line.take("@"):
        neg = line.take("!")
        tok = line.tok
        if tok.text not in PREDICATES:
            line.unexpected("a guard predicate P0..P6 or PT")
        line.at += 1
        guard = (PREDICATES[tok.text], neg)
    tok = line.tok
    if tok.kind != "name":
        line.unexpected("an instruction")
    line.at += 1
    try:
        op, modifiers = parse_mnemonic(tok.text)
    except BadMnemonic as bad:
        line.place.fail(tok.column, bad.message, found=bad.found, expected=bad.expected, remedy=bad.remedy or None)
    builder = Builder(op, modifiers, line)
    builder.match(parse_args(line, parse_label if "target" in op.operand else parse_arg), line.tok.column)
    ctrl = parse_control(line)
    line.finish()
    return builder.finish(guard, ctrl), builder.fixups
