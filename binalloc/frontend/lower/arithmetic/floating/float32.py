"""This module adds the details of f32 to `floats`: .ftz, .sat and .NaN.

Under .ftz neg and abs flush a subnormal to the zero of its sign.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.floating.floats import AND, PICK, SIGN, XOR, FloatType
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.ptx import ast

ONE = 0x3F800000  # 1.0
CANONICAL_NAN = 0x7FFFFFFF  # the NaN that PTX operations return
INFINITY = 0x7F800000  # infinity; also the exponent bits


def flushed(ctx: Context, source: Source) -> Source:
    """Return `source` as .ftz reads it: subnormals as the zero of their sign."""
    if isinstance(source, Imm):
        return source if source.bits & INFINITY else Imm(source.bits & SIGN)
    target = ctx.b.new()
    ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), ftz=1)
    return target


class Single(FloatType):
    """Type f32 takes one unit."""

    type = "f32"
    letter = "F"
    flags = ("ftz", "sat")
    infinity = INFINITY
    lowest = 1 << 23

    def source(self, ctx: Context, operand: ast.Operand) -> Source:
        return ctx.word(operand, "f32")

    def dest(self, ctx: Context, operand: ast.Operand) -> int:
        return ctx.dest(operand, "f32")

    def minmax(self, ctx: Context, larger: int) -> None:
        """Lower min or max of two values, or of three.

        With .NaN the result is the canonical NaN where an operand is NaN. .abs takes magnitudes. .xorsign gives the
        result the exclusive or of the signs, unless it is NaN.
        """
        m = ctx.modifiers()
        ftz, nan, xorsign, magnitude = int(m.has("ftz")), m.has("NaN"), m.has("xorsign"), int(m.has("abs"))
        m.type("f32")
        m.done()
        d, *operands = ctx.operands(3, 4)
        if (xorsign and (not magnitude or len(operands) == 3)) or (magnitude and len(operands) == 2 and not xorsign):
            m.refuse(".xorsign.abs is of two values, .abs alone of three", expected=".xorsign.abs, or three values")
        first, *others = [ctx.b.unit(ctx.word(operand, "f32")) for operand in operands]
        target = ctx.dest(d, "f32")
        value = first
        for k, second in enumerate(others):
            out = target if k == len(others) - 1 and not (nan or xorsign) else ctx.b.new()
            marks = {"absa": magnitude if k == 0 else 0, "absb": magnitude}
            ctx.b.emit("FMNMX", rd=out, a=value, b=second, guard=None, ps0=PT, ps0n=larger, ftz=ftz, **marks)
            value = out
        if nan:
            out = ctx.b.new() if xorsign else target
            ctx.b.emit("SEL", rd=out, a=value, b=Imm(CANONICAL_NAN), ps0=self._unordered(ctx, [first, *others]), ps0n=1)
            value = out
        if xorsign:
            signs, signed, none = ctx.b.new(), ctx.b.new(), ctx.b.predicate()
            ctx.b.emit("LOP3", rd=signs, a=first, b=others[0], c=RZ, lut=XOR)
            ctx.b.emit("LOP3", rd=signed, a=signs, b=Imm(SIGN), c=value, lut=PICK)
            ctx.b.emit("FSETP", pd0=none, a=value, b=value, fcmp="NAN")
            ctx.b.emit("SEL", rd=target, a=value, b=signed, ps0=none)

    @staticmethod
    def _unordered(ctx: Context, units: list[int]) -> int:
        """Return a predicate: one of two or three values is NaN."""
        unordered = ctx.b.predicate()
        ctx.b.emit("FSETP", pd0=unordered, a=units[0], b=units[1], fcmp="NAN")
        if len(units) == 3:
            either = ctx.b.predicate()
            ctx.b.emit("FSETP", pd0=either, a=units[2], b=units[2], fcmp="NAN", ps0=unordered, bop="OR")
            unordered = either
        return unordered

    def sign(self, ctx: Context, name: str, lut: int, mask: int) -> None:
        m = ctx.modifiers()
        ftz = m.has("ftz")
        m.type("f32")
        m.done()
        d, a = ctx.operands(2)
        source, target = ctx.b.unit(ctx.word(a, "f32")), ctx.dest(d, "f32")
        if ftz:
            marks = {"nega": int(name == "neg"), "absa": int(name == "abs")}
            ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), guard=None, ftz=1, **marks)
        else:
            ctx.b.emit("LOP3", rd=target, a=source, b=Imm(mask), c=RZ, lut=lut)

    def copysign(self, ctx: Context) -> None:
        m = ctx.modifiers()
        m.type("f32")
        m.done()
        d, a, b = ctx.operands(3)
        sign, value = ctx.b.unit(ctx.word(a, "f32")), ctx.b.unit(ctx.word(b, "f32"))
        ctx.b.emit("LOP3", rd=ctx.dest(d, "f32"), a=sign, b=Imm(SIGN), c=value, lut=PICK)

    def magnitude(self, ctx: Context, operand: ast.Operand) -> int:
        out = ctx.b.new()
        ctx.b.emit("LOP3", rd=out, a=ctx.b.unit(ctx.word(operand, "f32")), b=Imm(SIGN - 1), c=RZ, lut=AND)
        return out


HANDLERS = Single().handlers()
