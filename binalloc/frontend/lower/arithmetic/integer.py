"""This module lowers integer sums, differences with carries, neg, abs, min, max and sad (PTX ISA 9.7.1, 9.7.2).

The condition code CC.CF is a predicate. PTX ISA calls it the carry after add and the borrow after sub. Hardware has one
flag instead: the carry of a + b and of a + ~b + 1. addc adds it to a + b, subc to a + ~b. That is the same where subc
reads the result of sub.cc. Where addc reads it, nvcc relies on the hardware's flag (its division of 128 bits).

Each .cc writes a fresh predicate, which later instructions of the block read directly. It also writes a copy to the one
predicate that is read across blocks. The copy is dead code if nothing reads it.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Guard, Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.context.context import Context, Fields, Handler, Pred
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")  # integer types of registers
COPY = 0xF0
"""Truth table of PLOP3 and LOP3: the first source."""


# ---------------------------------------------------------------------------------------------------------------------
# The condition code.


def carry(ctx: Context) -> Pred:
    """Return CC.CF as a source."""
    here = ctx.carry_here
    if here is not None and here[0] is ctx.b.block:
        return here[1]
    if ctx.carry is None:
        ctx.unsupported("carry")
    return ctx.carry, 0


def set_carry(ctx: Context, number: int) -> None:
    """Set CC.CF to predicate `number`, under the instruction's guard."""
    if ctx.carry is None:
        ctx.carry = ctx.b.predicate()
    guard: Guard | None = None
    if ctx.ins.guard is not None:
        guard = ctx.predicate_register(ctx.ins.guard[0]), ctx.ins.guard[1]
    ctx.b.emit("PLOP3", pd0=ctx.carry, ps0=number, ps0n=0, lut_b=COPY, lut2=0, guard=guard)
    ctx.carry_here = (ctx.b.block, (number, 0)) if guard is None else None


def carried_sum(
    ctx: Context,
    rd: int,
    a: wide.Wide,
    b: wide.Wide,
    size: int,
    *,
    negative: int = 0,
    reads: bool = False,
    writes: bool = False,
) -> None:
    """Emit rd = a + b + CC.CF, or a + ~b + CC.CF.

    size: 4 takes the low words only. reads, writes: whether CC.CF is read and written.
    """
    into = carry(ctx) if reads else None
    out = ctx.b.predicate() if writes else PT
    if size == 8:
        wide.add(ctx, rd, a, b, negb=negative, carry_in=into, carry_out=out)
    else:
        fields: Fields = {"ps0": into[0], "ps0n": into[1], "x": 1} if into is not None else {}
        ctx.b.emit("IADD3", rd=rd, pd0=out, a=a[0], b=b[0], c=RZ, negb=negative, **fields)
    if writes:
        set_carry(ctx, out)


# ---------------------------------------------------------------------------------------------------------------------
# Sums.


def _sum(negative: int, reads: bool) -> Handler:
    """Return the handler of add, sub, addc or subc."""

    def handler(ctx: Context, ins: Instruction) -> None:
        m = ctx.modifiers()
        saturate, writes = m.has("sat") if not reads else False, m.has("cc")
        type_ = m.type(*(INTEGERS[2:] if reads or writes else INTEGERS))
        m.done()
        if saturate and (type_ != "s32" or writes):
            m.refuse(f"{ins.op}.sat is for .s32 without .cc", expected=f"{ins.op}.sat.s32")
        d, x, y = ctx.operands(3)
        size = TYPE_BYTES[type_]
        if size == 8:
            rd, a, b = wide.target(ctx, d, type_), ctx.wide(x, type_), ctx.wide(y, type_)
        else:
            rd, a, b = ctx.dest(d, type_), (ctx.word(x, type_), RZ), (ctx.word(y, type_), RZ)
        if saturate:
            saturated_sum(ctx, rd, a[0], b[0], negative)
        else:
            carried_sum(ctx, rd, a, b, size, negative=negative, reads=reads, writes=writes)

    return handler


_OVERFLOW = ((0xF0 ^ 0xAA) & (0xCC ^ 0xAA), (0xF0 ^ 0xCC) & (0xF0 ^ 0xAA))
"""Truth tables of LOP3 over (a, b, total). The top bit of the result says whether a + b, or a - b, has overflowed."""


def saturated_sum(ctx: Context, rd: int, x: Source, y: Source, negative: int) -> None:
    """Emit rd = x + y (x - y), limited to the range of s32."""
    emit = ctx.b.emit
    a, b = ctx.b.unit(x), ctx.b.unit(y)
    total, sign, limit, overflow = (ctx.b.new() for _ in range(4))
    emit("IADD3", rd=total, a=a, b=b, c=RZ, negb=negative)
    emit("LOP3", rd=sign, a=a, b=b, c=total, lut=_OVERFLOW[negative])
    wide.sign(ctx, overflow, a)
    emit("LOP3", rd=limit, a=overflow, b=Imm(0x7FFFFFFF), c=RZ, lut=0x3C)
    wrong = ctx.b.predicate()
    emit("ISETP", pd0=wrong, a=sign, b=RZ, icmp="LT")
    wide.pick(ctx, rd, limit, total, (wrong, 0))


# ---------------------------------------------------------------------------------------------------------------------
# Sign, order, differences.


def _neg(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("s16", "s32", "s64")
    m.done()
    d, a = ctx.operands(2)
    if type_ == "s64":
        wide.negate(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_))
    else:
        ctx.b.emit("IADD3", rd=ctx.dest(d, type_), a=RZ, b=ctx.word(a, type_), c=RZ, negb=1)


def _abs(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type("s16", "s32", "s64")
    m.done()
    d, a = ctx.operands(2)
    if type_ != "s64":
        ctx.b.emit("IABS", rd=ctx.dest(d, type_), b=ctx.extended(a, type_))
        return
    absolute(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_))


def absolute(ctx: Context, rd: int, a: wide.Wide) -> None:
    """Emit rd = |a|, modulo 2^64."""
    opposite, negative = ctx.b.new(2), ctx.b.predicate()
    wide.negate(ctx, opposite, a)
    ctx.b.emit("ISETP", pd0=negative, a=a[1], b=RZ, icmp="LT")
    wide.select(ctx, rd, wide.value(opposite), a, (negative, 0))


def _extreme(smaller: bool) -> Handler:
    """Return the handler of min or max."""

    def handler(ctx: Context, ins: Instruction) -> None:
        m = ctx.modifiers()
        relu = m.has("relu")
        type_ = m.type(*INTEGERS)
        m.done()
        if relu and type_ != "s32":
            m.refuse(f"{ins.op}.relu of type .{type_}", expected=f"{ins.op}.relu of .s32 or .s16x2")
        d, a, b = ctx.operands(3)
        signed = type_[0] == "s"
        if TYPE_BYTES[type_] == 8:
            rd = wide.target(ctx, d, type_)
            wide.extreme(ctx, rd, ctx.wide(a, type_), ctx.wide(b, type_), signed=signed, smaller=smaller)
            return
        rd = ctx.dest(d, type_)
        out = ctx.b.new() if relu else rd
        narrow_extreme(ctx, out, ctx.extended(a, type_), ctx.extended(b, type_), signed, smaller)
        if relu:
            narrow_extreme(ctx, rd, out, RZ, True, False)

    return handler


def narrow_extreme(ctx: Context, rd: int, a: Source, b: Source, signed: bool, smaller: bool) -> None:
    """Emit rd = the smaller or the larger of two words."""
    ctx.b.emit("IMNMX", rd=rd, a=a, b=b, ps0=PT, ps0n=int(not smaller), u32=int(not signed))


def difference(ctx: Context, rd: int, a: Source, b: Source, c: Source, *, signed: bool) -> None:
    """Emit rd = |a - b| + c, modulo 2^32."""
    larger, smaller = ctx.b.new(), ctx.b.new()
    narrow_extreme(ctx, larger, a, b, signed, False)
    narrow_extreme(ctx, smaller, a, b, signed, True)
    ctx.b.emit("IADD3", rd=rd, a=larger, b=smaller, c=c, negb=1)


def _sad(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type(*INTEGERS)
    m.done()
    d, x, y, z = ctx.operands(4)
    signed = type_[0] == "s"
    if TYPE_BYTES[type_] < 8:
        a, b = ctx.extended(x, type_), ctx.extended(y, type_)
        difference(ctx, ctx.dest(d, type_), a, b, ctx.word(z, type_), signed=signed)
        return
    first, second, addend = (ctx.wide(o, type_) for o in (x, y, z))
    larger, smaller, gap = ctx.b.new(2), ctx.b.new(2), ctx.b.new(2)
    wide.extreme(ctx, larger, first, second, signed=signed, smaller=False)
    wide.extreme(ctx, smaller, first, second, signed=signed, smaller=True)
    wide.add(ctx, gap, wide.value(larger), wide.value(smaller), negb=1)
    wide.add(ctx, wide.target(ctx, d, type_), wide.value(gap), addend)


PURE: dict[str, Handler] = {
    "add": _sum(0, False),
    "sub": _sum(1, False),
    "addc": _sum(0, True),
    "subc": _sum(1, True),
    "neg": _neg,
    "abs": _abs,
    "min": _extreme(True),
    "max": _extreme(False),
    "sad": _sad,
}
