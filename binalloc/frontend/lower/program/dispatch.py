"""This module finds the handler that lowers an opcode: it joins the tables of the instruction modules.

PURE handlers only compute their destination registers, so that lanes whose guard is false may execute them. A guarded
pure instruction is lowered into fresh units. The units are then moved to the destinations under the guard. EFFECTS
handlers put the guard on their nodes themselves.
"""

from __future__ import annotations

from binalloc.frontend.lower.arithmetic import (
    bits,
    compare,
    convert_half,
    divide,
    half,
    integer,
    logic,
    move,
    multiply,
    pairs,
)
from binalloc.frontend.lower.arithmetic.floating import approx, float32, float64, quotient
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.control import calls, control, warp
from binalloc.frontend.lower.memory import async_copy, atomic, conversions, hints, matrix, memory, surface, texture
from binalloc.frontend.lower.video import lanes, product, scalar
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES
from binalloc.frontend.unsupported import of_instruction

PURE: dict[str, Handler] = {
    **integer.PURE,
    **multiply.PURE,
    **divide.PURE,
    **logic.PURE,
    **bits.PURE,
    **compare.PURE,
    **convert_half.PURE,
    **move.PURE,
    **memory.PURE,
    **atomic.PURE,
    **calls.PURE,
    **control.PURE,
    **warp.PURE,
    **texture.PURE,
    **surface.PURE,
    **hints.PURE,
    **conversions.PURE,
    **scalar.PURE,
    **product.PURE,
    **lanes.PURE,
}
EFFECTS: dict[str, Handler] = {
    **memory.EFFECTS,
    **atomic.EFFECTS,
    **calls.EFFECTS,
    **control.EFFECTS,
    **warp.EFFECTS,
    **texture.EFFECTS,
    **surface.EFFECTS,
    **hints.EFFECTS,
    **async_copy.EFFECTS,
    **matrix.EFFECTS,
}
FLOAT: dict[str, dict[str, Handler]] = {
    "f32": {**float32.HANDLERS, **quotient.SINGLE, **approx.SINGLE},
    "f64": {**float64.HANDLERS, **quotient.DOUBLE, **approx.DOUBLE},
    **half.HANDLERS,
    **pairs.HANDLERS,
}
"""Pure handlers of opcodes whose last suffix is a floating type or a pair. They have priority over PURE."""
_NONE: dict[str, Handler] = {}  # for types without floating handlers


def lower_instruction(ctx: Context, ins: ast.Instruction) -> None:
    """Lower one instruction at the end of the current block. Raises MalformedInput where it cannot be lowered
    exactly."""
    ctx.ins = ins
    ctx.guard = None
    form = of_instruction(ins.op, ins.mods)
    if form is not None:
        ctx.unsupported(form.key)
    ctx.b.touches = ctx.layout.touched(ctx.function.name, ins, ctx.kernel)
    handler = FLOAT.get(_last_type(ins.mods), _NONE).get(ins.op) or PURE.get(ins.op)
    if handler is None:
        handler = EFFECTS.get(ins.op)
        if handler is None:
            ctx.unsupported("other", f"instruction {ins.op} is not supported")
        if ins.guard is not None:
            ctx.guard = (ctx.predicate_register(ins.guard[0]), ins.guard[1])
        handler(ctx, ins)
    elif ins.guard is None:
        handler(ctx, ins)
    else:
        _guarded(ctx, ins, handler)


def _last_type(mods: tuple[str, ...]) -> str:
    """Return the suffix by which FLOAT is indexed: the last one, or the one before a last `.relu`."""
    return mods[-2] if mods[-1:] == ("relu",) and len(mods) > 1 else mods[-1] if mods else ""


def _guarded(ctx: Context, ins: ast.Instruction, handler: Handler) -> None:
    """Compute into fresh units, then move them under the guard. A destination that is the guard itself is written
    last."""
    assert ins.guard is not None
    guard = (ctx.predicate_register(ins.guard[0]), ins.guard[1])
    names = [o.name for o in _destinations(ins) if isinstance(o, ast.Register)]
    units: list[tuple[int, int, int]] = []
    predicates: list[tuple[int, int]] = []
    for name in names:
        if ctx.function.registers[name] == "pred":
            fresh = ctx.registers.predicate()
            predicates.append((ctx.predicate_register(name), fresh))
        else:
            real = ctx.register(name)
            width = max(1, TYPE_BYTES[ctx.function.registers[name]] // 4)
            fresh = ctx.registers.new(width)
            units.append((real, fresh, width))
        ctx.substitute[name] = fresh
    try:
        handler(ctx, ins)
    finally:
        ctx.substitute.clear()
    for real, fresh, width in units:
        for k in range(width):
            ctx.b.move(real + k, fresh + k, guard)
    for target, source in sorted(predicates, key=lambda moved: moved[0] == guard[0]):
        ctx.b.emit("PLOP3", pd0=target, ps0=source, lut_b=0xF0, lut2=0, guard=guard)


def _destinations(ins: ast.Instruction) -> tuple[ast.Operand, ...]:
    if not ins.operands:
        return ()
    first = ast.plain(ins.operands[0])
    if isinstance(first, ast.Dual):
        return first.first, first.second
    if isinstance(first, ast.Vector):
        return first.items
    return (first,)
