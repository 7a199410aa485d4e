"""PTX arithmetic on f32 that Loom has as one operation: add, sub, mul, fma, mad, min, max, neg, abs, copysign, testp.

neg, abs and copysign work on the sign bit, NaN included; under .ftz they flush a subnormal to the zero of its sign.
Division, reciprocals and roots are in `quotient`, the .approx functions in `approx`.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.context.modifiers import RND, Modifiers
from binalloc.frontend.ptx import ast

SIGN = 0x80000000
ONE = 0x3F800000
CANONICAL_NAN = 0x7FFFFFFF
XOR, AND, PICK = 0x3C, 0xC0, 0xE2
"""LOP3 tables: a ^ b, a & b, and b ? a : c bit by bit."""
FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp")


def flushed(ctx: Context, source: Source) -> Source:
    """`source` as .ftz reads it: subnormals as the zero of their sign."""
    if isinstance(source, Imm):
        return source if source.bits & 0x7F800000 else Imm(source.bits & SIGN)
    target = ctx.b.new()
    ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), ftz=1)
    return target


def _suffixes(ctx: Context, *, rounding: bool) -> tuple[str, int, int]:
    """(rnd, ftz, sat) of an arithmetic instruction; `rounding`: it must name its rounding."""
    m = ctx.modifiers()
    rnd = m.take(*FLOAT_ROUNDINGS)
    ftz, sat = int(m.has("ftz")), int(m.has("sat"))
    m.type("f32")
    m.done()
    if rounding and not rnd:
        ctx.unsupported("old-rounding", f"{ctx.ins.op}.f32 needs a rounding", expected=".rn, .rz, .rm or .rp")
    return RND[rnd] if rnd else "", ftz, sat


def _two(name: str, negate_b: int) -> Handler:
    """add, sub, mul."""

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        rnd, ftz, sat = _suffixes(ctx, rounding=False)
        d, a, b = ctx.operands(3)
        ctx.b.emit(
            name,
            rd=ctx.dest(d, "f32"),
            a=ctx.word(a, "f32"),
            b=ctx.word(b, "f32"),
            rnd=rnd,
            ftz=ftz,
            sat=sat,
            negb=negate_b,
        )

    return handler


def _fma(ctx: Context, ins: ast.Instruction) -> None:
    """fma and mad: with a rounding, mad is fma (PTX ISA 9.7.3.7)."""
    rnd, ftz, sat = _suffixes(ctx, rounding=True)
    d, a, b, c = ctx.operands(4)
    ctx.b.emit(
        "FFMA",
        rd=ctx.dest(d, "f32"),
        a=ctx.word(a, "f32"),
        b=ctx.word(b, "f32"),
        c=ctx.word(c, "f32"),
        rnd=rnd,
        ftz=ftz,
        sat=sat,
    )


def _sign(name: str) -> Handler:
    """neg, abs."""
    lut, mask = (XOR, SIGN) if name == "neg" else (AND, SIGN - 1)
    negative, magnitude = int(name == "neg"), int(name == "abs")

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        m = ctx.modifiers()
        ftz = m.has("ftz")
        m.type("f32")
        m.done()
        d, a = ctx.operands(2)
        source, target = ctx.b.unit(ctx.word(a, "f32")), ctx.dest(d, "f32")
        if ftz:
            ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), ftz=1, nega=negative, absa=magnitude)
        else:
            ctx.b.emit("LOP3", rd=target, a=source, b=Imm(mask), c=RZ, lut=lut)

    return handler


def _minmax(name: str) -> Handler:
    """min, max. With .NaN the result is the canonical NaN where either operand is one."""

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        m = ctx.modifiers()
        ftz, nan = int(m.has("ftz")), m.has("NaN")
        m.type("f32")
        m.done()
        d, a, b = ctx.operands(3)
        first, second, target = ctx.b.unit(ctx.word(a, "f32")), ctx.word(b, "f32"), ctx.dest(d, "f32")
        larger = int(name == "max")
        if not nan:
            ctx.b.emit("FMNMX", rd=target, a=first, b=second, ps0=PT, ps0n=larger, ftz=ftz)
            return
        value, unordered = ctx.b.new(), ctx.b.predicate()
        ctx.b.emit("FSETP", pd0=unordered, a=first, b=second, fcmp="NAN")
        ctx.b.emit("FMNMX", rd=value, a=first, b=second, ps0=PT, ps0n=larger, ftz=ftz)
        ctx.b.emit("SEL", rd=target, a=value, b=Imm(CANONICAL_NAN), ps0=unordered, ps0n=1)

    return handler


def _copysign(ctx: Context, ins: ast.Instruction) -> None:
    """d = the sign of a on the value of b."""
    m = ctx.modifiers()
    m.type("f32")
    m.done()
    d, a, b = ctx.operands(3)
    sign, value = ctx.b.unit(ctx.word(a, "f32")), ctx.b.unit(ctx.word(b, "f32"))
    ctx.b.emit("LOP3", rd=ctx.dest(d, "f32"), a=sign, b=Imm(SIGN), c=value, lut=PICK)


def tested(m: Modifiers) -> str:
    """What a testp asks."""
    asked = m.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    if not asked:
        m.refuse("testp asks nothing", expected=".finite, .infinite, .number, .notanumber, .normal or .subnormal")
    return asked


def class_test(ctx: Context, target: int, bits: int, asked: str, exponent: int) -> None:
    """Predicate `target` = whether the magnitude pattern (sign cleared) in unit `bits` is of the class asked.

    exponent: the pattern of infinity, 32 bits: f32, or the high word of an f64 whose low word is zero.
    """
    lowest = 1 << (23 if exponent == 0x7F800000 else 20)
    if asked == "normal":  # lowest <= bits < infinity, as one unsigned comparison
        shifted = ctx.b.new()
        ctx.b.emit("IADD3", rd=shifted, a=bits, b=Imm(-lowest & 0xFFFFFFFF), c=RZ)
        ctx.b.emit("ISETP", pd0=target, a=shifted, b=Imm(exponent - lowest), icmp="LT", u32cmp=1)
    elif asked == "subnormal":  # 1 <= bits < lowest
        shifted = ctx.b.new()
        ctx.b.emit("IADD3", rd=shifted, a=bits, b=Imm(0xFFFFFFFF), c=RZ)
        ctx.b.emit("ISETP", pd0=target, a=shifted, b=Imm(lowest - 1), icmp="LT", u32cmp=1)
    else:
        comparison = {"finite": "LT", "infinite": "EQ", "number": "LE", "notanumber": "GT"}[asked]
        ctx.b.emit("ISETP", pd0=target, a=bits, b=Imm(exponent), icmp=comparison, u32cmp=1)


def _testp(ctx: Context, ins: ast.Instruction) -> None:
    m = ctx.modifiers()
    asked = tested(m)
    m.type("f32")
    m.done()
    d, a = ctx.operands(2)
    magnitude = ctx.b.new()
    ctx.b.emit("LOP3", rd=magnitude, a=ctx.b.unit(ctx.word(a, "f32")), b=Imm(SIGN - 1), c=RZ, lut=AND)
    class_test(ctx, ctx.dest_predicate(d), magnitude, asked, 0x7F800000)


HANDLERS: dict[str, Handler] = {
    "add": _two("FADD", 0),
    "sub": _two("FADD", 1),
    "mul": _two("FMUL", 0),
    "fma": _fma,
    "mad": _fma,
    "neg": _sign("neg"),
    "abs": _sign("abs"),
    "min": _minmax("min"),
    "max": _minmax("max"),
    "copysign": _copysign,
    "testp": _testp,
}
