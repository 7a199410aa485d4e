"""This module lowers cvt from and to floats below 16 bits, and to tf32 (PTX ISA 9.7.9.21).

e4m3 and e5m2 come in pairs, and are converted by routines of the library. tf32 is f32 with the last 13 bits of the
fraction zero.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.library import call_library
from binalloc.frontend.lower.arithmetic.logic import AND
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.ptx.ast import Instruction

_FLOAT8 = {"e4m3x2": (121, 3, 0x7E), "e5m2x2": (113, 2, 0x7B)}
"""Type -> (exponent of the smallest normal number, biased as in f32; bits of the fraction; code of the largest
number)."""
TYPES = frozenset(("tf32", *_FLOAT8))  # a cvt with one of these types is lowered here
_KEPT, _LAST, _NAN = 0xFFFFE000, 13, 0x7FFFFFFF  # bits of an f32 that tf32 keeps, the lowest of them; canonical NaN
_LARGEST = 0x7F7FE000  # the largest number of tf32
_EXPONENT = 0x7F800000  # exponent bits of an f32; the pattern of infinity


def convert(ctx: Context, ins: Instruction) -> None:
    """Lower a cvt with one of TYPES."""
    m = ctx.modifiers()
    rnd = m.take("rn", "rz", "rna")
    relu, finite = m.has("relu"), m.has("satfinite")
    to, of = m.take(*TYPES, "f16x2", "f32"), m.take(*TYPES, "f16x2", "f32")
    m.done()
    if to == "tf32" and of == "f32" and rnd and (rnd != "rna" or not relu):
        _to_tf32(ctx, rnd, relu=relu, finite=finite)
    elif to in _FLOAT8 and of in ("f32", "f16x2") and rnd == "rn" and finite:
        _to_float8(ctx, _FLOAT8[to], of, relu=relu)
    elif to == "f16x2" and of in _FLOAT8 and rnd == "rn" and not finite:
        _of_float8(ctx, of[:4], relu=relu)
    else:
        _refuse(m)


def _refuse(m: Modifiers) -> None:
    expected = ".rn, .rz or .rna.tf32.f32, .rn.satfinite to a pair of .f32 or .f16x2, .rn.f16x2 of a pair"
    m.refuse("not a conversion of a small float", expected=expected)


def _positive(ctx: Context, value: Source) -> Source:
    """Return zero for a negative f32, else the value. A NaN stays one."""
    negative, number, either, out = ctx.b.predicate(), ctx.b.predicate(), ctx.b.predicate(), ctx.b.new()
    unit = ctx.b.unit(value)
    ctx.b.emit("ISETP", pd0=negative, a=unit, b=Imm(0), icmp="LT")
    magnitude = ctx.b.new()
    ctx.b.emit("LOP3", rd=magnitude, a=unit, b=Imm(0x7FFFFFFF), c=RZ, lut=AND)
    ctx.b.emit("ISETP", pd0=number, a=magnitude, b=Imm(_EXPONENT), icmp="LE", u32cmp="U32", ps0=negative)
    either = number
    ctx.b.emit("SEL", rd=out, a=RZ, b=unit, ps0=either, ps0n=0)
    return out


def _to_float8(ctx: Context, kind: tuple[int, int, int], of: str, *, relu: bool) -> None:
    if of == "f32":
        d, high, low = ctx.operands(3)
        values: list[Source] = [ctx.word(low, "f32"), ctx.word(high, "f32")]
    else:
        d, both = ctx.operands(2)
        values = list(call_library(ctx, "of_halves", [ctx.word(both, of)], 2))
    if relu:
        values = [_positive(ctx, value) for value in values]
    low8, high8 = (call_library(ctx, "to_float8", [value, *map(Imm, kind)], 1)[0] for value in values)
    ctx.b.emit("PRMT", rd=ctx.dest(d, "b16"), a=low8, b=Imm(0x0040), c=high8)


def _of_float8(ctx: Context, name: str, *, relu: bool) -> None:
    d, pair = ctx.operands(2)
    source, high = ctx.b.unit(ctx.word(pair, "b16")), ctx.b.new()
    ctx.b.emit("SHF", rd=high, a=RZ, b=Imm(8), c=source, dir="R", stype="U32", hi=1)
    halves = [call_library(ctx, f"of_{name}", [code], 1)[0] for code in (source, high)]
    rd = ctx.dest(d, "f16x2")
    joined = ctx.b.new() if relu else rd
    ctx.b.emit("PRMT", rd=joined, a=halves[0], b=Imm(0x5410), c=halves[1])
    if relu:
        ctx.b.emit("HMNMX2", rd=rd, a=joined, b=Imm(0), hfmt="F16", hnan=1, ps0=PT, ps0n=1)


def _to_tf32(ctx: Context, rnd: str, *, relu: bool, finite: bool) -> None:
    """Lower cvt to tf32. The pattern is rounded as an integer: a carry goes into the exponent, up to infinity."""
    d, a = ctx.operands(2)
    source = ctx.word(a, "f32")
    unit = ctx.b.unit(_positive(ctx, source) if relu else source)
    added, magnitude, rounded, nan = ctx.b.new(), ctx.b.new(), ctx.b.new(), ctx.b.predicate()
    if rnd == "rn":  # to even: add half of the last bit minus one, and one more where that bit is set
        moved, odd = ctx.b.new(), ctx.b.new()
        ctx.b.emit("SHF", rd=moved, a=RZ, b=Imm(_LAST), c=unit, dir="R", stype="U32", hi=1)
        ctx.b.emit("LOP3", rd=odd, a=moved, b=Imm(1), c=RZ, lut=AND)
        ctx.b.emit("IADD3", rd=added, a=unit, b=Imm((1 << _LAST - 1) - 1), c=odd)
    else:
        ctx.b.emit("IADD3", rd=added, a=unit, b=Imm(1 << _LAST - 1 if rnd == "rna" else 0), c=RZ)
    ctx.b.emit("LOP3", rd=magnitude, a=unit, b=Imm(0x7FFFFFFF), c=RZ, lut=AND)
    ctx.b.emit("ISETP", pd0=nan, a=magnitude, b=Imm(_EXPONENT), icmp="GT", u32cmp="U32")
    ctx.b.emit("LOP3", rd=rounded, a=added, b=Imm(_KEPT), c=RZ, lut=AND)
    if finite:
        rounded = _limited(ctx, rounded)
    ctx.b.emit("SEL", rd=ctx.dest(d, "b32"), a=ctx.b.unit(Imm(_NAN)), b=rounded, ps0=nan, ps0n=0)


def _limited(ctx: Context, value: int) -> int:
    """Return the value with infinity replaced by the largest number of its sign."""
    magnitude, sign, least, out = (ctx.b.new() for _ in range(4))
    ctx.b.emit("LOP3", rd=magnitude, a=value, b=Imm(0x7FFFFFFF), c=RZ, lut=AND)
    ctx.b.emit("IMNMX", rd=least, a=magnitude, b=Imm(_LARGEST), ps0=PT, ps0n=0, u32=1)
    ctx.b.emit("LOP3", rd=sign, a=value, b=Imm(0x80000000), c=RZ, lut=AND)
    ctx.b.emit("LOP3", rd=out, a=least, b=sign, c=RZ, lut=0xFC)
    return out
