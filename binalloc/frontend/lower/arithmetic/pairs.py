"""This module lowers arithmetic on two 16-bit integers in a word, on two f32 in 64 bits, and cvt.pack (PTX ISA 9.7.1,
9.7.3, 9.7.9.22). `half` lowers arithmetic on pairs of 16-bit floats."""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.floating.floats import FLOAT_ROUNDINGS
from binalloc.frontend.lower.arithmetic.integer import narrow_extreme
from binalloc.frontend.lower.arithmetic.logic import AND
from binalloc.frontend.lower.arithmetic.multiply import half
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import RND
from binalloc.frontend.ptx.ast import Instruction

_UPPER = Imm(0xFFFF0000)  # the bits of the high half
_LOW_AND_HIGH = Imm(0x7610)
"""Selector of PRMT: the low half of a, the high half of c."""


def _sum(ctx: Context, ins: Instruction) -> None:
    """Lower add of .u16x2 and .s16x2: each half wraps around."""
    m = ctx.modifiers()
    m.take("u16x2", "s16x2")
    m.done()
    d, x, y = ctx.operands(3)
    a, b = ctx.b.unit(ctx.word(x, "b32")), ctx.b.unit(ctx.word(y, "b32"))
    low, upper, high = ctx.b.new(), ctx.b.new(), ctx.b.new()
    ctx.b.emit("IADD3", rd=low, a=a, b=b, c=RZ)
    ctx.b.emit("LOP3", rd=upper, a=a, b=_UPPER, c=RZ, lut=AND)  # no carry out of the low half
    ctx.b.emit("IADD3", rd=high, a=upper, b=b, c=RZ)
    ctx.b.emit("PRMT", rd=ctx.dest(d, "b32"), a=low, b=_LOW_AND_HIGH, c=high)


def _extreme(smaller: bool) -> Handler:
    """Return the handler of min or max of .u16x2 and .s16x2."""

    def handler(ctx: Context, ins: Instruction) -> None:
        m = ctx.modifiers()
        signed, relu = m.take("u16x2", "s16x2") == "s16x2", m.has("relu")
        m.done()
        if relu and not signed:
            m.refuse(f"{ins.op}.relu of unsigned halves", expected=f"{ins.op}.relu.s16x2")
        d, x, y = ctx.operands(3)
        a, b = ctx.b.unit(ctx.word(x, "b32")), ctx.b.unit(ctx.word(y, "b32"))
        results = []
        for k in range(2):
            out = ctx.b.new()
            narrow_extreme(ctx, out, half(ctx, a, k, signed=signed), half(ctx, b, k, signed=signed), signed, smaller)
            results.append(positive(ctx, out) if relu else out)
        ctx.b.emit("PRMT", rd=ctx.dest(d, "b32"), a=results[0], b=Imm(0x5410), c=results[1])

    return handler


def positive(ctx: Context, unit: int) -> int:
    """Return a fresh unit: the signed word, or 0 where it is negative."""
    out = ctx.b.new()
    narrow_extreme(ctx, out, unit, RZ, True, False)
    return out


def _two_singles(name: str, sources: int, **fields: int) -> Handler:
    """Return the handler of add, sub, mul or fma of .f32x2."""

    def handler(ctx: Context, ins: Instruction) -> None:
        m = ctx.modifiers()
        rounding, ftz = m.take(*FLOAT_ROUNDINGS), int(m.has("ftz"))
        m.take("f32x2")
        m.done()
        if sources == 3 and not rounding:
            m.refuse(f"{ins.op}.f32x2 needs a rounding", expected=".rn, .rz, .rm or .rp")
        d, *operands = ctx.operands(sources + 1)
        values = [ctx.wide(operand, "b64") for operand in operands]
        results = []
        for k in range(2):
            a, b, *c = [ctx.b.unit(value[k]) for value in values]
            suffixes: Fields = {"rnd": RND[rounding or "rn"], "ftz": ftz, **fields}
            results.append(ctx.b.new())
            ctx.b.emit(name, rd=results[k], a=a, b=b, c=c[0] if c else None, **suffixes)
        wide.move(ctx, wide.target(ctx, d, "b64"), (results[0], results[1]))

    return handler


_PACKED = {"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}
"""Result type of cvt.pack -> its bits."""


def pack(ctx: Context, ins: Instruction) -> None:
    """Lower cvt.pack.sat: limited b in the lowest bits, limited a above it, and above both the low bits of c."""
    m = ctx.modifiers()
    m.has("pack")
    saturates, to = m.has("sat"), m.take(*_PACKED)
    if not saturates or not to:
        m.refuse("not a cvt.pack", expected="cvt.pack.sat.u16.s32, or .s16, or .u8 to .s2 and .b32 behind .s32")
    m.type("s32")
    bits, signed = _PACKED[to], to[0] == "s"
    if bits < 16:
        m.type("b32")
    m.done()
    d, x, y, *z = ctx.operands(3 if bits == 16 else 4)
    least, most = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    mask = Imm((1 << bits) - 1)
    parts = []
    for operand in (x, y):
        up, limited, kept = ctx.b.new(), ctx.b.new(), ctx.b.new()
        ctx.b.emit("IMNMX", rd=up, a=ctx.word(operand, "s32"), b=imm(least), ps0=PT, ps0n=1)
        ctx.b.emit("IMNMX", rd=limited, a=up, b=imm(most), ps0=PT)
        ctx.b.emit("LOP3", rd=kept, a=limited, b=mask, c=RZ, lut=AND)
        parts.append(kept)
    above: Source = RZ
    if z:
        above = ctx.b.new()
        ctx.b.emit("SHF", rd=above, a=ctx.b.unit(ctx.word(z[0], "b32")), b=Imm(2 * bits), c=RZ, dir="L")
    moved, rd = ctx.b.new(), ctx.dest(d, "b32")
    ctx.b.emit("SHF", rd=moved, a=parts[0], b=Imm(bits), c=RZ, dir="L")
    ctx.b.emit("LOP3", rd=rd, a=moved, b=parts[1], c=ctx.b.unit(above), lut=0xFE)


_INTEGERS: dict[str, Handler] = {"add": _sum, "min": _extreme(True), "max": _extreme(False)}
HANDLERS: dict[str, dict[str, Handler]] = {
    "u16x2": _INTEGERS,
    "s16x2": _INTEGERS,
    "f32x2": {
        "add": _two_singles("FADD", 2),
        "sub": _two_singles("FADD", 2, negb=1),
        "mul": _two_singles("FMUL", 2),
        "fma": _two_singles("FFMA", 3),
    },
}
"""Type (the last suffix) -> opcode -> handler."""
