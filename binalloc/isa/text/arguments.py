"""Operands of assembly are parsed here as they are written: registers, numbers, addresses, constants and names. No
operation is considered yet."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from binalloc.isa.text.lexer import AssemblyPlace
from binalloc.isa.text.line import PREDICATES, REGISTERS, LineCursor


class Arg(NamedTuple):
    """An argument is one operand as written."""

    kind: str  #: reg, pred, imm, float, const, mem, name or func
    value: int | float | str  #: number (immediate, offset), text of a float, or name
    column: int
    neg: bool = False  #: negated; of a predicate: `!`
    absolute: bool = False  #: with `|` around it
    base: int = -1  #: register of an address, or -1
    bank: int = 0  #: constant bank


def parse_float(text: str) -> tuple[float, str]:
    """Return value and suffix (f, d or "") of a float token."""
    suffix = text[-1] if text[-1] in "fd" else ""
    return float(text.removesuffix(suffix) if suffix else text), suffix


def float_bits(value: float, wide: bool, place: AssemblyPlace, column: int) -> int:
    """Return the 32-bit immediate for a float: f32 bits, or (wide) the high word of an f64, whose low word must be
    zero."""
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


def parse_arg(line: LineCursor) -> Arg:
    """Return the operand at the cursor."""
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


def _constant(line: LineCursor, column: int) -> Arg:
    """Return the operand `c[bank][address]` at the cursor."""
    line.at += 1
    line.need("[")
    bank = line.integer()
    line.need("]")
    line.need("[")
    base, offset = line.address()
    line.need("]")
    return Arg("const", offset, column, base=base, bank=bank)


def _signed(line: LineCursor, column: int) -> Arg | None:
    """Return -R1, |R1|, -|R1|, the same of constants, or a negated float; None for a negated integer."""
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


def parse_label(line: LineCursor) -> Arg:
    """Return the label or function at the cursor. Any name is one, a register's too, because labels and functions have
    name spaces of their own."""
    tok = line.tok
    if tok.kind not in ("name", "dot"):
        return parse_arg(line)
    line.at += 1
    return Arg("name", tok.text, tok.column)


def parse_args(line: LineCursor, one: Callable[[LineCursor], Arg] = parse_arg) -> list[Arg]:
    """Return the comma-separated operands, each read by `one`, up to the control code or the end of the line."""
    tok = line.tok
    if tok.kind == "end" or tok.text == "{":
        return []
    out = [one(line)]
    while line.take(","):
        out.append(one(line))
    return out
