"""This module lowers PTX's .approx (and .full) functions by Loom's MUFU, within the errors of PTX ISA 9.7.3.

MUFU neither reads nor returns zeros for subnormals, and its results are right to 0.51 ulp. So the plain forms are MUFU
alone. The .ftz forms multiply by one under .FTZ before and after, where a subnormal can occur at all. Sine and cosine
take turns as argument: x/(2 pi) is rounded once. This costs |x| * 2^-24 at most, less than PTX allows (2^-20.5 for |x|
<= 2 pi, 2^-14.7 for |x| <= 100 pi).
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic.floating.float32 import ONE, flushed
from binalloc.frontend.lower.arithmetic.floating.float64 import pair_dest
from binalloc.frontend.lower.arithmetic.floating.floats import AND, SIGN
from binalloc.frontend.lower.arithmetic.library import call_library
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast

TURNS = 0x3E22F983  # 1 / (2 pi)
TWO_LOG2_E = 0x4038AA3B  # 2 log2(e)
MINUS_TWO = 0xC0000000  # -2.0
QUARTER, TWO_24 = 0x3E800000, 0x4B800000  # 0.25, 2^24: scales of `divide_full`
TWO_126, TWO_MINUS_126 = 0x7E800000, 0x00800000  # 2^126, 2^-126: the reciprocals of numbers between are normal
TANH_LINEAR = 0x3C800000  # 2^-6; below it tanh(x) is x, see `tanh`
HALF_DOUBLE, THREE_EIGHTHS_DOUBLE, ONE_DOUBLE = 0x3FE00000, 0x3FD80000, 0x3FF00000  # high words of f64 patterns
LOWEST_NORMAL_DOUBLE, INFINITE_DOUBLE = 0x00100000, 0x7FF00000  # high words, too


def mufu(ctx: Context, target: int, source: Source, func: str) -> None:
    ctx.b.emit("MUFU", rd=target, b=source, func=func)


def flush_into(ctx: Context, target: int, source: int) -> None:
    """Emit target = source, with a subnormal as the zero of its sign."""
    ctx.b.emit("FMUL", rd=target, a=source, b=Imm(ONE), ftz=1)


def _suffixes(ctx: Context, type_: str) -> bool:
    """Take .approx and the type, and return whether .ftz is there."""
    m = ctx.modifiers()
    approx, ftz = m.has("approx"), m.has("ftz")
    m.type(type_)
    m.done()
    if not approx:
        ctx.unsupported("old-rounding", f"{ctx.ins.op} needs .approx", expected=f"{ctx.ins.op}.approx.{type_}")
    return ftz


def function(func: str, *, flush_in: bool, flush_out: bool) -> Handler:
    """Return the handler of a function that is one MUFU.

    flush_in, flush_out: whether a subnormal argument or result would make a difference under .ftz.
    """

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        ftz = _suffixes(ctx, "f32")
        d, a = ctx.operands(2)
        source, target = ctx.word(a, "f32"), ctx.dest(d, "f32")
        single(ctx, func, target, source, flush_in=ftz and flush_in, flush_out=ftz and flush_out)

    return handler


def single(ctx: Context, func: str, target: int, source: Source, *, flush_in: bool, flush_out: bool) -> None:
    """Emit target = func(source) on f32."""
    argument = flushed(ctx, source) if flush_in else source
    if not flush_out:
        mufu(ctx, target, argument, func)
        return
    value = ctx.b.new()
    mufu(ctx, value, argument, func)
    flush_into(ctx, target, value)


def _wave(func: str) -> Handler:
    """Return the handler of sin or cos.

    .FTZ makes a turn count below 2^-126 zero. With results within 2^-24 this only changes sin, to a zero.
    """

    def handler(ctx: Context, ins: ast.Instruction) -> None:
        ftz = _suffixes(ctx, "f32")
        d, a = ctx.operands(2)
        turns = ctx.b.new()
        ctx.b.emit("FMUL", rd=turns, a=ctx.word(a, "f32"), b=Imm(TURNS), ftz=int(ftz))
        mufu(ctx, ctx.dest(d, "f32"), turns, func)

    return handler


def _tanh(ctx: Context, ins: ast.Instruction) -> None:
    m = ctx.modifiers()
    if not m.has("approx"):
        m.refuse("tanh needs .approx", expected="tanh.approx.f32")
    m.type("f32")
    m.done()
    d, a = ctx.operands(2)
    tanh(ctx, ctx.dest(d, "f32"), ctx.word(a, "f32"))


def tanh(ctx: Context, target: int, source: Source) -> None:
    """Emit target = tanh(source) on f32.

    1 - 2 / (1 + e^2x) has an absolute error of 2^-22. Below 2^-6 the result is x itself: there x^3/3 is less than 2^-13
    of x. PTX allows a relative error of 2^-11.
    """
    x, value, small = ctx.b.unit(source), ctx.b.new(), ctx.b.predicate()
    power, above, inverse = ctx.b.new(), ctx.b.new(), ctx.b.new()
    scaled = ctx.b.new()
    ctx.b.emit("FMUL", rd=scaled, a=x, b=Imm(TWO_LOG2_E))
    mufu(ctx, power, scaled, "EX2")
    ctx.b.emit("FADD", rd=above, a=power, b=Imm(ONE))
    mufu(ctx, inverse, above, "RCP")
    ctx.b.emit("FFMA", rd=value, a=inverse, b=Imm(MINUS_TWO), c=ctx.b.unit(Imm(ONE)))
    ctx.b.emit("FSETP", pd0=small, a=x, b=Imm(TANH_LINEAR), absa=1, fcmp="LT")
    ctx.b.emit("SEL", rd=target, a=x, b=value, ps0=small)


def divide_approx(ctx: Context, target: int, a: Source, b: Source, *, ftz: bool) -> None:
    """Emit div.approx: a * (1/b), where a subnormal 1/b counts as zero.

    PTX says so: 2^126 < |b| gives zero, and NaN for an infinite a. Under .ftz the product reads 1/b as zero by itself;
    the operands and the result are flushed, too.
    """
    inverse = ctx.b.new()
    mufu(ctx, inverse, flushed(ctx, b) if ftz else b, "RCP")
    factor = inverse
    if not ftz:
        factor = ctx.b.new()
        flush_into(ctx, factor, inverse)
    ctx.b.emit("FMUL", rd=target, a=a, b=factor, ftz=int(ftz))


def divide_full(ctx: Context, target: int, a: Source, b: Source, *, ftz: bool) -> None:
    """Emit div.full: scale both operands by a power of two that keeps 1/b normal, then a * (1/b).

    The error is 1.5 ulp; PTX allows 2.
    """
    divisor, large, scale = ctx.b.unit(b), ctx.b.predicate(), ctx.b.new()
    ctx.b.emit("FSETP", pd0=large, a=divisor, b=Imm(TWO_126), absa=1, fcmp="GT")
    ctx.b.emit("SEL", rd=scale, a=ctx.b.unit(Imm(QUARTER)), b=Imm(ONE), ps0=large)
    if not ftz:  # a subnormal b; under .ftz it is zero
        small, wider = ctx.b.predicate(), ctx.b.new()
        ctx.b.emit("FSETP", pd0=small, a=divisor, b=Imm(TWO_MINUS_126), absa=1, fcmp="LT")
        ctx.b.emit("SEL", rd=wider, a=scale, b=Imm(TWO_24), ps0=small, ps0n=1)
        scale = wider
    below, above, inverse = ctx.b.new(), ctx.b.new(), ctx.b.new()
    ctx.b.emit("FMUL", rd=below, a=divisor, b=scale, ftz=int(ftz))
    mufu(ctx, inverse, below, "RCP")
    ctx.b.emit("FMUL", rd=above, a=a, b=scale, ftz=int(ftz))
    ctx.b.emit("FMUL", rd=target, a=above, b=inverse, ftz=int(ftz))


# ---------------------------------------------------------------------------------------------------------------------
# f64.


def _flushed_high(ctx: Context, high: int) -> int:
    """Return the high word of an f64, without its mantissa bits where the exponent field is 0."""
    normal, sign, out = ctx.b.predicate(), ctx.b.new(), ctx.b.new()
    ctx.b.emit("LOP3", pd0=normal, rd=RZ, a=high, b=Imm(INFINITE_DOUBLE), c=RZ, lut=AND)
    ctx.b.emit("LOP3", rd=sign, a=high, b=Imm(SIGN), c=RZ, lut=AND)
    ctx.b.emit("SEL", rd=out, a=high, b=sign, ps0=normal)
    return out


def high_word(ctx: Context, func: str, target: int, high: Source) -> None:
    """Emit an f64: its high word is MUFU's function of a high word, its low word 0."""
    value = ctx.b.new()
    mufu(ctx, value, _flushed_high(ctx, ctx.b.unit(high)), func)
    if func == "RCP64H":  # a root of a normal number is normal
        value = _flushed_high(ctx, value)
    ctx.b.move(target, Imm(0))
    ctx.b.move(target + 1, value)


def _rsqrt64(ctx: Context, ins: ast.Instruction) -> None:
    """Lower rsqrt.approx.f64, within 1 ulp.

    y = RSQ64H(x) is good to 2^-19. e = 1 - x y^2 is computed with one rounding, and y + y e (1/2 + 3/8 e) is good to
    2^-56 before its own rounding. The library computes arguments that are not positive normal numbers.
    """
    d, a = ctx.operands(2)
    if _suffixes(ctx, "f64"):
        high_word(ctx, "RSQ64H", pair_dest(ctx, d), ctx.wide(a, "f64")[1])
        return
    x, target, b = ctx.pair(a, "f64"), pair_dest(ctx, d), ctx.b
    shifted, special, out = b.new(), b.predicate(), b.new(2)
    b.emit("IADD3", rd=shifted, a=x + 1, b=Imm(-LOWEST_NORMAL_DOUBLE & 0xFFFFFFFF), c=RZ)
    b.emit("ISETP", pd0=special, a=shifted, b=Imm(INFINITE_DOUBLE - LOWEST_NORMAL_DOUBLE), icmp="GE", u32cmp=1)
    refined_rsqrt(ctx, out, x)
    done = b.label()
    b.branch(done, (special, True))
    call_library(ctx, "rsqrt_f64", [x, x + 1], 2, into=[out, out + 1])
    b.start(done)
    b.move(target, out)
    b.move(target + 1, out + 1)


def refined_rsqrt(ctx: Context, target: int, x: int) -> None:
    """Emit target = 1/sqrt(x) to 0.57 ulp for positive normal x."""
    b = ctx.b
    start, square, error, step, curve = (b.new(2) for _ in range(5))
    b.move(start, Imm(0))
    mufu(ctx, start + 1, x + 1, "RSQ64H")
    b.emit("DMUL", rd=square, a=start, b=start)
    b.emit("DFMA", rd=error, a=square, b=x, c=Imm(ONE_DOUBLE), negb=1)
    b.emit("DFMA", rd=curve, a=error, b=Imm(THREE_EIGHTHS_DOUBLE), c=b.pair(Imm(0), Imm(HALF_DOUBLE)))
    b.emit("DMUL", rd=step, a=start, b=error)
    b.emit("DFMA", rd=target, a=curve, b=step, c=start)


SINGLE: dict[str, Handler] = {
    "sin": _wave("SIN"),
    "cos": _wave("COS"),
    "lg2": function("LG2", flush_in=True, flush_out=False),
    "ex2": function("EX2", flush_in=False, flush_out=True),
    "rsqrt": function("RSQ", flush_in=True, flush_out=False),
    "tanh": _tanh,
}
DOUBLE: dict[str, Handler] = {
    "rsqrt": _rsqrt64,
}
