"""This module lowers hints for the second-level cache: discard, applypriority, createpolicy (PTX ISA 9.7.9.16 to
9.7.9.19).

No value depends on them, and Loom's caches know no priorities. discard leaves values as they are, which PTX allows. A
policy is a number that only hints read: 0.
"""

from __future__ import annotations

from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import EVICTION
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

_LINE = 128  # PTX allows no other size


def line(ctx: Context, ins: Instruction) -> None:
    """Lower discard{.global}.L2 and applypriority{.global}.L2::evict_normal, for the 128 bytes at an address."""
    m = ctx.modifiers()
    m.has("global")
    if not m.has("L2" if ins.op == "discard" else "L2::evict_normal"):
        m.refuse(f"{ins.op} without a level", expected=".L2" if ins.op == "discard" else ".L2::evict_normal")
    m.done()
    place, size = ctx.operands(2)
    if not isinstance(size, ast.Integer) or size.value != _LINE:
        ctx.refuse(f"the size of {ins.op}", expected=str(_LINE))
    address.wide(ctx, place, "global")
    ctx.b.emit("NOP", guard=ctx.guard)


def policy(ctx: Context, ins: Instruction) -> None:
    """Lower createpolicy.fractional, .range and .cvt."""
    m = ctx.modifiers()
    kind = m.take("fractional", "range", "cvt")
    if not kind:
        m.refuse("createpolicy without a kind", expected=".fractional, .range or .cvt")
    m.has("global")
    while m.take("L2", *EVICTION):
        pass
    m.type("b64")
    m.done()
    d, *sources = ctx.operands(*{"fractional": (1, 2), "range": (4,), "cvt": (2,)}[kind])
    if kind == "range":
        address.wide(ctx, sources[0], "global")
        for size in sources[1:]:
            ctx.word(size, "u32")
    for source in sources if kind != "range" else ():
        if kind == "cvt":
            ctx.wide(source, "b64")
        else:
            ctx.word(source, "f32")
    target = ctx.dest(d, "b64")
    for k in range(2 if target != RZ else 0):
        ctx.b.move(target + k, RZ)


PURE: dict[str, Handler] = {"createpolicy": policy}
EFFECTS: dict[str, Handler] = {"discard": line, "applypriority": line}
