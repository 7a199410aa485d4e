"""This module lowers bit counting, fields, masks and byte permutation: popc, clz, bfind, brev, bfe, bfi, bmsk, szext,
prmt, fns (PTX ISA 9.7.1).

Positions and lengths of fields are the low 8 bits of their operands.
"""

from __future__ import annotations

from binalloc.frontend.emitter import MASK, Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.logic import (
    AND,
    NOT_A,
    XOR,
    A,
    B,
    lop,
    select_bits,
    shift_word_left,
    shift_word_right,
)
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

ONES = Imm(MASK)
AND_NOT = A & ~B & 0xFF  # truth table of LOP3: a & ~b


# ---------------------------------------------------------------------------------------------------------------------
# Counting. Results are 32 bits wide.


def _plain(ctx: Context, *types: str) -> tuple[str, ast.Operand, ast.Operand]:
    m = ctx.modifiers()
    type_ = m.type(*types)
    m.done()
    d, a = ctx.operands(2)
    return type_, d, a


def _popc(ctx: Context, ins: Instruction) -> None:
    type_, d, a = _plain(ctx, "b32", "b64")
    rd = ctx.dest(d, "u32")
    if type_ == "b32":
        ctx.b.emit("POPC", rd=rd, b=ctx.word(a, type_))
        return
    counts = []
    for word in ctx.wide(a, type_):
        counts.append(ctx.b.new())
        ctx.b.emit("POPC", rd=counts[-1], b=word)
    ctx.b.emit("IADD3", rd=rd, a=counts[0], b=counts[1], c=RZ)


def _clz(ctx: Context, ins: Instruction) -> None:
    """Lower clz: 31 minus the leading one's index. FLO gives all ones for 0, so a minimum limits the count."""
    type_, d, a = _plain(ctx, "b32", "b64")
    words = ctx.wide(a, type_) if type_ == "b64" else (ctx.word(a, type_),)
    rd = ctx.dest(d, "u32")
    counts = []
    for word in words:
        lead, count = ctx.b.new(), ctx.b.new()
        ctx.b.emit("FLO", rd=lead, b=word, u32=1, sh=1)
        counts.append(count if type_ == "b64" else rd)
        ctx.b.emit("IMNMX", rd=counts[-1], a=lead, b=Imm(32), ps0=PT, u32=1)
    if type_ == "b64":
        low, empty = ctx.b.new(), ctx.b.predicate()
        ctx.b.emit("IADD3", rd=low, a=counts[0], b=Imm(32), c=RZ)
        ctx.b.emit("ISETP", pd0=empty, a=words[-1], b=RZ, icmp="EQ", u32cmp=1)
        wide.pick(ctx, rd, low, counts[1], (empty, 0))


def _bfind(ctx: Context, ins: Instruction) -> None:
    """Lower bfind: the index of the leading bit, for signed types of the leading bit that differs from the sign.

    Where there is none, the result is all ones. With .shiftamt the result is the shift count that brings the bit to the
    top.
    """
    m = ctx.modifiers()
    amount = int(m.has("shiftamt"))
    type_ = m.type("u32", "s32", "u64", "s64")
    m.done()
    d, a = ctx.operands(2)
    if type_[1:] == "32":
        ctx.b.emit("FLO", rd=ctx.dest(d, "u32"), b=ctx.word(a, type_), u32=int(type_ == "u32"), sh=amount)
        return
    low, high = ctx.wide(a, type_)
    if type_ == "s64":
        sign, words = wide.sign_of(ctx, high), (ctx.b.new(), ctx.b.new())
        for unit, word in zip(words, (low, high), strict=True):
            lop(ctx, unit, sign, word, XOR)
        low, high = words
    found = [ctx.b.new(), ctx.b.new()]
    for unit, word in zip(found, (low, high), strict=True):
        ctx.b.emit("FLO", rd=unit, b=word, u32=1, sh=amount)
    empty, moved = ctx.b.predicate(), ctx.b.new()
    ctx.b.emit("ISETP", pd0=empty, a=high, b=RZ, icmp="EQ", u32cmp=1)
    # For an index below 32, OR with 32 is the addition of 32. It leaves all ones unchanged.
    further = found[0] if amount else found[1]
    ctx.b.emit("LOP3", rd=moved, a=further, b=Imm(32), c=RZ, lut=A | B)
    one, other = (moved, found[1]) if amount else (found[0], moved)
    wide.pick(ctx, ctx.dest(d, "u32"), one, other, (empty, 0))


def _brev(ctx: Context, ins: Instruction) -> None:
    type_, d, a = _plain(ctx, "b32", "b64")
    if type_ == "b32":
        ctx.b.emit("BREV", rd=ctx.dest(d, type_), b=ctx.word(a, type_))
        return
    rd, words, low = wide.target(ctx, d, type_), ctx.wide(a, type_), ctx.b.new()
    ctx.b.emit("BREV", rd=low, b=words[1])
    ctx.b.emit("BREV", rd=rd + 1, b=words[0])
    ctx.b.move(rd, low)


# ---------------------------------------------------------------------------------------------------------------------
# Fields: sequences over 32 or 64 bits by `_Width`.


class _Width:
    """`_Width` emits shifts and copies of 32 or of 64 bits. Values are tuples of one or two words."""

    def __init__(self, ctx: Context, bits: int) -> None:
        self.ctx = ctx
        self.bits = bits
        self.units = bits // 32

    def read(self, operand: ast.Operand, type_: str) -> tuple[Source, ...]:
        return (self.ctx.word(operand, type_),) if self.units == 1 else self.ctx.wide(operand, type_)

    def target(self, operand: ast.Operand, type_: str) -> int:
        if self.units == 2:
            return wide.target(self.ctx, operand, type_)
        return self.ctx.dest(operand, type_)

    def words(self, unit: int) -> tuple[Source, ...]:
        return tuple(range(unit, unit + self.units))

    def constant(self, number: int) -> tuple[Source, ...]:
        return tuple(Imm(number >> 32 * k & MASK) for k in range(self.units))

    def left(self, rd: int, a: tuple[Source, ...], count: Source) -> None:
        if self.units == 1:
            shift_word_left(self.ctx, rd, a[0], count)
        else:
            wide.shift_left(self.ctx, rd, (a[0], a[1]), count)

    def right(self, rd: int, a: tuple[Source, ...], count: Source, *, signed: bool) -> None:
        if self.units == 1:
            shift_word_right(self.ctx, rd, a[0], count, signed=signed)
        else:
            wide.shift_right(self.ctx, rd, (a[0], a[1]), count, signed=signed)

    def shifted_left(self, a: tuple[Source, ...], count: Source) -> tuple[Source, ...]:
        if count == Imm(0):
            return a
        out = self.ctx.b.new(self.units)
        self.left(out, a, count)
        return self.words(out)

    def above(self, count: Source) -> tuple[Source, ...]:
        """Return ones from bit min(count, width) up."""
        if isinstance(count, Imm):
            return self.constant(-1 << min(count.bits, self.bits))
        return self.shifted_left((ONES,) * self.units, count)


def _byte(ctx: Context, operand: ast.Operand) -> Source:
    """Return the low 8 bits of a position or length."""
    source = ctx.word(operand, "u32")
    if isinstance(source, Imm):
        return Imm(source.bits & 0xFF)
    out = ctx.b.new()
    ctx.b.emit("LOP3", rd=out, a=source, b=Imm(0xFF), c=RZ, lut=AND)
    return out


def _bfe(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("u32", "s32", "u64", "s64")
    m.done()
    d, x, p, n = ctx.operands(4)
    w = _Width(ctx, int(type_[1:]))
    a, pos, length, rd = w.read(x, type_), _byte(ctx, p), _byte(ctx, n), w.target(d, type_)
    if type_[0] == "s":
        _signed_field(ctx, w, rd, a, pos, length)
        return
    moved = ctx.b.new(w.units)
    if isinstance(pos, Imm) and isinstance(length, Imm) and pos.bits + length.bits >= w.bits:
        w.right(rd, a, pos, signed=False)
        return
    w.right(moved, a, pos, signed=False)
    for k, word in enumerate(w.above(length)):
        if isinstance(word, Imm):
            lop(ctx, rd + k, moved + k, Imm(~word.bits & MASK), AND)
        else:
            ctx.b.emit("LOP3", rd=rd + k, a=moved + k, b=word, c=RZ, lut=AND_NOT)


def _signed_field(ctx: Context, w: _Width, rd: int, a: tuple[Source, ...], pos: Source, length: Source) -> None:
    """Emit a signed bfe: shift the field to the top, at most by its end, and back down with copies of its sign."""
    if isinstance(pos, Imm) and isinstance(length, Imm):
        if length.bits == 0:
            for k in range(w.units):
                ctx.b.move(rd + k, RZ)
            return
        up = w.bits - min(pos.bits + length.bits, w.bits)
        w.right(rd, w.shifted_left(a, Imm(up)), Imm(up + pos.bits), signed=True)
        return
    end, up, down, top = ctx.b.new(), ctx.b.new(), ctx.b.new(), ctx.b.new()
    ctx.b.emit("IADD3", rd=end, a=pos, b=length, c=RZ)
    ctx.b.emit("IMNMX", rd=top, a=end, b=Imm(w.bits), ps0=PT, u32=1)
    ctx.b.emit("IADD3", rd=up, a=top, b=Imm(w.bits), c=RZ, nega=1)
    ctx.b.emit("IADD3", rd=down, a=up, b=pos, c=RZ)
    field, empty = ctx.b.new(w.units), ctx.b.predicate()
    w.right(field, w.shifted_left(a, up), down, signed=True)
    ctx.b.emit("ISETP", pd0=empty, a=length, b=RZ, icmp="EQ", u32cmp=1)
    for k in range(w.units):
        wide.pick(ctx, rd + k, RZ, field + k, (empty, 0))


def _bfi(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("b32", "b64")
    m.done()
    d, x, y, p, n = ctx.operands(5)
    w = _Width(ctx, int(type_[1:]))
    a, base, pos, length = w.read(x, type_), w.read(y, type_), _byte(ctx, p), _byte(ctx, n)
    rd = w.target(d, type_)
    if isinstance(pos, Imm) and isinstance(length, Imm):
        mask = w.constant(((1 << length.bits) - 1 << pos.bits) & ((1 << w.bits) - 1))
    else:
        mask = _inverted(ctx, w, w.above(length))
        mask = w.shifted_left(mask, pos)
    moved = w.shifted_left(a, pos)
    for k in range(w.units):
        select_bits(ctx, rd + k, moved[k], mask[k], base[k])


def _inverted(ctx: Context, w: _Width, words: tuple[Source, ...]) -> tuple[Source, ...]:
    if all(isinstance(word, Imm) for word in words):
        return tuple(Imm(~word.bits & MASK) for word in words if isinstance(word, Imm))
    out = ctx.b.new(w.units)
    for k, word in enumerate(words):
        ctx.b.emit("LOP3", rd=out + k, a=word, b=RZ, c=RZ, lut=NOT_A)
    return w.words(out)


# ---------------------------------------------------------------------------------------------------------------------
# Masks, extension, permutation.


def _mode(ctx: Context, *types: str) -> tuple[int, str]:
    """Return (whether counts wrap, type) of bmsk and szext."""
    m = ctx.modifiers()
    mode = m.take("clamp", "wrap")
    type_ = m.type(*types)
    m.done()
    if not mode:
        m.refuse(f"{ctx.ins.op} without a mode", expected=f"{ctx.ins.op}.clamp or .wrap")
    return int(mode == "wrap"), type_


def _bmsk(ctx: Context, ins: Instruction) -> None:
    """Lower bmsk: `b` ones from bit `a` up."""
    wrap, type_ = _mode(ctx, "b32")
    d, a, b = ctx.operands(3)
    above, ones = ctx.b.new(), ctx.b.new()
    start, count = ctx.word(a, type_), ctx.word(b, type_)
    ctx.b.emit("SHF", rd=above, a=ONES, b=count, c=RZ, dir="L", wrap=wrap)
    ctx.b.emit("LOP3", rd=ones, a=above, b=RZ, c=RZ, lut=NOT_A)
    ctx.b.emit("SHF", rd=ctx.dest(d, type_), a=ones, b=start, c=RZ, dir="L", wrap=wrap)


def _szext(ctx: Context, ins: Instruction) -> None:
    """Lower szext: the low `b` bits of a, sign- or zero-extended; 0 where `b` is 0."""
    wrap, type_ = _mode(ctx, "u32", "s32")
    d, a, b = ctx.operands(3)
    value, count = ctx.b.unit(ctx.word(a, type_)), ctx.b.unit(ctx.word(b, "u32"))
    if type_ == "u32":
        above = ctx.b.new()
        ctx.b.emit("SHF", rd=above, a=ONES, b=count, c=RZ, dir="L", wrap=wrap)
        ctx.b.emit("LOP3", rd=ctx.dest(d, type_), a=value, b=above, c=RZ, lut=AND_NOT)
        return
    kept, up, moved = ctx.b.new(), ctx.b.new(), ctx.b.new()
    if wrap:
        ctx.b.emit("LOP3", rd=kept, a=count, b=Imm(31), c=RZ, lut=AND)
    else:
        ctx.b.emit("IMNMX", rd=kept, a=count, b=Imm(32), ps0=PT, u32=1)
    ctx.b.emit("IADD3", rd=up, a=kept, b=Imm(32), c=RZ, nega=1)
    shift_word_left(ctx, moved, value, up)
    shift_word_right(ctx, ctx.dest(d, type_), moved, up, signed=True)


def _prmt(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    m.type("b32")
    mode = m.take("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    m.done()
    d, a, b, s = ctx.operands(4)
    ctx.b.emit(
        "PRMT",
        rd=ctx.dest(d, "b32"),
        a=ctx.word(a, "b32"),
        b=ctx.word(s, "b32"),
        c=ctx.word(b, "b32"),
        prmt=mode.upper(),
    )


def _fns(ctx: Context, ins: Instruction) -> None:
    """Lower fns: the position of the n-th one from bit `base` on, n = |offset|; all ones where there is none.

    The search goes upwards, or downwards for a negative offset. For offset 0 only bit `base` counts. Bits below the
    base are cleared, in the reversed mask for a search downwards. The n-th one of the rest is found by bisection: where
    the lower half has fewer ones, it is in the upper half.
    """
    ctx.modifiers().type("b32")
    d, a, p, n = ctx.operands(4)
    emit, new = ctx.b.emit, ctx.b.new
    mask, base, offset = (ctx.b.unit(ctx.word(o, t)) for o, t in ((a, "b32"), (p, "b32"), (n, "s32")))
    down, alone, none = (ctx.b.predicate() for _ in range(3))
    emit("ISETP", pd0=down, a=offset, b=RZ, icmp="LT")
    emit("ISETP", pd0=alone, a=offset, b=RZ, icmp="EQ")
    mirrored, other, order, start, count, less, left = (new() for _ in range(7))
    emit("BREV", rd=mirrored, b=mask)
    emit("IADD3", rd=other, a=base, b=Imm(31), c=RZ, nega=1)
    emit("SEL", rd=order, a=mirrored, b=mask, ps0=down)
    emit("SEL", rd=start, a=other, b=base, ps0=down)
    emit("IABS", rd=count, b=offset)
    emit("IADD3", rd=less, a=count, b=ONES, c=RZ)
    wide.pick(ctx, left, RZ, less, (alone, 0))
    lowest, field, bits, ones = (new() for _ in range(4))
    wide.pick(ctx, lowest, Imm(1), ONES, (alone, 0))
    emit("SHF", rd=field, a=lowest, b=start, c=RZ, dir="L")
    emit("LOP3", rd=bits, a=order, b=field, c=RZ, lut=AND)
    emit("POPC", rd=ones, b=bits)
    emit("ISETP", pd0=none, a=left, b=ones, icmp="GE", u32cmp=1)
    place: int = RZ
    for width in (16, 8, 4, 2, 1):
        below, inside, rest, shifted, next_left, next_bits, next_place = (new() for _ in range(7))
        further = ctx.b.predicate()
        emit("LOP3", rd=below, a=bits, b=Imm((1 << width) - 1), c=RZ, lut=AND)
        emit("POPC", rd=inside, b=below)
        emit("ISETP", pd0=further, a=left, b=inside, icmp="GE", u32cmp=1)
        emit("IADD3", rd=rest, a=left, b=inside, c=RZ, negb=1)
        emit("SHF", rd=shifted, a=RZ, b=Imm(width), c=bits, dir="R", hi=1)
        wide.pick(ctx, next_left, rest, left, (further, 0))
        wide.pick(ctx, next_bits, shifted, bits, (further, 0))
        emit("IADD3", rd=next_place, a=place, b=Imm(width), c=RZ)
        chosen = new()
        wide.pick(ctx, chosen, next_place, place, (further, 0))
        left, bits, place = next_left, next_bits, chosen
    back, found = new(), new()
    emit("IADD3", rd=back, a=place, b=Imm(31), c=RZ, nega=1)
    emit("SEL", rd=found, a=back, b=place, ps0=down)
    wide.pick(ctx, ctx.dest(d, "b32"), ONES, found, (none, 0))


PURE: dict[str, Handler] = {
    "fns": _fns,
    "popc": _popc,
    "clz": _clz,
    "bfind": _bfind,
    "brev": _brev,
    "bfe": _bfe,
    "bfi": _bfi,
    "bmsk": _bmsk,
    "szext": _szext,
    "prmt": _prmt,
}
