"""This module lowers division, reciprocal and square root with IEEE's exact rounding: in line for ordinary operands,
else by the library.

Method: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM J. R&D 34(1), 1990.
A quotient q0 = RN(a r) with r = RN(1/b) is corrected by its exact remainder, q = RN(q0 + (a - b q0) r). Scale a and b
to [1, 2), and let u be one unit in the quotient's last place. |r - 1/b| is at most a quarter of ulp(1). So |q0 - a/b| <
u if a >= b and < 1.5 u else, and the remainder is exact or nearly so.

Near a rounding midpoint the sum before rounding has an error of (u/2) |r b - 1| <= b u^2/4. a/b is at least N u^2/b
from the midpoint, N >= 1 (a/b - midpoint is a fraction of integers). b^2 < 4 decides every case rightly. For a >=
b, u is twice as large, and both are halved. An error of q0 of nearly 1.5 u needs a and b within three units of 2. Only
(a, b) = (2 - 4v, 2 - 2v), v half the spacing, remains, and the tests try it.

The same argument with a = 1 gives r = RN(1/b) from an r within one unit. With e = 1 - b r, the difference 1/b - r (1 +
e) = r e^2/(1 - e) is at most about b u^2/4, too. It fails for one significand, b = 2 - 2v, if the first r is 1/2 and
not 1/2 + v. Then r (1 + e) is the midpoint itself, and the tie is rounded down. (Markstein's exception.)

The condition in all cases is that only the last step rounds below the normal range. One comparison of the exponent
decides for each operand. Other operands go to `__binalloc_<op>_<rnd>_<type>`, and so do the other roundings with all
operands.

rcp.rn.f32 and sqrt.rn.f32 are one MUFU. It rounds the f64 result to f32. 1/b or sqrt(x) of a 24-bit b or x are 2^-50 or
more (relatively) from every f32 midpoint, so the rounding to f64 (2^-53) cannot reach or cross one.
"""

from __future__ import annotations

import struct

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.floating import approx
from binalloc.frontend.lower.arithmetic.floating.float32 import ONE, flushed
from binalloc.frontend.lower.arithmetic.floating.float64 import pair_dest
from binalloc.frontend.lower.arithmetic.floating.floats import FLOAT_ROUNDINGS
from binalloc.frontend.lower.arithmetic.library import call_library
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast

MASK = 0xFFFFFFFF  # the bits of a 32-bit word
SINGLE_RANGE = (65, 190)
"""Biased exponents of both operands of a fast f32 division. They give quotients from 2^-126 to 2^126 and remainders
from 2^-110."""
DOUBLE_RANGE = (513, 1533)
"""Biased exponents of both operands of a fast f64 division. They give quotients from 2^-1021 to 2^1021 and remainders
from 2^-616."""
RECIPROCAL_RANGE = (1, 2044)
"""Biased exponents of b in a fast f64 reciprocal: b and 1/b are normal."""
ROOT_LOWEST = 54 << 20
"""High word of the least argument of a fast f64 square root: from there on, remainders are multiples of 2^-1074."""


def outside(ctx: Context, word: int, limits: tuple[int, int], shift: int, before: int | None) -> int:
    """Return a predicate: the exponent of a float is outside of `limits`, or `before` holds.

    word: its high (or only) word. shift: first bit of the exponent field, 23 or 20. The sign is shifted out, so that
    one unsigned comparison tests both limits.
    """
    b, moved, out = ctx.b, ctx.b.new(), ctx.b.predicate()
    low, high = (limit << (shift + 1) for limit in (limits[0], limits[1] + 1))
    b.emit("LEA", rd=moved, a=word, b=Imm(-low & MASK), shift=1)
    bop, other = ("AND", PT) if before is None else ("OR", before)
    b.emit("ISETP", pd0=out, a=moved, b=Imm(high - low), icmp="GE", u32cmp=1, bop=bop, ps0=other)
    return out


def _form(ctx: Context, type_: str, *kinds: str) -> tuple[str, bool]:
    """Return (rounding or one of `kinds`, .ftz) of div, rcp or sqrt."""
    m = ctx.modifiers()
    kind, ftz = m.take(*FLOAT_ROUNDINGS, *kinds), m.has("ftz")
    m.type(type_)
    m.done()
    if not kind or (ftz and type_ == "f64" and kind != "approx"):
        wanted = [f".{k}" for k in (*(("approx.ftz",) if type_ == "f64" else kinds), *FLOAT_ROUNDINGS)]
        if not kind:
            ctx.unsupported("old-rounding", f"{ctx.ins.op}.{type_} needs a rounding", expected=" or ".join(wanted))
        m.refuse(f"{ctx.ins.op}.{type_} cannot flush", expected=" or ".join(wanted))
    return kind, ftz


# ---------------------------------------------------------------------------------------------------------------------
# f32.


def _divide32(ctx: Context, ins: ast.Instruction) -> None:
    kind, ftz = _form(ctx, "f32", "approx", "full")
    d, a, b = ctx.operands(3)
    x, y, target = ctx.word(a, "f32"), ctx.word(b, "f32"), ctx.dest(d, "f32")
    if kind == "approx":
        approx.divide_approx(ctx, target, x, y, ftz=ftz)
    elif kind == "full":
        approx.divide_full(ctx, target, x, y, ftz=ftz)
    elif kind != "rn":
        _library32(ctx, f"div_{kind}_f32", target, [x, y], ftz=ftz)
    elif x == Imm(ONE):
        _reciprocal_nearest(ctx, target, y, ftz=ftz)
    else:
        _divide_nearest32(ctx, target, x, y, ftz=ftz)


def _library32(ctx: Context, name: str, target: int, args: list[Source], *, ftz: bool) -> None:
    """Emit target = a library function of f32 arguments. .ftz flushes arguments and result."""
    (result,) = call_library(ctx, name, [flushed(ctx, x) if ftz else x for x in args], 1)
    if ftz:
        approx.flush_into(ctx, target, result)
    else:
        ctx.b.move(target, result)


def _ordinary(source: Source) -> bool:
    """Return whether this is a constant with an exponent in the range of the fast division."""
    return isinstance(source, Imm) and SINGLE_RANGE[0] <= (source.bits >> 23 & 0xFF) <= SINGLE_RANGE[1]


def _divide_nearest32(ctx: Context, target: int, x: Source, y: Source, *, ftz: bool) -> None:
    """Emit div.rn.f32. In the fast range .ftz has nothing to flush."""
    b, check = ctx.b, None
    if not _ordinary(x):
        x = b.unit(x)
        check = outside(ctx, x, SINGLE_RANGE, 23, None)
    inverse: Source
    if _ordinary(y):
        inverse = _constant_inverse(y)
    else:
        y, inverse = b.unit(y), b.new()
        check = outside(ctx, y, SINGLE_RANGE, 23, check)
        approx.mufu(ctx, inverse, y, "RCP")
    out, first, rest = b.new(), b.new(), b.new()
    b.emit("FMUL", rd=first, a=x, b=inverse)
    b.emit("FFMA", rd=rest, a=first, b=y, c=x, negb=1)
    b.emit("FFMA", rd=out, a=rest, b=inverse, c=first)
    if check is not None:
        done = b.label()
        b.branch(done, (check, True))
        _library32(ctx, "div_rn_f32", out, [x, y], ftz=ftz)
        b.start(done)
    b.move(target, out)


def _constant_inverse(y: Source) -> Imm:
    """Return RN(1/y) for a constant in the fast range. The f64 quotient rounds to f32 as the exact one does, see
    above."""
    assert isinstance(y, Imm)
    (value,) = struct.unpack("<f", struct.pack("<I", y.bits))
    (bits,) = struct.unpack("<I", struct.pack("<f", 1.0 / value))
    return Imm(bits)


def _reciprocal_nearest(ctx: Context, target: int, x: Source, *, ftz: bool) -> None:
    approx.single(ctx, "RCP", target, x, flush_in=ftz, flush_out=ftz)


def _reciprocal32(ctx: Context, ins: ast.Instruction) -> None:
    kind, ftz = _form(ctx, "f32", "approx")
    d, a = ctx.operands(2)
    x, target = ctx.word(a, "f32"), ctx.dest(d, "f32")
    if kind in ("rn", "approx"):
        _reciprocal_nearest(ctx, target, x, ftz=ftz)
    else:
        _library32(ctx, f"div_{kind}_f32", target, [Imm(ONE), x], ftz=ftz)


def _root32(ctx: Context, ins: ast.Instruction) -> None:
    kind, ftz = _form(ctx, "f32", "approx")
    d, a = ctx.operands(2)
    x, target = ctx.word(a, "f32"), ctx.dest(d, "f32")
    if kind in ("rn", "approx"):
        approx.single(ctx, "SQRT", target, x, flush_in=ftz, flush_out=False)  # a root of a normal number is normal
    else:
        _library32(ctx, f"sqrt_{kind}_f32", target, [x], ftz=ftz)


# ---------------------------------------------------------------------------------------------------------------------
# f64. A wide source is kept as two words, so that a constant stays a constant.


def _move64(ctx: Context, target: int, source: int) -> None:
    ctx.b.move(target, source)
    ctx.b.move(target + 1, source + 1)


def _library64(ctx: Context, name: str, target: int, args: list[int], check: int | None) -> None:
    """Emit target = a library function of the pairs `args`, where predicate `check` holds if there is one."""
    words: list[Source] = [word for pair in args for word in ((RZ, RZ) if pair == RZ else (pair, pair + 1))]
    done = ctx.b.label()
    if check is not None:
        ctx.b.branch(done, (check, True))
    call_library(ctx, name, words, 2, into=[target, target + 1])
    if check is not None:
        ctx.b.start(done)


def _inverse64(ctx: Context, y: int) -> int:
    """Return RN(1/y) for y in RECIPROCAL_RANGE.

    RCP64H is good to 2^-19, a cubic step to 2^-57 before its rounding, and one more step rounds rightly. e + e^2 is
    rounded up because of the y with a significand of all ones: RCP64H gives 1/2, e is 2^-53, and the cubic step would
    be a tie and be rounded down.
    """
    b = ctx.b
    start, one, two, near, rest, out = (b.new(2) for _ in range(6))
    b.move(start, Imm(0))
    approx.mufu(ctx, start + 1, y + 1, "RCP64H")
    b.emit("DFMA", rd=one, a=start, b=y, c=Imm(approx.ONE_DOUBLE), negb=1)
    b.emit("DFMA", rd=two, a=one, b=one, c=one, rnd="RP")
    b.emit("DFMA", rd=near, a=start, b=two, c=start)
    b.emit("DFMA", rd=rest, a=near, b=y, c=Imm(approx.ONE_DOUBLE), negb=1)
    b.emit("DFMA", rd=out, a=near, b=rest, c=near)
    return out


def _divide64(ctx: Context, ins: ast.Instruction) -> None:
    kind, _ = _form(ctx, "f64")
    d, a, c = ctx.operands(3)
    if ctx.wide(a, "f64") == (Imm(0), Imm(approx.ONE_DOUBLE)):
        _reciprocal(ctx, kind, pair_dest(ctx, d), ctx.pair(c, "f64"))
        return
    x, y, target, b = ctx.pair(a, "f64"), ctx.pair(c, "f64"), pair_dest(ctx, d), ctx.b
    out = b.new(2)
    if kind != "rn" or RZ in (x, y):
        _library64(ctx, f"div_{kind}_f64", out, [x, y], None)
    else:
        check = outside(ctx, y + 1, DOUBLE_RANGE, 20, outside(ctx, x + 1, DOUBLE_RANGE, 20, None))
        inverse = _inverse64(ctx, y)
        first, rest = b.new(2), b.new(2)
        b.emit("DMUL", rd=first, a=x, b=inverse)
        b.emit("DFMA", rd=rest, a=first, b=y, c=x, negb=1)
        b.emit("DFMA", rd=out, a=rest, b=inverse, c=first)
        _library64(ctx, "div_rn_f64", out, [x, y], check)
    _move64(ctx, target, out)


def _reciprocal64(ctx: Context, ins: ast.Instruction) -> None:
    kind, ftz = _form(ctx, "f64", "approx")
    d, a = ctx.operands(2)
    if kind == "approx":
        if not ftz:
            ctx.refuse("rcp.approx.f64 without .ftz", expected="rcp.approx.ftz.f64")
        approx.high_word(ctx, "RCP64H", pair_dest(ctx, d), ctx.wide(a, "f64")[1])
    else:
        _reciprocal(ctx, kind, pair_dest(ctx, d), ctx.pair(a, "f64"))


def _reciprocal(ctx: Context, kind: str, target: int, y: int) -> None:
    """Emit rcp.rn.f64 or one of its other roundings."""
    if kind != "rn" or y == RZ:
        out = ctx.b.new(2)
        _library64(ctx, f"rcp_{kind}_f64", out, [y], None)
    else:
        check = outside(ctx, y + 1, RECIPROCAL_RANGE, 20, None)
        out = _inverse64(ctx, y)
        _library64(ctx, "rcp_rn_f64", out, [y], check)
    _move64(ctx, target, out)


def _root64(ctx: Context, ins: ast.Instruction) -> None:
    """Lower sqrt.rn.f64: y = 1/sqrt(x) to 0.57 ulp, g = x y, h = y/2, and two corrections g + (x - g^2) h, remainders
    exact.

    The first leaves |g - sqrt(x)| < 0.501 ulp. The second rounds rightly. Take x in [1, 4) and units of 2^-107/sqrt(x).
    Near a midpoint m 2^-53 the error is 1.13 x + 1 < 5.6. The distance to the midpoint is |N|, N = m^2 - x 2^106 = 1
    mod 8. That is 7 at least, or 1 for x = 1 + 2^-52 and x = 4 - 2^-51 alone, which the tests try.
    """
    kind, _ = _form(ctx, "f64")
    d, a = ctx.operands(2)
    x, target, b = ctx.pair(a, "f64"), pair_dest(ctx, d), ctx.b
    out = b.new(2)
    if kind != "rn" or x == RZ:
        _library64(ctx, f"sqrt_{kind}_f64", out, [x], None)
    else:
        moved, check = b.new(), b.predicate()
        b.emit("IADD3", rd=moved, a=x + 1, b=Imm(-ROOT_LOWEST & MASK), c=RZ)
        b.emit("ISETP", pd0=check, a=moved, b=Imm(approx.INFINITE_DOUBLE - ROOT_LOWEST), icmp="GE", u32cmp=1)
        inverse, half, root, rest, better, last = (b.new(2) for _ in range(6))
        approx.refined_rsqrt(ctx, inverse, x)
        b.emit("DMUL", rd=root, a=x, b=inverse)
        b.emit("DMUL", rd=half, a=inverse, b=Imm(approx.HALF_DOUBLE))
        b.emit("DFMA", rd=rest, a=root, b=root, c=x, negb=1)
        b.emit("DFMA", rd=better, a=rest, b=half, c=root)
        b.emit("DFMA", rd=last, a=better, b=better, c=x, negb=1)
        b.emit("DFMA", rd=out, a=last, b=half, c=better)
        _library64(ctx, "sqrt_rn_f64", out, [x], check)
    _move64(ctx, target, out)


SINGLE: dict[str, Handler] = {"div": _divide32, "rcp": _reciprocal32, "sqrt": _root32}
DOUBLE: dict[str, Handler] = {"div": _divide64, "rcp": _reciprocal64, "sqrt": _root64}
