"""This module lowers PTX video instructions on two halves or four bytes: vadd2, vadd4 and so on of vadd, vsub, vavrg,
vabsdiff, vmin, vmax, vset (PTX ISA 9.7.18.2).

The lanes of each source may come from any places of a and b. Each lane is computed alone, exactly. `.sat` limits it to
its part of the destination. The lanes that the mask names are written there; the rest of the destination comes from the
third operand. With `.add` the lanes that the mask names are added to the third operand.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic.multiply import byte, half
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.video import bounded
from binalloc.frontend.lower.video.bounded import BoundedValue
from binalloc.frontend.lower.video.scalar import COMPARISONS, operate, truth
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

_LETTER = {2: "h", 4: "b"}  # number of lanes -> letter of their selectors
_OPERATIONS = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
"""Opcodes without the number of lanes; vset is decoded apart."""


def _simd(ctx: Context, ins: Instruction) -> None:
    """Lower a video instruction on two or four lanes."""
    m = ctx.modifiers()
    lanes, op = int(ins.op[-1]), ins.op[:-1]
    how = m.take(*COMPARISONS) if op == "vset" else ""
    if op == "vset" and not how:
        m.refuse(f"{ins.op} without a comparison", expected="." + ", .".join(COMPARISONS))
    saturates, adds = m.has("sat"), m.has("add")
    target = "u32" if how else m.type("u32", "s32")
    types = [m.type("u32", "s32") for _ in range(2)]
    m.done()
    if saturates and (adds or how):
        m.refuse(f"{ins.op} with .sat", expected=f"{ins.op} without .{'add' if adds else 'sat'}")
    d, x, y, z = ctx.operands(4)
    mask = _mask(ctx, d, lanes)
    sources = [ctx.b.unit(ctx.word(ast.plain(o), type_)) for o, type_ in ((x, types[0]), (y, types[1]))]
    selections = [_selection(ctx, o, lanes, k) for k, o in enumerate((x, y))]
    c = ctx.word(z, target)
    rd = ctx.dest(d.base if isinstance(d, ast.Selected) else d, target)
    results = {}
    bits = 32 // lanes
    for lane in mask:
        a, b = (
            _lane(ctx, sources[places[lane] >= lanes], places[lane] % lanes, bits, signed=type_ == "s32")
            for places, type_ in zip(selections, types, strict=True)
        )
        result = truth(ctx, bounded.compared(ctx, a, b, how.upper())) if how else _computed(ctx, op, a, b)
        if saturates:
            result = bounded.clamped(ctx, result, *bounded.limits(bits, signed=target == "s32"))
        results[lane] = result
    if adds:
        _accumulate(ctx, rd, list(results.values()), c)
    else:
        _merge(ctx, rd, results, lanes, c)


def _mask(ctx: Context, operand: ast.Operand, lanes: int) -> list[int]:
    """Return the lanes that are written."""
    if not isinstance(operand, ast.Selected):
        return list(range(lanes))
    letter, digits = operand.selector[0], [int(digit) for digit in operand.selector[1:]]
    falling = digits == sorted(set(digits), reverse=True)
    if letter != _LETTER[lanes] or not falling or digits[0] >= lanes:
        ctx.refuse(f".{operand.selector} is no mask of {ctx.ins.op}", expected=f".{_LETTER[lanes]} and lanes, falling")
    return digits[::-1]


def _selection(ctx: Context, operand: ast.Operand, lanes: int, source: int) -> list[int]:
    """Return the place of each lane among the lanes of a and b, a's first."""
    if not isinstance(operand, ast.Selected):
        if not isinstance(operand, ast.Register):
            ctx.refuse(f"{ctx.ins.op} takes registers", expected="a register, perhaps with a selector")
        return [source * lanes + k for k in range(lanes)]
    letter, digits = operand.selector[0], operand.selector[1:]
    if letter != _LETTER[lanes] or len(digits) != lanes or any(int(digit) >= 2 * lanes for digit in digits):
        ctx.refuse(
            f".{operand.selector} does not select {lanes} lanes",
            expected=f".{_LETTER[lanes]} and {lanes} digits below {2 * lanes}",
        )
    return [int(digit) for digit in reversed(digits)]


def _lane(ctx: Context, unit: int, place: int, bits: int, *, signed: bool) -> BoundedValue:
    piece = byte if bits == 8 else half
    return BoundedValue((piece(ctx, unit, place, signed=signed),), *bounded.limits(bits, signed=signed))


def _computed(ctx: Context, op: str, a: BoundedValue, b: BoundedValue) -> BoundedValue:
    if op != "vavrg":
        return operate(ctx, op, a, b)
    total = bounded.add(ctx, a, b)
    up, out = ctx.b.new(), ctx.b.new()
    # A negative sum is halved and rounded down, any other is rounded up: 1 minus the sign bit is added first.
    one: Source = Imm(1)
    if total.least < 0:
        one = ctx.b.new()
        sign = ctx.b.new()
        ctx.b.emit("SHF", rd=sign, a=RZ, b=Imm(31), c=ctx.b.unit(total.low), dir="R", stype="S32", hi=1)
        ctx.b.emit("IADD3", rd=one, a=sign, b=Imm(1), c=RZ)
    ctx.b.emit("IADD3", rd=up, a=ctx.b.unit(total.low), b=one, c=RZ)
    ctx.b.emit("SHF", rd=out, a=RZ, b=Imm(1), c=up, dir="R", stype="S32", hi=1)
    return BoundedValue((out,), total.least >> 1, (total.most + 1) >> 1)


def _accumulate(ctx: Context, rd: int, results: list[BoundedValue], c: Source) -> None:
    total = c
    for k, result in enumerate(results):
        out = rd if k == len(results) - 1 else ctx.b.new()
        ctx.b.emit("IADD3", rd=out, a=ctx.b.unit(result.low), b=total, c=RZ)
        total = out


def _merge(ctx: Context, rd: int, results: dict[int, BoundedValue], lanes: int, c: Source) -> None:
    """Insert each result in its place, one PRMT a lane."""
    size = 4 // lanes
    whole = c
    for k, (lane, result) in enumerate(results.items()):
        digits = [4 + place for place in range(4)]
        digits[lane * size : (lane + 1) * size] = range(size)
        out = rd if k == len(results) - 1 else ctx.b.new()
        selector = sum(digit << 4 * place for place, digit in enumerate(digits))
        ctx.b.emit("PRMT", rd=out, a=ctx.b.unit(result.low), b=Imm(selector), c=whole)
        whole = out


PURE: dict[str, Handler] = {f"{op}{lanes}": _simd for op in (*_OPERATIONS, "vset") for lanes in (2, 4)}
