"""This module adds the details of f64 to `floats`: a value has two units, and the high one has the sign."""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.floating.floats import PICK, SIGN, FloatType
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.ptx import ast


def pair_dest(ctx: Context, operand: ast.Operand) -> int:
    """Return the destination's first unit; a fresh pair where the result is discarded."""
    if isinstance(operand, ast.Discard):
        return ctx.b.new(2)
    return ctx.dest(operand, "f64")


class Double(FloatType):
    """Type f64 takes a pair of units."""

    type = "f64"
    letter = "D"
    flags = ()
    infinity = 0x7FF00000
    lowest = 1 << 20

    def source(self, ctx: Context, operand: ast.Operand) -> Source:
        return ctx.double(operand)

    def dest(self, ctx: Context, operand: ast.Operand) -> int:
        return pair_dest(ctx, operand)

    def minmax(self, ctx: Context, larger: int) -> None:
        _plain_type(ctx)
        d, a, b = ctx.operands(3)
        ctx.b.emit("DMNMX", rd=pair_dest(ctx, d), a=ctx.double(a), b=ctx.double(b), ps0=PT, ps0n=larger)

    def sign(self, ctx: Context, name: str, lut: int, mask: int) -> None:
        """Lower neg or abs: copy the low word, change the high word."""
        _plain_type(ctx)
        d, a = ctx.operands(2)
        low, high = ctx.wide(a, "f64")
        target = pair_dest(ctx, d)
        ctx.b.move(target, low)
        ctx.b.emit("LOP3", rd=target + 1, a=ctx.b.unit(high), b=Imm(mask), c=RZ, lut=lut)

    def copysign(self, ctx: Context) -> None:
        _plain_type(ctx)
        d, a, b = ctx.operands(3)
        _, sign = ctx.wide(a, "f64")
        low, high = ctx.wide(b, "f64")
        target, joined = pair_dest(ctx, d), ctx.b.new()
        ctx.b.emit("LOP3", rd=joined, a=ctx.b.unit(sign), b=Imm(SIGN), c=ctx.b.unit(high), lut=PICK)
        ctx.b.move(target, low)
        ctx.b.move(target + 1, joined)

    def magnitude(self, ctx: Context, operand: ast.Operand) -> int:
        low, high = ctx.wide(operand, "f64")
        word, out, some = ctx.b.unit(high), ctx.b.new(), ctx.b.new()
        ctx.b.emit("IMNMX", rd=some, a=ctx.b.unit(low), b=Imm(1), ps0=PT, u32=1)
        ctx.b.emit("LOP3", rd=out, a=word, b=Imm(SIGN - 1), c=some, lut=0xEA)
        return out


def _plain_type(ctx: Context) -> None:
    """Take the type. Refuses any other suffix."""
    m = ctx.modifiers()
    m.type("f64")
    m.done()


HANDLERS = Double().handlers()
