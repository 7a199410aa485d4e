"""What is particular to f32 in PTX arithmetic: .ftz, .sat and .NaN. See `floats`.

Under .ftz neg and abs flush a subnormal to the zero of its sign.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.floats import AND, PICK, SIGN, Float
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.ptx import ast

ONE = 0x3F800000
CANONICAL_NAN = 0x7FFFFFFF
INFINITY = 0x7F800000


def flushed(ctx: Context, source: Source) -> Source:
    """`source` as .ftz reads it: subnormals as the zero of their sign."""
    if isinstance(source, Imm):
        return source if source.bits & INFINITY else Imm(source.bits & SIGN)
    target = ctx.b.new()
    ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), ftz=1)
    return target


class Single(Float):
    """f32: one unit."""

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
        """min, max. With .NaN the result is the canonical NaN where either operand is one."""
        m = ctx.modifiers()
        ftz, nan = int(m.has("ftz")), m.has("NaN")
        m.type("f32")
        m.done()
        d, a, b = ctx.operands(3)
        first, second, target = ctx.b.unit(ctx.word(a, "f32")), ctx.word(b, "f32"), ctx.dest(d, "f32")
        if not nan:
            ctx.b.emit("FMNMX", rd=target, a=first, b=second, ps0=PT, ps0n=larger, ftz=ftz)
            return
        value, unordered = ctx.b.new(), ctx.b.predicate()
        ctx.b.emit("FSETP", pd0=unordered, a=first, b=second, fcmp="NAN")
        ctx.b.emit("FMNMX", rd=value, a=first, b=second, ps0=PT, ps0n=larger, ftz=ftz)
        ctx.b.emit("SEL", rd=target, a=value, b=Imm(CANONICAL_NAN), ps0=unordered, ps0n=1)

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
