"""This module lowers cvt from and to f16, bf16 and pairs of them (PTX ISA 9.7.9.21).

A conversion without an operation of its own goes through f32 or f64. These hold every half exactly, so that only the
last step rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT
from binalloc.frontend.lower.arithmetic import narrow, pairs, wide
from binalloc.frontend.lower.arithmetic.convert import FLOATS, INTEGERS, convert, float_to_integer, saturated
from binalloc.frontend.lower.arithmetic.floating.floats import FLOAT_ROUNDINGS
from binalloc.frontend.lower.arithmetic.half import SIGN, TYPES, Half
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import INTEGER_ROUNDINGS, RND, Modifiers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES


@dataclass
class Suffixes:
    """The suffixes of a cvt say how it rounds and what it limits, beside its types."""

    m: Modifiers
    rnd: str  #: rounding, "" for none
    ftz: int
    sat: int
    relu: int
    finite: bool

    def rounds(self, *allowed: str) -> str:
        """Return Loom's rounding. Refuses the instruction unless it has one of these."""
        if self.rnd not in allowed:
            self.m.refuse("this conversion must name its rounding", expected="." + ", .".join(allowed))
        return RND[self.rnd]

    def exact(self, of: Half) -> None:
        """Refuse a rounding, as nothing is rounded; bf16 may have one."""
        if self.rnd and (of.format == "F16" or self.rnd not in FLOAT_ROUNDINGS):
            self.m.refuse(f"this conversion does not round: .{self.rnd} is not allowed")

    def check(self, to: str, of: str) -> None:
        """Refuse a suffix that does not go with these types or with another suffix."""
        if self.ftz and ("f32" not in (to, of) or _packed(to)):
            self.m.refuse("modifier .ftz of cvt needs .f32", expected="a conversion of one value from or to .f32")
        if self.sat and (of == "bf16" or (to in TYPES and to != "f16")):
            self.m.refuse("modifier .sat of cvt is not for .bf16, nor for pairs", expected="other types")
        for name, found in (("relu", self.relu), ("satfinite", self.finite)):
            if found and (to not in TYPES or of != "f32"):
                self.m.refuse(f"modifier .{name} of cvt is for halves of .f32", expected="a half or a pair, of .f32")
            if found and (self.sat or self.ftz or self.rnd not in ("rn", "rz")):
                expected = f".rn.{name} or .rz.{name}"
                self.m.refuse(f"cvt.{name} rounds by .rn or .rz, and has neither .sat nor .ftz", expected=expected)
        if {to, of} in ({"bf16", "u8"}, {"bf16", "s8"}):
            self.m.refuse("there is no cvt between .bf16 and integers of 8 bits", expected="16 bits or more")


def _packed(type_: str) -> bool:
    return type_ in TYPES and TYPES[type_].packed


def _cvt(ctx: Context, ins: ast.Instruction) -> None:
    if "pack" in ins.mods:
        pairs.pack(ctx, ins)
        return
    if not narrow.TYPES.isdisjoint(ins.mods):
        narrow.convert(ctx, ins)
        return
    if TYPES.keys().isdisjoint(ins.mods):
        convert(ctx, ins)
        return
    m = ctx.modifiers()
    rnd = m.take(*FLOAT_ROUNDINGS, *INTEGER_ROUNDINGS)
    said = Suffixes(m, rnd, int(m.has("ftz")), int(m.has("sat")), int(m.has("relu")), m.has("satfinite"))
    to, of = m.type(*INTEGERS, *FLOATS, *TYPES), m.type(*INTEGERS, *FLOATS, *TYPES)
    m.done()
    said.check(to, of)
    _convert(ctx, said, to, of)


def _convert(ctx: Context, said: Suffixes, to: str, of: str) -> None:
    if _packed(to):
        _pack(ctx, said, TYPES[to], of)
        return
    if _packed(of):
        said.m.refuse(f"cvt has no source of type .{of}", expected="one value")
    d, a = ctx.operands(2)
    if to not in TYPES:
        _from_half(ctx, said, d, a, to, TYPES[of])
    elif of in TYPES:
        _between(ctx, said, d, a, TYPES[to], TYPES[of])
    else:
        _to_half(ctx, said, d, a, TYPES[to], of)


def _pack(ctx: Context, said: Suffixes, to: Half, of: str) -> None:
    """Lower the conversion of two f32 to a pair: the first goes to the high half."""
    if of != "f32":
        said.m.refuse(f"cvt has no conversion from .{of} to .{to.name}", expected=".f32")
    d, high, low = ctx.operands(3)
    rnd = said.rounds("rn", "rz")
    a, b, rd = ctx.word(high, "f32"), ctx.word(low, "f32"), ctx.dest(d, to.name)
    result = ctx.b.new() if said.finite else rd
    ctx.b.emit("F2H2", rd=result, a=a, b=b, guard=None, hfmt=to.format, rnd2=rnd, relu=said.relu)
    if said.finite:
        _finite(ctx, rd, result, to)


def _to_half(ctx: Context, said: Suffixes, d: ast.Operand, a: ast.Operand, to: Half, of: str) -> None:
    rnd, rd = said.rounds(*FLOAT_ROUNDINGS), ctx.dest(d, to.name)
    source: Source
    if of[0] == "f":
        source = ctx.double(a) if of == "f64" else ctx.word(a, of)
        result = ctx.b.new() if said.finite else rd
        fields: Fields = {"ftyp": of.upper(), "ftz": said.ftz, "sat2": said.sat, "relu": said.relu}
        ctx.b.emit("F2H", rd=result, b=source, guard=None, hfmt=to.format, rnd2=rnd, **fields)
        if said.finite:
            _finite(ctx, rd, result, to)
        return
    source = ctx.b.pair(*ctx.wide(a, of, wider=True)) if TYPE_BYTES[of] == 8 else ctx.word(a, of, wider=True)
    result = ctx.b.new() if said.sat else rd
    ctx.b.emit("I2H", rd=result, b=source, hfmt=to.format, ityp=of.upper(), rnd2=rnd)
    if said.sat:
        _saturated(ctx, rd, result, to)


def _finite(ctx: Context, rd: int, source: int, type_: Half) -> None:
    """Emit rd = source, with the largest number of its sign in place of an infinity."""
    below, largest = ctx.b.new(), type_.both(type_.largest)
    fields: Fields = {"hfmt": type_.format, "hnan": 1, "ps0": PT}
    ctx.b.emit("HMNMX2", rd=below, a=source, b=Imm(largest), **fields)
    ctx.b.emit("HMNMX2", rd=rd, a=below, b=Imm(largest ^ type_.both(SIGN)), ps0n=1, **fields)


def _saturated(ctx: Context, rd: int, source: int, type_: Half) -> None:
    """Emit rd = source limited to 0 .. 1; NaN gives 0."""
    ctx.b.emit("HMUL2", rd=rd, a=source, b=Imm(type_.one), hfmt=type_.format, sat=1)


def _from_half(ctx: Context, said: Suffixes, d: ast.Operand, a: ast.Operand, to: str, of: Half) -> None:
    single = of.single(ctx, a)
    if to[0] != "f":
        said.rounds(*INTEGER_ROUNDINGS)
        float_to_integer(ctx, d, single, to, "f32", said.rnd, 0)
        return
    said.exact(of)
    rd = wide.target(ctx, d, to) if to == "f64" else ctx.dest(d, to)
    if to == "f64":
        result = ctx.b.new(2) if said.sat else rd
        ctx.b.emit("F2F", rd=result, b=single, ftyp_d="F64", ftyp_s="F32")
        if said.sat:
            saturated(ctx, rd, result, to)
    elif said.sat or said.ftz:
        ctx.b.emit("FMUL", rd=rd, a=single, b=Imm(0x3F800000), sat=said.sat, ftz=said.ftz)
    else:
        ctx.b.move(rd, single)


def _between(ctx: Context, said: Suffixes, d: ast.Operand, a: ast.Operand, to: Half, of: Half) -> None:
    """Lower a conversion between halves.

    To the same format it is a rounding to an integral value, or only .sat. Otherwise it converts to the other format.
    """
    rd = ctx.dest(d, to.name)
    if to is not of:
        rnd = said.rounds(*FLOAT_ROUNDINGS) if said.rnd else ""  # to nearest even, as ptxas has it
        ctx.b.emit("F2H", rd=rd, b=of.single(ctx, a), hfmt=to.format, rnd2=rnd, sat2=said.sat)
        return
    source = ctx.b.unit(ctx.word(a, of.name))
    if said.rnd:
        rnd, integral, rounded = said.rounds(*INTEGER_ROUNDINGS), ctx.b.new(), ctx.b.new()
        ctx.b.emit("FRND", rd=integral, b=of.single(ctx, a), ftyp="F32", rnd2=rnd)
        ctx.b.emit("F2H", rd=rounded, b=integral, hfmt=to.format)
        source = rounded
    if said.sat:
        _saturated(ctx, rd, source, to)
    else:
        ctx.b.move(rd, source)


PURE: dict[str, Handler] = {"cvt": _cvt}
