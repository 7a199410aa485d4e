"""This module lowers integer products: mul, mad, madc, mul24, mad24, dp2a, dp4a (PTX ISA 9.7.1, 9.7.2)."""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.integer import INTEGERS, carried_sum, saturated_sum
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

_DOUBLED = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}  # type of the factors -> type of a .wide product


def _product(ctx: Context, ins: Instruction) -> None:
    """Lower mul, mad and madc."""
    m = ctx.modifiers()
    part = m.take("lo", "hi", "wide")
    saturate, writes = m.has("sat"), m.has("cc")
    type_ = m.type(*INTEGERS)
    m.done()
    added, reads = ins.op != "mul", ins.op == "madc"
    carries = reads or writes
    if not part:
        m.refuse(f"{ins.op} without a part of the product", expected=f"{ins.op}.lo, .hi or .wide")
    if part == "wide" and type_ not in _DOUBLED:
        m.refuse(f"{ins.op}.wide has no type .{type_}", expected="a type of 16 or 32 bits")
    if saturate and (ins.op != "mad" or part != "hi" or type_ != "s32" or carries):
        m.refuse(f"{ins.op} with .sat", expected="mad.hi.sat.s32")
    if carries and (not added or part == "wide" or TYPE_BYTES[type_] == 2):
        m.refuse(f"{ins.op}.{part}.{type_} has no carry", expected="mad or madc of .lo or .hi with 32 or 64 bits")
    d, x, y, *rest = ctx.operands(4 if added else 3)
    result = _DOUBLED[type_] if part == "wide" else type_
    large = TYPE_BYTES[result] == 8
    rd = wide.target(ctx, d, result) if large else ctx.dest(d, result)
    c: wide.Wide = wide.ZERO
    if rest:
        c = ctx.wide(rest[0], result) if large else (ctx.word(rest[0], result), RZ)
    if saturate:
        high = ctx.b.new()
        _multiply(ctx, high, x, y, wide.ZERO, part, type_)
        saturated_sum(ctx, rd, high, c[0], 0)
    elif carries:
        product = ctx.b.new(2 if large else 1)
        _multiply(ctx, product, x, y, wide.ZERO, part, type_)
        a = wide.value(product) if large else (product, RZ)
        carried_sum(ctx, rd, a, c, TYPE_BYTES[type_], reads=reads, writes=writes)
    else:
        _multiply(ctx, rd, x, y, c, part, type_)


def _multiply(ctx: Context, rd: int, x: ast.Operand, y: ast.Operand, c: wide.Wide, part: str, type_: str) -> None:
    """Emit rd = part of x*y, plus c."""
    signed, size = type_[0] == "s", TYPE_BYTES[type_]
    if size == 8:
        a, b = ctx.wide(x, type_), ctx.wide(y, type_)
        if part == "lo":
            wide.multiply_low(ctx, rd, a, b, c)
        elif c == wide.ZERO:
            wide.multiply_high(ctx, rd, a, b, signed=signed)
        else:
            high = ctx.b.new(2)
            wide.multiply_high(ctx, high, a, b, signed=signed)
            wide.add(ctx, rd, wide.value(high), c)
    elif size == 4:
        first, second = ctx.word(x, type_), ctx.word(y, type_)
        if part == "wide":
            ctx.b.emit("IMAD.WIDE", rd=rd, a=first, b=second, c=ctx.b.pair(*c), u32=int(not signed))
        elif part == "hi":
            ctx.b.emit("IMAD.HI", rd=rd, a=first, b=second, c=c[0], u32=int(not signed))
        else:
            ctx.b.emit("IMAD", rd=rd, a=first, b=second, c=c[0])
    elif part == "lo":
        ctx.b.emit("IMAD", rd=rd, a=ctx.word(x, type_), b=ctx.word(y, type_), c=c[0])
    elif part == "wide":
        ctx.b.emit("IMAD", rd=rd, a=ctx.extended(x, type_), b=ctx.extended(y, type_), c=c[0])
    else:
        product = ctx.b.new()
        ctx.b.emit("IMAD", rd=product, a=ctx.extended(x, type_), b=ctx.extended(y, type_), c=RZ)
        high = rd if c[0] == RZ else ctx.b.new()
        ctx.b.emit("SHF", rd=high, a=RZ, b=Imm(16), c=product, dir="R", hi=1)
        if high != rd:
            ctx.b.emit("IADD3", rd=rd, a=high, b=c[0], c=RZ)


# ---------------------------------------------------------------------------------------------------------------------
# 24-bit products.


def _product24(ctx: Context, ins: Instruction) -> None:
    """Lower mul24 and mad24: .lo gives the lower 32 of the product's 48 bits, .hi the upper 32."""
    m = ctx.modifiers()
    part = m.take("lo", "hi")
    saturate = m.has("sat")
    type_ = m.type("u32", "s32")
    m.done()
    added = ins.op == "mad24"
    if not part:
        m.refuse(f"{ins.op} without a part of the product", expected=f"{ins.op}.lo or .hi")
    if saturate and not (added and part == "hi" and type_ == "s32"):
        m.refuse(f"{ins.op} with .sat", expected="mad24.hi.sat.s32")
    d, x, y, *rest = ctx.operands(4 if added else 3)
    a, b = (_low24(ctx, ctx.word(o, type_), type_) for o in (x, y))
    c = ctx.word(rest[0], type_) if rest else RZ
    rd = ctx.dest(d, type_)
    if part == "lo":
        ctx.b.emit("IMAD", rd=rd, a=a, b=b, c=c)
        return
    product = ctx.b.new(2)
    ctx.b.emit("IMAD.WIDE", rd=product, a=a, b=b, c=RZ, u32=int(type_ == "u32"))
    high = ctx.b.new() if rest else rd
    ctx.b.emit("SHF", rd=high, a=product, b=Imm(16), c=product + 1, dir="R")
    if saturate:
        saturated_sum(ctx, rd, high, c, 0)
    elif rest:
        ctx.b.emit("IADD3", rd=rd, a=high, b=c, c=RZ)


def _low24(ctx: Context, source: Source, type_: str) -> int:
    """Return the low 24 bits, extended by the type."""
    unit, out = ctx.b.unit(source), ctx.b.new()
    if type_ == "u32":
        ctx.b.emit("LOP3", rd=out, a=unit, b=Imm(0xFFFFFF), c=RZ, lut=0xC0)
        return out
    shifted = ctx.b.new()
    ctx.b.emit("SHF", rd=shifted, a=unit, b=Imm(8), c=RZ, dir="L")
    ctx.b.emit("SHF", rd=out, a=RZ, b=Imm(8), c=shifted, dir="R", stype="S32", hi=1)
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Sums over the bytes of a word.


def _part(ctx: Context, unit: int, selector: int) -> int:
    out = ctx.b.new()
    ctx.b.emit("PRMT", rd=out, a=unit, b=Imm(selector), c=RZ)
    return out


def byte(ctx: Context, unit: int, k: int, *, signed: bool) -> int:
    """Return byte k of a word, extended to 32 bits."""
    return _part(ctx, unit, 0x8880 + 0x1111 * k if signed else 0x4440 + k)


def half(ctx: Context, unit: int, k: int, *, signed: bool) -> int:
    """Return half k of a word, extended to 32 bits."""
    low = 2 * k
    top = (8 | (low + 1)) * 0x1100 if signed else 0x4400
    return _part(ctx, unit, top | (low + 1) << 4 | low)


def _dot(ctx: Context, ins: Instruction) -> None:
    """Lower dp4a and dp2a."""
    m = ctx.modifiers()
    upper = 0
    if ins.op == "dp2a":
        which = m.take("lo", "hi")
        if not which:
            m.refuse("dp2a without .lo or .hi", expected="dp2a.lo or dp2a.hi")
        upper = 2 if which == "hi" else 0
    first, second = m.type("u32", "s32"), m.type("u32", "s32")
    m.done()
    d, x, y, z = ctx.operands(4)
    result = "s32" if "s32" in (first, second) else "u32"
    a, b = ctx.b.unit(ctx.word(x, first)), ctx.b.unit(ctx.word(y, second))
    total, count = ctx.word(z, result), 4 if ins.op == "dp4a" else 2
    piece = byte if count == 4 else half
    for k in range(count):
        one = piece(ctx, a, k, signed=first == "s32")
        other = byte(ctx, b, k + upper, signed=second == "s32")
        out = ctx.b.new() if k < count - 1 else ctx.dest(d, result)
        ctx.b.emit("IMAD", rd=out, a=one, b=other, c=total)
        total = out


PURE: dict[str, Handler] = {
    "mul": _product,
    "mad": _product,
    "madc": _product,
    "mul24": _product24,
    "mad24": _product24,
    "dp4a": _dot,
    "dp2a": _dot,
}
