"""This module has code sequences for 64-bit integers in two units: sums, comparisons, shifts, products.

A value is (low word, high word), each a unit, an immediate or a constant. Results go to the pair `rd`, `rd + 1`. It may
be an operand's own pair: no word is overwritten before its last read.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.context.context import Context, Fields, Pred
from binalloc.frontend.ptx import ast

Wide = tuple[Source, Source]  # a 64-bit value: (low word, high word)
ZERO: Wide = (RZ, RZ)
_U64, _S64 = "U64", "S64"  # texts of SHF's types


def target(ctx: Context, operand: ast.Operand, type_: str, *, wider: bool = False) -> int:
    """Return the destination pair; a fresh one where the result is discarded."""
    if isinstance(operand, ast.Discard):
        return ctx.b.new(2)
    return ctx.dest(operand, type_, wider=wider)


def value(first: int) -> Wide:
    """Return the value of a pair of units."""
    return first, first + 1


def constant(number: int) -> Wide:
    """Return a 64-bit constant."""
    return imm(number), imm(number >> 32)


def known(source: Wide) -> int | None:
    """Return the number, 0 .. 2^64-1, if both words are immediates or RZ."""
    words = [0 if word == RZ else word.bits if isinstance(word, Imm) else None for word in source]
    if words[0] is None or words[1] is None:
        return None
    return words[1] << 32 | words[0]


def move(ctx: Context, rd: int, a: Wide) -> None:
    """Emit rd = a. The words of `a` must be rd's own, in place, or none of them."""
    for k in range(2):
        if a[k] != rd + k:
            ctx.b.move(rd + k, a[k])


def add(
    ctx: Context, rd: int, a: Wide, b: Wide, *, negb: int = 0, carry_in: Pred | None = None, carry_out: int = PT
) -> None:
    """Emit rd = a + b, or a - b. Carries are as in IADD3: for a difference, 1 if there is no borrow."""
    link = ctx.b.predicate()
    low: Fields = {"ps0": carry_in[0], "ps0n": carry_in[1], "x": 1} if carry_in is not None else {}
    ctx.b.emit("IADD3", rd=rd, pd0=link, a=a[0], b=b[0], c=RZ, negb=negb, **low)
    ctx.b.emit("IADD3", rd=rd + 1, pd0=carry_out, a=a[1], b=b[1], c=RZ, negb=negb, ps0=link, ps0n=0, x=1)


def negate(ctx: Context, rd: int, a: Wide) -> None:
    """Emit rd = -a."""
    add(ctx, rd, ZERO, a, negb=1)


def compare(
    ctx: Context,
    icmp: str,
    a: Wide,
    b: Wide,
    *,
    signed: bool,
    pd0: int,
    pd1: int = PT,
    bop: str = "AND",
    other: Pred = (PT, 0),
) -> None:
    """Emit pd0 = (a icmp b) bop other, pd1 = (not (a icmp b)) bop other."""
    low = ctx.b.predicate()
    ctx.b.emit("ISETP", pd0=low, a=a[0], b=b[0], icmp=icmp, u32cmp=1)
    ctx.b.emit(
        "ISETP",
        pd0=pd0,
        pd1=pd1,
        a=a[1],
        b=b[1],
        icmp=icmp,
        u32cmp=int(not signed),
        ex=1,
        ps1=low,
        ps1n=0,
        bop=bop,
        ps0=other[0],
        ps0n=other[1],
    )


def select(ctx: Context, rd: int, a: Wide, b: Wide, choice: Pred) -> None:
    """Emit rd = choice ? a : b."""
    for k in range(2):
        pick(ctx, rd + k, a[k], b[k], choice)


def pick(ctx: Context, rd: int, a: Source, b: Source, choice: Pred) -> None:
    """Emit rd = choice ? a : b for one word."""
    if not isinstance(a, int) and isinstance(b, int):
        a, b, choice = b, a, (choice[0], 1 - choice[1])
    ctx.b.emit("SEL", rd=rd, a=a, b=b, ps0=choice[0], ps0n=choice[1])


def extreme(ctx: Context, rd: int, a: Wide, b: Wide, *, signed: bool, smaller: bool) -> None:
    """Emit rd = the smaller or the larger."""
    less = ctx.b.predicate()
    compare(ctx, "LT" if smaller else "GT", a, b, signed=signed, pd0=less)
    select(ctx, rd, a, b, (less, 0))


def shift_left(ctx: Context, rd: int, a: Wide, count: Source) -> None:
    """Emit rd = a << min(count, 64)."""
    emit = ctx.b.emit
    if not isinstance(count, Imm):
        low = ctx.b.unit(a[0])
        emit("SHF", rd=rd + 1, a=low, b=count, c=a[1], dir="L", stype=_U64, hi=1)
        emit("SHF", rd=rd, a=low, b=count, c=RZ, dir="L", stype=_U64)
        return
    n = count.bits
    if n >= 64:
        move(ctx, rd, ZERO)
    elif n >= 32:
        if n == 32:
            ctx.b.move(rd + 1, a[0])
        else:
            emit("SHF", rd=rd + 1, a=a[0], b=Imm(n - 32), c=RZ, dir="L")
        ctx.b.move(rd, RZ)
    elif n:
        low = ctx.b.unit(a[0])
        emit("SHF", rd=rd + 1, a=low, b=count, c=a[1], dir="L", stype=_U64, hi=1)
        emit("SHF", rd=rd, a=low, b=count, c=RZ, dir="L")
    else:
        move(ctx, rd, a)


def shift_right(ctx: Context, rd: int, a: Wide, count: Source, *, signed: bool) -> None:
    """Emit rd = a >> min(count, 64), filled with copies of the sign or zeros."""
    emit = ctx.b.emit
    wide, narrow = (_S64, "S32") if signed else (_U64, "U32")
    if not isinstance(count, Imm):
        high = ctx.b.unit(a[1])
        emit("SHF", rd=rd, a=a[0], b=count, c=high, dir="R", stype=wide)
        emit("SHF", rd=rd + 1, a=RZ, b=count, c=high, dir="R", stype=wide, hi=1)
        return
    n = min(count.bits, 63 if signed else 64)
    if n >= 64:
        move(ctx, rd, ZERO)
    elif n >= 32:
        high = ctx.b.unit(a[1])
        if n == 32:
            ctx.b.move(rd, high)
        else:
            emit("SHF", rd=rd, a=RZ, b=Imm(n - 32), c=high, dir="R", stype=narrow, hi=1)
        if signed:
            sign(ctx, rd + 1, high)
        else:
            ctx.b.move(rd + 1, RZ)
    elif n:
        high = ctx.b.unit(a[1])
        emit("SHF", rd=rd, a=a[0], b=count, c=high, dir="R", stype=_U64)
        emit("SHF", rd=rd + 1, a=RZ, b=count, c=high, dir="R", stype=narrow, hi=1)
    else:
        move(ctx, rd, a)


def sign(ctx: Context, rd: int, a: Source) -> None:
    """Emit rd = 32 copies of a's sign bit."""
    ctx.b.emit("SHF", rd=rd, a=RZ, b=Imm(31), c=ctx.b.unit(a), dir="R", stype="S32", hi=1)


def sign_of(ctx: Context, a: Source) -> int:
    """Return a fresh unit with 32 copies of a's sign bit."""
    out = ctx.b.new()
    sign(ctx, out, a)
    return out


def multiply_low(ctx: Context, rd: int, a: Wide, b: Wide, c: Wide = ZERO) -> None:
    """Emit rd = a*b + c modulo 2^64. The cross products are added to the addend's high word."""
    high: Source = c[1]
    crossed = False
    pair = -1
    products = [(x, y) for x, y in ((a[0], b[1]), (b[0], a[1])) if not {RZ, Imm(0)} & {x, y}]
    for k, (x, y) in enumerate(products):
        if k == len(products) - 1:
            pair = ctx.b.new(2)
            out = pair + 1
        else:
            out = ctx.b.new()
        ctx.b.emit("IMAD", rd=out, a=x, b=y, c=high)
        high, crossed = out, True
    if crossed:
        ctx.b.move(pair, c[0])
    else:
        pair = ctx.b.pair(*c)
    ctx.b.emit("IMAD.WIDE", rd=rd, a=a[0], b=b[0], c=pair, u32=1)


def multiply_high(ctx: Context, rd: int, a: Wide, b: Wide, *, signed: bool) -> None:
    """Emit rd = the upper 64 bits of the 128-bit product (schoolbook; the signed one from the unsigned)."""
    emit = ctx.b.emit
    lowest, middle, other, top = (ctx.b.new(2) for _ in range(4))
    al, ah, bl, bh = (ctx.b.unit(word) for word in (*a, *b))
    emit("IMAD.WIDE", rd=lowest, a=al, b=bl, c=RZ, u32=1)
    emit("IMAD.WIDE", rd=middle, a=ah, b=bl, c=ctx.b.pair(lowest + 1, RZ), u32=1)
    emit("IMAD.WIDE", rd=other, a=al, b=bh, c=ctx.b.pair(middle, RZ), u32=1)
    emit("IMAD.WIDE", rd=top, a=ah, b=bh, c=ctx.b.pair(middle + 1, RZ), u32=1)
    if not signed:
        add(ctx, rd, value(top), (other + 1, RZ))
        return
    result = ctx.b.new(2)
    add(ctx, result, value(top), (other + 1, RZ))
    # s(a) * s(b) = a*b - 2^64 * ([a < 0] * b + [b < 0] * a), modulo 2^128
    for factor, subtrahend, last in ((ah, (bl, bh), False), (bh, (al, ah), True)):
        mask = sign_of(ctx, factor)
        masked = ctx.b.new(2)
        for k in range(2):
            emit("LOP3", rd=masked + k, a=subtrahend[k], b=mask, c=RZ, lut=0xC0)
        into = rd if last else ctx.b.new(2)
        add(ctx, into, value(result), value(masked), negb=1)
        result = into
