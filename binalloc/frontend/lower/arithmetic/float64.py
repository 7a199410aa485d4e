"""PTX arithmetic on f64 that Loom has as one operation: add, sub, mul, fma, mad, min, max, neg, abs, copysign, testp.

neg, abs and copysign work on the sign bit of the high word, NaN included. Division, reciprocals and roots are in
`quotient`, the .approx functions in `approx`.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.float32 import AND, FLOAT_ROUNDINGS, PICK, SIGN, XOR, class_test, tested
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.context.modifiers import RND
from binalloc.frontend.ptx import ast


def pair_dest(ctx: Context, operand: ast.Operand) -> int:
    """The destination's first unit; a fresh pair where the result is discarded."""
    if isinstance(operand, ast.Discard):
        return ctx.b.new(2)
    return ctx.dest(operand, "f64")


def _rounding(ctx: Context, *, needed: bool) -> str:
    """Loom's text of the rounding; `needed`: the instruction must name it."""
    m = ctx.modifiers()
    rnd = m.take(*FLOAT_ROUNDINGS)
    m.type("f64")
    m.done()
    if needed and not rnd:
        ctx.unsupported("old-rounding", f"{ctx.ins.op}.f64 needs a rounding", expected=".rn, .rz, .rm or .rp")
    return RND[rnd] if rnd else ""


def plain_type(ctx: Context) -> None:
    """No suffix but the type."""
    m = ctx.modifiers()
    m.type("f64")
    m.done()


def _two(name: str, negate_b: int) -> Handler:
    """add, sub, mul."""

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        rnd = _rounding(ctx, needed=False)
        d, a, b = ctx.operands(3)
        ctx.b.emit(name, rd=pair_dest(ctx, d), a=ctx.double(a), b=ctx.double(b), rnd=rnd, negb=negate_b)

    return handler


def _fma(ctx: Context, ins: ast.Instruction) -> None:
    """fma and mad: with a rounding, mad is fma (PTX ISA 9.7.3.7)."""
    rnd = _rounding(ctx, needed=True)
    d, a, b, c = ctx.operands(4)
    ctx.b.emit("DFMA", rd=pair_dest(ctx, d), a=ctx.double(a), b=ctx.double(b), c=ctx.double(c), rnd=rnd)


def _minmax(name: str) -> Handler:
    def handler(ctx: Context, ins: ast.Instruction) -> None:
        plain_type(ctx)
        d, a, b = ctx.operands(3)
        larger = int(name == "max")
        ctx.b.emit("DMNMX", rd=pair_dest(ctx, d), a=ctx.double(a), b=ctx.double(b), ps0=PT, ps0n=larger)

    return handler


def _sign(name: str) -> Handler:
    """neg, abs: the low word is copied, the high word changed."""
    lut, mask = (XOR, SIGN) if name == "neg" else (AND, SIGN - 1)

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        plain_type(ctx)
        d, a = ctx.operands(2)
        low, high = ctx.wide(a, "f64")
        target = pair_dest(ctx, d)
        ctx.b.move(target, low)
        ctx.b.emit("LOP3", rd=target + 1, a=ctx.b.unit(high), b=Imm(mask), c=RZ, lut=lut)

    return handler


def _copysign(ctx: Context, ins: ast.Instruction) -> None:
    """d = the sign of a on the value of b."""
    plain_type(ctx)
    d, a, b = ctx.operands(3)
    _, sign = ctx.wide(a, "f64")
    low, high = ctx.wide(b, "f64")
    target, joined = pair_dest(ctx, d), ctx.b.new()
    ctx.b.emit("LOP3", rd=joined, a=ctx.b.unit(sign), b=Imm(SIGN), c=ctx.b.unit(high), lut=PICK)
    ctx.b.move(target, low)
    ctx.b.move(target + 1, joined)


def _testp(ctx: Context, ins: ast.Instruction) -> None:
    m = ctx.modifiers()
    asked = tested(m)
    m.type("f64")
    m.done()
    d, a = ctx.operands(2)
    low, high = ctx.wide(a, "f64")
    word, magnitude, some = ctx.b.unit(high), ctx.b.new(), ctx.b.new()
    # a low word that is not zero counts as the lowest bit of the high word: no class boundary lies between
    ctx.b.emit("IMNMX", rd=some, a=ctx.b.unit(low), b=Imm(1), ps0=PT, u32=1)
    ctx.b.emit("LOP3", rd=magnitude, a=word, b=Imm(SIGN - 1), c=some, lut=0xEA)
    class_test(ctx, ctx.dest_predicate(d), magnitude, asked, 0x7FF00000)


HANDLERS: dict[str, Handler] = {
    "add": _two("DADD", 0),
    "sub": _two("DADD", 1),
    "mul": _two("DMUL", 0),
    "fma": _fma,
    "mad": _fma,
    "neg": _sign("neg"),
    "abs": _sign("abs"),
    "min": _minmax("min"),
    "max": _minmax("max"),
    "copysign": _copysign,
    "testp": _testp,
}
