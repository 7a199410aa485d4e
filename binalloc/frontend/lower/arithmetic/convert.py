"""This module lowers cvt between integers of 8 to 64 bits, f32 and f64 (PTX ISA 9.7.9.21). `convert_half` lowers cvt of
halves.

A register may be wider than its type. Of a source only the low bits count. A result is extended to the register by the
result type's sign. A conversion from a float to an integer limits the result to the type's range, with or without .sat.
A NaN gives 0; but where the source is f64 or the result has 64 bits, it gives the pattern with the top bit alone.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.floating.float32 import flushed
from binalloc.frontend.lower.arithmetic.integer import narrow_extreme
from binalloc.frontend.lower.context.context import Context, Fields
from binalloc.frontend.lower.context.modifiers import INTEGER_ROUNDINGS, RND, Modifiers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")  # integer types of cvt
FLOATS = ("f32", "f64")  # floating types of cvt without halves
FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp")  # roundings to a floating-point value
ONE = Imm(0x3F800000)  # 1.0 as f32
ONE_HIGH = Imm(0x3FF00000)  # the high word of 1.0 as f64


def convert(ctx: Context, _: Instruction) -> None:
    """Lower cvt between such types."""
    m = ctx.modifiers()
    rnd = m.take(*FLOAT_ROUNDINGS, *INTEGER_ROUNDINGS)
    ftz, saturate = int(m.has("ftz")), m.has("sat")
    to, of = m.type(*INTEGERS, *FLOATS), m.type(*INTEGERS, *FLOATS)
    m.done()
    if ftz and "f32" not in (to, of):
        m.refuse("modifier .ftz of cvt needs .f32", expected="a conversion from or to .f32")
    d, a = ctx.operands(2)
    if to[0] != "f" and of[0] != "f":
        _rounding(m, rnd, ())
        _integers(ctx, d, a, to, of, saturate)
    elif to[0] != "f":
        _rounding(m, rnd, INTEGER_ROUNDINGS)
        _to_integer(ctx, d, a, to, of, rnd, ftz)
    elif of[0] != "f":
        _rounding(m, rnd, FLOAT_ROUNDINGS)
        _from_integer(ctx, d, a, to, of, rnd, saturate)
    else:
        _floats(ctx, m, d, a, to, of, rnd, ftz, saturate)


def _rounding(m: Modifiers, rnd: str, wanted: tuple[str, ...]) -> None:
    """Check the rounding: a conversion must name it if it rounds, and must not name one if it does not round."""
    if wanted and rnd not in wanted:
        m.refuse("this conversion must name its rounding", expected="." + ", .".join(wanted))
    if rnd and not wanted:
        m.refuse(f"this conversion does not round: .{rnd} is not allowed")


# ---------------------------------------------------------------------------------------------------------------------
# Integer results.


def _units(ctx: Context, d: ast.Operand, to: str) -> tuple[int, int]:
    """Return (first unit, bytes) of an integer destination register."""
    if isinstance(d, ast.Discard):
        return ctx.b.new(2), TYPE_BYTES[to]
    rd = ctx.dest(d, to, wider=True)
    assert isinstance(d, ast.Register)
    return rd, TYPE_BYTES[ctx.function.registers[d.name]]


def deliver(ctx: Context, rd: int, size: int, source: Source, to: str) -> None:
    """Write a value to a register of `size` bytes, extended by the type `to`.

    The value has at most 32 bits, and only the low bits of its type are right.
    """
    bytes_, signed = TYPE_BYTES[to], to[0] == "s"
    low = ctx.extend(source, bytes_, signed=signed) if bytes_ < min(size, 4) else source
    ctx.b.move(rd, low)
    if size > 4:
        _extend_high(ctx, rd + 1, low, signed)


def _extend_high(ctx: Context, rd: int, low: Source, signed: bool) -> None:
    """Emit rd = the high word of an extended 32-bit value."""
    if not signed:
        ctx.b.move(rd, RZ)
    elif isinstance(low, Imm):
        ctx.b.move(rd, imm(-(low.bits >> 31)))
    else:
        wide.sign(ctx, rd, low)


def _integers(ctx: Context, d: ast.Operand, a: ast.Operand, to: str, of: str, saturate: bool) -> None:
    """Lower a conversion between integers: extend by the source's sign, or truncate; .sat limits first."""
    signed, bytes_ = of[0] == "s", TYPE_BYTES[of]
    source: wide.Wide
    if bytes_ == 8:
        source = ctx.wide(a, of, wider=True)
        if saturate:
            source = _limited_wide(ctx, source, to, signed)
    else:
        low = ctx.word(a, of, wider=True)
        if bytes_ < 4 and (saturate or bytes_ < TYPE_BYTES[to]):
            low = ctx.extend(low, bytes_, signed=signed)
        if saturate:
            low = _limited(ctx, low, to, of)
        source = low, RZ
    rd, size = _units(ctx, d, to)
    if TYPE_BYTES[to] < 8:
        deliver(ctx, rd, size, source[0], to)
    elif bytes_ == 8:
        wide.move(ctx, rd, source)
    else:
        ctx.b.move(rd, source[0])
        _extend_high(ctx, rd + 1, source[0], signed)


def _range(type_: str) -> tuple[int, int]:
    bits = 8 * TYPE_BYTES[type_]
    return (-1 << bits - 1, (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def _limited(ctx: Context, source: Source, to: str, of: str) -> Source:
    """Return a word with a value of type `of`, limited to the range of `to`."""
    (low, high), (lowest, highest) = _range(to), _range(of)
    signed = of[0] == "s"
    for bound, needed, smaller in ((low, low > lowest, False), (high, high < highest, True)):
        if needed:
            out = ctx.b.new()
            narrow_extreme(ctx, out, source, imm(bound), signed, smaller)
            source = out
    return source


def _limited_wide(ctx: Context, source: wide.Wide, to: str, signed: bool) -> wide.Wide:
    """Return a 64-bit value limited to the range of `to`."""
    (low, high), (lowest, highest) = _range(to), _range("s64" if signed else "u64")
    for bound, needed, smaller in ((low, low > lowest, False), (high, high < highest, True)):
        if needed:
            out = ctx.b.new(2)
            wide.extreme(ctx, out, source, wide.constant(bound), signed=signed, smaller=smaller)
            source = wide.value(out)
    return source


def _to_integer(ctx: Context, d: ast.Operand, a: ast.Operand, to: str, of: str, rnd: str, ftz: int) -> None:
    float_to_integer(ctx, d, ctx.double(a) if of == "f64" else ctx.word(a, of), to, of, rnd, ftz)


def float_to_integer(ctx: Context, d: ast.Operand, source: Source, to: str, of: str, rnd: str, ftz: int) -> None:
    """Lower a conversion of a value of type `of`, f32 or f64, to an integer."""
    rd, size = _units(ctx, d, to)
    fields: Fields = {"ityp": to.upper(), "ftyp": of.upper(), "rnd2": RND[rnd], **({"ftz": ftz} if of == "f32" else {})}
    bytes_ = TYPE_BYTES[to]
    if of == "f32" and bytes_ < 8:
        ctx.b.emit("F2I", rd=rd, b=source, **fields)
        if size == 8:
            _extend_high(ctx, rd + 1, rd, to[0] == "s")
        return
    result, nan = ctx.b.new(2 if bytes_ == 8 else 1), ctx.b.predicate()
    ctx.b.emit("F2I", rd=result, b=source, **fields)
    test = "DSETP" if of == "f64" else "FSETP"
    ctx.b.emit(test, pd0=nan, a=source, b=RZ, fcmp="NAN")
    top = imm(1 << 8 * bytes_ - 1)
    if bytes_ == 8:
        wide.select(ctx, rd, (RZ, Imm(1 << 31)), wide.value(result), (nan, 0))
    else:
        if to[0] == "s" and bytes_ < 4:
            top = imm(-1 << 8 * bytes_ - 1)
        wide.pick(ctx, rd, top, result, (nan, 0))
        if size == 8:
            _extend_high(ctx, rd + 1, rd, to[0] == "s")


# ---------------------------------------------------------------------------------------------------------------------
# Floating results.


def _float_target(ctx: Context, d: ast.Operand, to: str) -> int:
    return wide.target(ctx, d, to) if to == "f64" else ctx.dest(d, to)


def _from_integer(ctx: Context, d: ast.Operand, a: ast.Operand, to: str, of: str, rnd: str, saturate: bool) -> None:
    source: Source
    if TYPE_BYTES[of] == 8:
        low, high = ctx.wide(a, of, wider=True)
        source = ctx.b.pair(low, high)
    else:
        source = ctx.word(a, of, wider=True)
    rd = _float_target(ctx, d, to)
    result = rd if not saturate else ctx.b.new(2 if to == "f64" else 1)
    ctx.b.emit("I2F", rd=result, b=source, ityp=of.upper(), ftyp=to.upper(), rnd2=RND[rnd])
    if saturate:
        saturated(ctx, rd, result, to)


def saturated(ctx: Context, rd: int, source: Source, type_: str, ftz: int = 0) -> None:
    """Emit rd = source limited to 0 .. 1; NaN gives 0."""
    if type_ == "f32":
        ctx.b.emit("FMUL", rd=rd, a=source, b=ONE, sat=1, ftz=ftz)
        return
    positive = ctx.b.new(2)  # DMNMX returns the number if the other operand is NaN, and takes -0 as less than 0
    ctx.b.emit("DMNMX", rd=positive, a=source, b=RZ, ps0=PT, ps0n=1)
    ctx.b.emit("DMNMX", rd=rd, a=positive, b=ONE_HIGH, ps0=PT)


def _floats(
    ctx: Context,
    m: Modifiers,
    d: ast.Operand,
    a: ast.Operand,
    to: str,
    of: str,
    rnd: str,
    ftz: int,
    saturate: bool,
) -> None:
    """Lower cvt between f32 and f64, and to the same type."""
    if to == of:
        _rounding(m, rnd, INTEGER_ROUNDINGS if rnd else ())
    else:
        _rounding(m, rnd, FLOAT_ROUNDINGS if to == "f32" else ())
    source = ctx.double(a) if of == "f64" else ctx.word(a, of)
    rd = _float_target(ctx, d, to)
    if to == of and not rnd:
        _same(ctx, rd, source, to, ftz, saturate)
        return
    result = rd if not saturate else ctx.b.new(2 if to == "f64" else 1)
    flush: Fields = {"ftz": ftz} if ftz else {}
    if to == of:
        ctx.b.emit("FRND", rd=result, b=source, ftyp=to.upper(), rnd2=RND[rnd], **flush)
    else:
        ctx.b.emit("F2F", rd=result, b=source, ftyp_d=to.upper(), ftyp_s=of.upper(), rnd2=RND.get(rnd, ""), **flush)
    if saturate:
        saturated(ctx, rd, result, to)


def _same(ctx: Context, rd: int, source: Source, type_: str, ftz: int, saturate: bool) -> None:
    """Lower a conversion without change of format and without rounding: .sat, .ftz, or a copy."""
    if saturate:
        saturated(ctx, rd, source, type_, ftz)
    elif type_ == "f32":
        ctx.b.move(rd, flushed(ctx, source) if ftz else source)
    else:
        wide.move(ctx, rd, wide.value(source) if isinstance(source, int) else ctx.wide(ctx.ins.operands[1], "f64"))
