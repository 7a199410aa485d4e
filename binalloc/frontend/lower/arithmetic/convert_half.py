"""PTX cvt from and to f16, bf16 and pairs of them (PTX ISA 9.7.9.21).

What has no operation of its own goes by way of f32 or f64, which hold every half exactly: only the last step rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.convert import FLOATS, INTEGERS, convert, float_to_integer, saturated
from binalloc.frontend.lower.arithmetic.half import TYPES, Half
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.context.modifiers import INTEGER_ROUNDINGS, RND, Modifiers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass
class Suffixes:
    """What a cvt says beside its types. rnd: its rounding, "" for none."""

    m: Modifiers
    rnd: str
    ftz: int
    sat: int
    relu: int

    def rounds(self, *allowed: str) -> str:
        """Loom's rounding; refused unless it is one of these."""
        if self.rnd not in allowed:
            self.m.refuse("this conversion must name its rounding", expected="." + ", .".join(allowed))
        return RND[self.rnd]

    def exact(self) -> None:
        """Refused where there is a rounding, as nothing is rounded."""
        if self.rnd:
            self.m.refuse(f"this conversion does not round: .{self.rnd} is not allowed")

    def unclamped(self) -> None:
        """Refused where the result is to be clamped at zero."""
        if self.relu:
            self.m.refuse("modifier .relu of cvt is not for this result", expected="a result of .f16, .bf16 or a pair")


def _cvt(ctx: Context, ins: ast.Instruction) -> None:
    if TYPES.keys().isdisjoint(ins.mods):
        convert(ctx, ins)
        return
    m = ctx.modifiers()
    rnd = m.take(*ROUNDINGS, *INTEGER_ROUNDINGS)
    said = Suffixes(m, rnd, int(m.has("ftz")), int(m.has("sat")), int(m.has("relu")))
    to, of = m.type(*INTEGERS, *FLOATS, *TYPES), m.type(*INTEGERS, *FLOATS, *TYPES)
    m.done()
    if said.ftz and "f32" not in (to, of) and not to == of == "f16":
        m.refuse("modifier .ftz of cvt needs .f32", expected="a conversion from or to .f32")
    if said.relu and said.sat:
        m.refuse("a result is clamped one way", expected=".sat or .relu")
    _convert(ctx, said, to, of)


def _convert(ctx: Context, said: Suffixes, to: str, of: str) -> None:
    if to in TYPES and TYPES[to].packed:
        _pack(ctx, said, TYPES[to], of)
        return
    if of in TYPES and TYPES[of].packed:
        said.m.refuse(f"cvt has no source of type .{of}", expected="one value")
    d, a = ctx.operands(2)
    if to not in TYPES:
        _from_half(ctx, said, d, a, to, TYPES[of])
    elif of in TYPES:
        _between(ctx, said, d, a, TYPES[to], TYPES[of])
    else:
        _to_half(ctx, said, d, a, TYPES[to], of)


def _pack(ctx: Context, said: Suffixes, to: Half, of: str) -> None:
    """Two f32: the first into the high half."""
    if of != "f32":
        said.m.refuse(f"cvt has no conversion from .{of} to .{to.name}", expected=".f32")
    d, high, low = ctx.operands(3)
    rnd = said.rounds("rn", "rz")
    a, b = ctx.word(high, "f32"), ctx.word(low, "f32")
    fields = {"hfmt": to.format, "ftz": said.ftz, "sat2": said.sat, "relu": said.relu}
    ctx.b.emit("F2H2", rd=ctx.dest(d, to.name), a=a, b=b, guard=None, rnd2=rnd, **fields)


def _to_half(ctx: Context, said: Suffixes, d: ast.Operand, a: ast.Operand, to: Half, of: str) -> None:
    rnd, rd = said.rounds(*ROUNDINGS), ctx.dest(d, to.name)
    source: Source
    if of[0] == "f":
        source = ctx.double(a) if of == "f64" else ctx.word(a, of)
        fields = {"ftyp": of.upper(), "ftz": said.ftz, "sat2": said.sat, "relu": said.relu}
        ctx.b.emit("F2H", rd=rd, b=source, guard=None, hfmt=to.format, rnd2=rnd, **fields)
        return
    source = ctx.b.pair(*ctx.wide(a, of, wider=True)) if TYPE_BYTES[of] == 8 else ctx.word(a, of, wider=True)
    clamped = said.sat or said.relu
    result = ctx.b.new() if clamped else rd
    ctx.b.emit("I2H", rd=result, b=source, hfmt=to.format, ityp=of.upper(), rnd2=rnd)
    if clamped:
        _clamp(ctx, said, rd, result, to)


def _clamp(ctx: Context, said: Suffixes, rd: int, source: int, type_: Half) -> None:
    """rd = source limited to 0 .. 1 under .sat, from below to 0 under .relu."""
    one, flags = Imm(type_.one), {"sat": said.sat, "relu": said.relu}
    ctx.b.emit("HFMA2", rd=rd, a=source, b=one, c=ctx.b.unit(Imm(1 << 15)), guard=None, hfmt=type_.format, **flags)


def as_single(ctx: Context, operand: ast.Operand, of: Half) -> int:
    """A unit with the half as f32."""
    out = ctx.b.new()
    ctx.b.emit("H2F", rd=out, b=ctx.word(operand, of.name), hfmt=of.format)
    return out


def _from_half(ctx: Context, said: Suffixes, d: ast.Operand, a: ast.Operand, to: str, of: Half) -> None:
    said.unclamped()
    single = as_single(ctx, a, of)
    if to[0] != "f":
        said.rounds(*INTEGER_ROUNDINGS)
        float_to_integer(ctx, d, single, to, "f32", said.rnd, 0)
        return
    said.exact()
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
    """Of one format a rounding to an integral value, or only .sat; else to the other format."""
    rd = ctx.dest(d, to.name)
    if to is not of:
        rnd = said.rounds(*ROUNDINGS)
        fields = {"sat2": said.sat, "relu": said.relu}
        ctx.b.emit("F2H", rd=rd, b=as_single(ctx, a, of), guard=None, hfmt=to.format, rnd2=rnd, **fields)
        return
    source = ctx.b.unit(ctx.word(a, of.name))
    if said.rnd:
        rnd, integral, rounded = said.rounds(*INTEGER_ROUNDINGS), ctx.b.new(), ctx.b.new()
        ctx.b.emit("FRND", rd=integral, b=as_single(ctx, a, of), ftyp="F32", rnd2=rnd)
        ctx.b.emit("F2H", rd=rounded, b=integral, hfmt=to.format)
        source = rounded
    if said.sat or said.relu:
        _clamp(ctx, said, rd, source, to)
    elif said.ftz:
        ctx.b.emit("HMUL2", rd=rd, a=source, b=Imm(to.one), hfmt=to.format, ftz=1)
    else:
        ctx.b.move(rd, source)


PURE: dict[str, Handler] = {"cvt": _cvt}
