"""This module lowers PTX vmad (PTX ISA 9.7.18.1.3): a product of parts, plus or minus a third operand, shifted right
and limited.

The result is unsigned if both factors are and nothing is negated, else signed. The third operand has the same
signedness. The result has up to 66 bits if the product of two unsigned words is negated, or a third operand is
subtracted from it. Otherwise 64 bits hold it.
"""

from __future__ import annotations

from binalloc.frontend.emitter import MASK, Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.video import bounded
from binalloc.frontend.lower.video.bounded import BoundedValue
from binalloc.frontend.lower.video.scalar import part
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

_SCALES = {"": 0, "shr7": 7, "shr15": 15}  # suffix -> shift count
_XOR = 0x3C  # truth table of LOP3: a ^ b


def _signless(operand: ast.Operand) -> tuple[ast.Operand, bool]:
    """Return (operand without its sign, whether it has one)."""
    return (operand.base, True) if isinstance(operand, ast.Negative) else (operand, False)


def _vmad(ctx: Context, ins: Instruction) -> None:
    """Lower vmad."""
    m = ctx.modifiers()
    plus_one, saturates = m.has("po"), m.has("sat")
    scale = _SCALES[m.take("shr7", "shr15")]
    types = [m.type("u32", "s32") for _ in range(3)]
    m.done()
    d, x, y, z = ctx.operands(4)
    (x, minus_x), (y, minus_y), (z, minus_c) = _signless(x), _signless(y), _signless(z)
    minus_product = minus_x != minus_y
    if plus_one and (minus_x or minus_y or minus_c):
        m.refuse("vmad.po with a negated operand", expected="operands without signs")
    if minus_product and minus_c:
        m.refuse("vmad with product and third operand negated", expected="one of the two negated")
    signed = "s32" in types[1:] or minus_product or minus_c
    a, b = part(ctx, x, types[1]), part(ctx, y, types[2])
    c = bounded.word(ctx.word(z, "s32" if signed else "u32"), signed=signed)
    rd = ctx.dest(d, types[0])
    if not saturates and not scale:
        _low_word(ctx, rd, a, b, c, minus_product, minus_c, plus_one)
        return
    words = _sum(ctx, _product(ctx, a, b), c, minus_product, minus_c, plus_one)
    if scale:
        words = _moved_right(ctx, words, scale, signed=signed)
    if saturates:
        _limited(ctx, rd, words, signed=signed)
    else:
        ctx.b.move(rd, words[0])


def _low_word(
    ctx: Context,
    rd: int,
    a: BoundedValue,
    b: BoundedValue,
    c: BoundedValue,
    minus_product: bool,
    minus_c: bool,
    plus_one: bool,
) -> None:
    """Compute rd = a*b + c modulo 2^32, with the signs."""
    product = ctx.b.new()
    ctx.b.emit("IMAD", rd=product, a=a.low, b=b.low, c=RZ)
    signs: Fields = {"nega": int(minus_product), "negb": int(minus_c)}
    ctx.b.emit("IADD3", rd=rd, a=product, b=ctx.b.unit(c.low), c=Imm(1) if plus_one else RZ, **signs)


def _product(ctx: Context, a: BoundedValue, b: BoundedValue) -> BoundedValue:
    """Return a * b in 64 bits. They hold it, if its sign is known from the factors' ranges."""
    corners = [x * y for x in (a.least, a.most) for y in (b.least, b.most)]
    out = ctx.b.new(2)
    unsigned = a.least >= 0 and b.least >= 0
    mixed = not unsigned and not all(bounded.one_word(min(n.least, -1), n.most) for n in (a, b))
    one, other = ctx.b.unit(a.low), ctx.b.unit(b.low)
    ctx.b.emit("IMAD.WIDE", rd=out, a=one, b=other, c=RZ, u32=int(unsigned or mixed))
    words = wide.value(out)
    if mixed:  # where one factor is negative, the unsigned product is too large by 2^32 times the other factor
        factor, plain = (a, b) if a.least < 0 else (b, a)
        taken, high = ctx.b.new(), ctx.b.new()
        ctx.b.emit("LOP3", rd=taken, a=ctx.b.unit(plain.low), b=wide.sign_of(ctx, factor.low), c=RZ, lut=0xC0)
        ctx.b.emit("IADD3", rd=high, a=out + 1, b=taken, c=RZ, negb=1)
        words = (out, high)
    return BoundedValue(words, min(corners), max(corners))


def _sum(
    ctx: Context, product: BoundedValue, c: BoundedValue, minus_product: bool, minus_c: bool, plus_one: bool
) -> tuple[Source, ...]:
    """Return the product and c with their signs added, perhaps plus one, in two or three words."""
    least, most = (-product.most, -product.least) if minus_product else (product.least, product.most)
    c_least, c_most = (-c.most, -c.least) if minus_c else (c.least, c.most)
    unsigned = least >= 0 and c_least >= 0
    fits = unsigned or (least + c_least >= -1 << 63 and most + c_most + plus_one < 1 << 63)
    first: tuple[Source, ...] = (*bounded.both_words(ctx, product),)
    second: tuple[Source, ...] = (*bounded.both_words(ctx, c),)
    if not fits:  # a signed sum: the product of two unsigned words is extended by zeros, c by its sign
        first, second = (*first, RZ), (*second, second[1])
    if minus_product or minus_c:
        flipped = first if minus_product else second
        words = tuple(_complement(ctx, word) for word in flipped)
        first, second = (words, second) if minus_product else (first, words)
    return _added(ctx, first, second, one=plus_one or minus_product or minus_c)


def _complement(ctx: Context, source: Source) -> Source:
    if source == RZ or isinstance(source, Imm):
        return Imm(MASK if source == RZ else ~source.bits & MASK)  # type: ignore[union-attr]
    out = ctx.b.new()
    ctx.b.emit("LOP3", rd=out, a=ctx.b.unit(source), b=RZ, c=RZ, lut=0x0F)
    return out


def _added(ctx: Context, a: tuple[Source, ...], b: tuple[Source, ...], *, one: bool) -> tuple[Source, ...]:
    """Return the sum of equally long numbers, perhaps plus one."""
    out = []
    carry = PT
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        link, unit = ctx.b.predicate(), ctx.b.new()
        first, second = ctx.b.unit(x), ctx.b.unit(y)
        carried: Fields = {"ps0": carry, "ps0n": 0, "x": 1} if k or one else {}
        ctx.b.emit("IADD3", rd=unit, pd0=link, a=first, b=second, c=RZ, **carried)
        out.append(unit)
        carry = link
    return tuple(out)


def _moved_right(ctx: Context, words: tuple[Source, ...], count: int, *, signed: bool) -> tuple[Source, ...]:
    out: list[Source] = []
    for k, word in enumerate(words):
        unit = ctx.b.new()
        if k + 1 < len(words):
            ctx.b.emit("SHF", rd=unit, a=word, b=Imm(count), c=ctx.b.unit(words[k + 1]), dir="R")
        else:
            stype = "S32" if signed else "U32"
            ctx.b.emit("SHF", rd=unit, a=RZ, b=Imm(count), c=ctx.b.unit(word), dir="R", stype=stype, hi=1)
        out.append(unit)
    return tuple(out)


def _limited(ctx: Context, rd: int, words: tuple[Source, ...], *, signed: bool) -> None:
    """Compute rd = the number, limited to the range of a word."""
    low, *above = words
    sign: Source = wide.sign_of(ctx, low) if signed else RZ
    differs = ctx.b.predicate()
    gathered: Source = RZ
    for word in above:  # gathered | (word ^ sign)
        unit = ctx.b.new()
        ctx.b.emit("LOP3", rd=unit, a=ctx.b.unit(word), b=sign, c=ctx.b.unit(gathered), lut=_XOR | 0xAA)
        gathered = unit
    ctx.b.emit("ISETP", pd0=differs, a=ctx.b.unit(gathered), b=RZ, icmp="NE", u32cmp=1)
    limit: Source = Imm(MASK)
    if signed:
        limit = ctx.b.new()
        ctx.b.emit("LOP3", rd=limit, a=wide.sign_of(ctx, above[-1]), b=Imm(0x7FFFFFFF), c=RZ, lut=_XOR)
    wide.pick(ctx, rd, limit, low, (differs, 0))


PURE: dict[str, Handler] = {"vmad": _vmad}
