"""This module lowers integer div and rem (PTX ISA 9.7.1). Results are exact for all operands; a division by zero gives
some value.

For 16 bits one f32 product is enough. For 32 bits the sequence is an approximate reciprocal from f32, one Newton step
in integers, and two corrections. 64 bits are divided by functions of the library. A constant 32-bit divisor needs no
reciprocal, and a power of two no product.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.integer import INTEGERS
from binalloc.frontend.lower.arithmetic.library import call_library
from binalloc.frontend.lower.arithmetic.logic import AND, XOR, shift_word_right
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

HALF = Imm(0x3F000000)  # 0.5 as f32
SCALE = Imm(0x4F7FFFFC)
"""2^32 - 2^10 as f32: the scale of the reciprocal, a little less than 2^32, so that it is never too large (see
`_word`)."""


def _division(ctx: Context, ins: Instruction) -> None:
    """Lower div and rem."""
    m = ctx.modifiers()
    type_ = m.type(*INTEGERS)
    m.done()
    d, x, y = ctx.operands(3)
    quotient = ins.op == "div"
    size, signed = TYPE_BYTES[type_], type_[0] == "s"
    if size == 8:
        _library(ctx, d, ctx.wide(x, type_), ctx.wide(y, type_), type_)
        return
    a, b = ctx.extended(x, type_), ctx.extended(y, type_)
    rd = ctx.dest(d, type_)
    if not signed:
        _unsigned(ctx, rd, a, b, quotient, size)
        return
    above, below, result = _magnitude(ctx, a), _magnitude(ctx, b), ctx.b.new()
    negative = ctx.b.predicate()
    sign: Source = ctx.b.unit(a)
    if quotient:
        sign = _sign_of_quotient(ctx, ctx.b.unit(a), b)
    ctx.b.emit("ISETP", pd0=negative, a=sign, b=RZ, icmp="LT")
    _unsigned(ctx, result, above, below, quotient, size)
    ctx.b.emit("IADD3", rd=result, a=RZ, b=result, c=RZ, negb=1, guard=(negative, False))
    ctx.b.move(rd, result)


def _magnitude(ctx: Context, source: Source) -> Source:
    """Return |source| as an unsigned word: 2^31 for the lowest number."""
    if isinstance(source, Imm):
        return imm(abs(source.bits - ((source.bits & 0x80000000) << 1)))
    out = ctx.b.new()
    ctx.b.emit("IABS", rd=out, b=source)
    return out


def _sign_of_quotient(ctx: Context, a: int, b: Source) -> int:
    out = ctx.b.new()
    ctx.b.emit("LOP3", rd=out, a=a, b=b, c=RZ, lut=XOR)
    return out


def _unsigned(ctx: Context, rd: int, a: Source, b: Source, quotient: bool, size: int) -> None:
    """Emit rd = a / b or a mod b for unsigned numbers of `size` bytes, or for the magnitudes of signed ones."""
    if isinstance(b, Imm) and b.bits:
        _by_constant(ctx, rd, a, b.bits, quotient)
    elif size == 2:
        _short(ctx, rd, a, b, quotient)
    else:
        _word(ctx, rd, ctx.b.unit(a), ctx.b.unit(b), quotient)


def _short(ctx: Context, rd: int, a: Source, b: Source, quotient: bool) -> None:
    """Emit rd = (a + 1/2) / b in f32, truncated, or the remainder.

    With integers a, b of at most 16 bits the exact (a + 1/2) / b is at least 1 / (2b) from every integer. That is
    2^-17 of its value or more. The errors of the reciprocal and the product are 2^-23 of it together.
    """
    emit = ctx.b.emit
    above, half, below, reciprocal, product = (ctx.b.new() for _ in range(5))
    emit("I2F", rd=above, b=a, ityp="U32", ftyp="F32")
    emit("FADD", rd=half, a=above, b=HALF)
    emit("I2F", rd=below, b=b, ityp="U32", ftyp="F32")
    emit("MUFU", rd=reciprocal, b=below, func="RCP")
    emit("FMUL", rd=product, a=half, b=reciprocal)
    found = rd if quotient else ctx.b.new()
    emit("F2I", rd=found, b=product, ityp="U32", ftyp="F32", rnd2="RZ")
    if not quotient:
        whole = ctx.b.new()
        emit("IMAD", rd=whole, a=found, b=b, c=RZ)
        emit("IADD3", rd=rd, a=a, b=whole, c=RZ, negb=1)


def _word(ctx: Context, rd: int, a: int, b: int, quotient: bool) -> None:
    """Emit a division of 32 bits.

    z0 = F2I(RCP(b) * (2^32 - 2^10)). With u = 2^-24 the three roundings (of b, of the reciprocal, of the product) have
    an error of less than 3u together, and the scale is too small by 4u. So z0 <= 2^32/b, and e0 = 2^32 - b*z0 lies in
    [0, b + 1792). The Newton step z = z0 + floor(z0 * e0 / 2^32) is below 2^32/b by less than 1 + e0^2 / (b * 2^32): by
    less than 2 for b <= 2^31. So floor(a*z / 2^32) is at most 2 below the quotient. For b > 2^31, z is 0 or 1, the
    product gives 0 and the quotient is at most 1.
    """
    emit = ctx.b.emit
    below, reciprocal, product, start, opposite, error, inverse, guess, rest = (ctx.b.new() for _ in range(9))
    emit("I2F", rd=below, b=b, ityp="U32", ftyp="F32")
    emit("MUFU", rd=reciprocal, b=below, func="RCP")
    emit("FMUL", rd=product, a=reciprocal, b=SCALE)
    emit("F2I", rd=start, b=product, ityp="U32", ftyp="F32", rnd2="RZ")
    emit("IADD3", rd=opposite, a=RZ, b=b, c=RZ, negb=1)
    emit("IMAD", rd=error, a=start, b=opposite, c=RZ)
    emit("IMAD.HI", rd=inverse, a=start, b=error, c=start, u32=1)
    emit("IMAD.HI", rd=guess, a=a, b=inverse, c=RZ, u32=1)
    emit("IMAD", rd=rest, a=guess, b=opposite, c=a)
    _correct(ctx, rd, guess, rest, b, quotient, 2)


def _correct(ctx: Context, rd: int, guess: int, rest: int, b: Source, quotient: bool, times: int) -> None:
    """Correct a quotient that is at most `times` too low, and its remainder, and move the wanted one to rd.

    guess, rest: the quotient and a - guess * b. Both are changed in place.
    """
    emit = ctx.b.emit
    for k in range(times):
        enough = ctx.b.predicate()
        emit("ISETP", pd0=enough, a=rest, b=b, icmp="GE", u32cmp=1)
        if quotient:
            emit("IADD3", rd=guess, a=guess, b=Imm(1), c=RZ, guard=(enough, False))
        if k < times - 1 or not quotient:
            emit("IADD3", rd=rest, a=rest, b=b, c=RZ, negb=1, guard=(enough, False))
    ctx.b.move(rd, guess if quotient else rest)


def _by_constant(ctx: Context, rd: int, a: Source, b: int, quotient: bool) -> None:
    """Emit a division of 32 bits by a constant.

    With z = floor(2^32 / b), a/b - a*z/2^32 < 1: the product is at most 1 too low.
    """
    emit = ctx.b.emit
    if b & (b - 1) == 0:
        if quotient:
            shift_word_right(ctx, rd, a, Imm(b.bit_length() - 1), signed=False)
        else:
            emit("LOP3", rd=rd, a=a, b=Imm(b - 1), c=RZ, lut=AND)
        return
    guess, rest = ctx.b.new(), ctx.b.new()
    emit("IMAD.HI", rd=guess, a=a, b=Imm((1 << 32) // b), c=RZ, u32=1)
    emit("IMAD", rd=rest, a=guess, b=imm(-b), c=a)
    _correct(ctx, rd, guess, rest, Imm(b), quotient, 1)


def _library(ctx: Context, d: ast.Operand, a: wide.Wide, b: wide.Wide, type_: str) -> None:
    rd = wide.target(ctx, d, type_)
    call_library(ctx, f"{ctx.ins.op}_{type_}", [*a, *b], 2, into=[rd, rd + 1])


PURE: dict[str, Handler] = {"div": _division, "rem": _division}
