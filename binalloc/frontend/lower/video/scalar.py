"""This module lowers PTX scalar video instructions: vadd, vsub, vabsdiff, vmin, vmax, vset, vshl, vshr (PTX ISA
9.7.18.1). vmad is in product.py.

Parts of the sources are extended to 33 bits, and the operation gives 34 bits. `.sat` limits the result to the
destination (to the part of it that is written). Without `.sat` a second operation sees 33 bits. Values that a word
cannot hold are computed in two.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.logic import AND
from binalloc.frontend.lower.arithmetic.multiply import byte, half
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.lower.video import bounded
from binalloc.frontend.lower.video.bounded import BoundedValue
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

PARTS = {"b0": 8, "b1": 8, "b2": 8, "b3": 8, "h0": 16, "h1": 16}
"""Selector of one part -> its bits."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")  # of vset
_MERGED = {"b0": 0x7650, "b1": 0x7604, "b2": 0x7054, "b3": 0x0654, "h0": 0x7610, "h1": 0x1054}
"""PRMT selectors: the result's low part goes to its place, the rest comes from the third operand."""
_SECOND = ("add", "min", "max")  # second operations


def part(ctx: Context, operand: ast.Operand, type_: str) -> BoundedValue:
    """Return a source, whole or a part of a register, extended by its type."""
    signed = type_[0] == "s"
    if not isinstance(operand, ast.Selected):
        return bounded.word(ctx.word(operand, type_), signed=signed)
    bits = PARTS.get(operand.selector)
    if bits is None:
        ctx.refuse(f".{operand.selector} does not select one part", expected="." + ", .".join(PARTS))
    unit, number = ctx.b.unit(ctx.word(operand.base, type_)), int(operand.selector[1])
    piece = byte if bits == 8 else half
    return BoundedValue((piece(ctx, unit, number, signed=signed),), *bounded.limits(bits, signed=signed))


def _finish(ctx: Context, target: ast.Operand, result: BoundedValue, second: str, c: Source, type_: str) -> None:
    """Write the destination, after the second operation or the merge. It gets the low word."""
    if not isinstance(target, ast.Selected):
        rd = ctx.dest(target, type_)
        if second == "add":
            ctx.b.emit("IADD3", rd=rd, a=ctx.b.unit(result.low), b=c, c=RZ)
            return
        if second:
            third = bounded.word(c, signed=type_[0] == "s")
            result = bounded.extreme(ctx, bounded.narrowed(ctx, result, 33), third, smaller=second == "min")
        ctx.b.move(rd, result.low)
        return
    selector = _MERGED[target.selector]
    ctx.b.emit("PRMT", rd=ctx.dest(target.base, type_), a=ctx.b.unit(result.low), b=Imm(selector), c=c)


def _shape(ctx: Context, m: Modifiers, types: int) -> tuple[list[str], bool, str]:
    """Take all suffixes behind an opcode. Returns (types, .sat, second operation).

    Refuses the instruction if its number of operands does not fit them.
    """
    saturates, second = m.has("sat"), m.take(*_SECOND)
    found = [m.type("u32", "s32") for _ in range(types)]
    m.done()
    target = ctx.ins.operands[0] if ctx.ins.operands else ast.Discard()
    merges = isinstance(target, ast.Selected)
    if isinstance(target, ast.Selected) and target.selector not in PARTS:
        m.refuse(f".{target.selector} does not select one part", expected="." + ", .".join(PARTS))
    if merges and second:
        m.refuse(f"{ctx.ins.op} with a part of the destination and .{second}", expected="one of the two")
    if merges or second:
        ctx.operands(4)
    else:
        ctx.operands(3, 4)
    return found, saturates, second


def _third(ctx: Context, type_: str) -> Source:
    """Return the third source; zero where there is none."""
    return ctx.word(ctx.ins.operands[3], type_) if len(ctx.ins.operands) == 4 else RZ


def _destination_limits(target: ast.Operand, type_: str) -> tuple[int, int]:
    bits = PARTS[target.selector] if isinstance(target, ast.Selected) else 32
    return bounded.limits(bits, signed=type_[0] == "s")


def operate(ctx: Context, op: str, a: BoundedValue, b: BoundedValue) -> BoundedValue:
    """Return the result of the first operation of vadd and similar instructions. op: the opcode without number of
    lanes."""
    if op in ("vadd", "vsub"):
        return bounded.add(ctx, a, b, negative=op == "vsub")
    if op == "vabsdiff":
        return bounded.distance(ctx, a, b)
    return bounded.extreme(ctx, a, b, smaller=op == "vmin")


def _arithmetic(ctx: Context, ins: Instruction) -> None:
    """Lower vadd, vsub, vabsdiff, vmin and vmax."""
    types, saturates, second = _shape(ctx, ctx.modifiers(), 3)
    d, x, y = ins.operands[:3]
    c = _third(ctx, types[0])
    result = operate(ctx, ins.op, part(ctx, x, types[1]), part(ctx, y, types[2]))
    if saturates:
        result = bounded.clamped(ctx, result, *_destination_limits(d, types[0]))
    _finish(ctx, d, result, second, c, types[0])


def truth(ctx: Context, holds: int) -> BoundedValue:
    """Return a predicate as 1 or 0."""
    out = ctx.b.new()
    wide.pick(ctx, out, Imm(1), RZ, (holds, 0))
    return BoundedValue((out,), 0, 1)


def _set(ctx: Context, ins: Instruction) -> None:
    """Lower vset: 1 where the comparison holds; unsigned."""
    m = ctx.modifiers()
    how = m.take(*COMPARISONS)
    if not how:
        m.refuse("vset without a comparison", expected="." + ", .".join(COMPARISONS))
    types, saturates, second = _shape(ctx, m, 2)
    if saturates:
        m.refuse("vset with .sat", expected="vset without .sat")
    d, x, y = ins.operands[:3]
    c = _third(ctx, "u32")
    holds = bounded.compared(ctx, part(ctx, x, types[0]), part(ctx, y, types[1]), how.upper())
    _finish(ctx, d, truth(ctx, holds), second, c, "u32")


def _shift(ctx: Context, ins: Instruction) -> None:
    """Lower vshl and vshr: .clamp limits counts to 32, .wrap takes their low five bits."""
    m = ctx.modifiers()
    mode = m.take("clamp", "wrap")
    if not mode:
        m.refuse(f"{ins.op} without a mode", expected=f"{ins.op} with .clamp or .wrap")
    types, saturates, second = _shape(ctx, m, 3)
    if types[2] != "u32":
        m.refuse(f"a count of type .{types[2]}", expected=".u32")
    d, x, y = ins.operands[:3]
    c = _third(ctx, types[0])
    a, count = part(ctx, x, types[1]), part(ctx, y, "u32").low
    if mode == "wrap":
        kept = ctx.b.new()
        ctx.b.emit("LOP3", rd=kept, a=ctx.b.unit(count), b=Imm(31), c=RZ, lut=AND)
        count = kept
    if ins.op == "vshr":
        result = _shifted_right(ctx, a, count)
    else:
        result = _shifted_left(ctx, a, count, whole=saturates or second in ("min", "max"))
    if saturates:
        result = bounded.clamped(ctx, result, *_destination_limits(d, types[0]))
    _finish(ctx, d, result, second, c, types[0])


def _shifted_right(ctx: Context, a: BoundedValue, count: Source) -> BoundedValue:
    """Return a >> count. SHF limits counts to 32 by itself."""
    out = ctx.b.new()
    stype = "S32" if a.least < 0 else "U32"
    ctx.b.emit("SHF", rd=out, a=RZ, b=count, c=ctx.b.unit(a.low), dir="R", stype=stype, hi=1)
    return BoundedValue((out,), min(a.least, 0), a.most)


def _shifted_left(ctx: Context, a: BoundedValue, count: Source, *, whole: bool) -> BoundedValue:
    """Return a << count: 34 bits where the `whole` result is wanted, else its low word."""
    if not whole:
        out = ctx.b.new()
        ctx.b.emit("SHF", rd=out, a=ctx.b.unit(a.low), b=count, c=RZ, dir="L")
        return bounded.word(out, signed=False)
    limited, pair = ctx.b.new(), ctx.b.new(2)
    ctx.b.emit("IMNMX", rd=limited, a=ctx.b.unit(count), b=Imm(32), ps0=PT, u32=1)
    wide.shift_left(ctx, pair, bounded.both_words(ctx, a), limited)
    moved = BoundedValue(wide.value(pair), *bounded.limits(64, signed=True))
    return bounded.narrowed(ctx, moved, 34)


PURE: dict[str, Handler] = {
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), _arithmetic),
    "vset": _set,
    "vshl": _shift,
    "vshr": _shift,
}
