"""This module lowers ldmatrix and stmatrix of 8 by 8 halves in shared memory (PTX ISA 9.7.14.5.15 and .16).

Loom's LDSM has the same definition as ldmatrix, but its registers are one group. stmatrix becomes shuffles and stores.
Each lane asks the lane that has the address of its row, and stores its own word there. With `.trans` it stores its two
halves in two rows. The words of a matrix are stored at once, with the bank passes of its eight rows.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import deliver
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction
from binalloc.isa.instruction import LANES, SHARED_WINDOW

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}  # suffix -> number of matrices
_WRITTEN = ".sync.aligned.m8n8.x1, .x2 or .x4{.trans}{.shared{::cta}}.b16"
"""The suffixes that are supported, for messages."""
_ROWS = 8  # rows of a matrix
_AND = 0xC0  # truth table of LOP3: a & b


def _decoded(ctx: Context, data: int) -> tuple[tuple[ast.Operand, ...], bool, int, int]:
    """Decode ldmatrix or stmatrix. Returns (registers, whether it is .trans, base and offset of the row's address).

    data: index of the operand that has the registers. Without a space the address is generic, and must be in shared
    memory.
    """
    m = ctx.modifiers()
    whole = all([m.has("sync"), m.has("aligned"), m.has("m8n8")])
    count = _COUNTS.get(m.take(*_COUNTS), 0)
    turned = m.has("trans")
    shared = m.take("shared", "shared::cta")
    type_ = m.type("b16")
    m.done()
    op = ctx.ins.op
    if not whole or not count or not type_:
        ctx.refuse(f"not {'an' if op == 'ldmatrix' else 'a'} {op}", expected=op + _WRITTEN)
    operands = ctx.operands(2)
    first, place = operands[data], operands[1 - data]
    items = first.items if isinstance(first, ast.Vector) else (first,)
    if len(items) != count:
        ctx.refuse(f"{len(items)} registers", expected=f"{count}, one for each matrix")
    for item in items:
        if isinstance(item, ast.Register):
            ctx.check_type(item, "b32")
    base, offset = address.narrow(ctx, place, "shared")
    if not shared and not (isinstance(place, ast.Address) and isinstance(place.base, ast.Symbol)):
        base, offset = address.add(ctx, base, offset - SHARED_WINDOW), 0
    return items, bool(turned), base, offset


def load(ctx: Context, ins: Instruction) -> None:
    """Lower ldmatrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16 r, [p]."""
    items, turned, base, offset = _decoded(ctx, 0)
    count = len(items)
    group = ctx.b.new(count)
    ctx.b.emit(
        "LDSM.16", rd=group, ra=base, moff=offset, mform="MT88" if turned else "M88",
        mats="" if count == 1 else str(count), guard=ctx.guard,
    )  # fmt: skip
    deliver(ctx, items, "b32", [(group + k, None) for k in range(count)])


def store(ctx: Context, ins: Instruction) -> None:
    """Lower stmatrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16 [p], r.

    Lane l holds the elements in row l / 4 of a matrix, in columns 2 (l mod 4) and the next. With .trans it holds those
    in rows 2 (l mod 4) and the next, in column l / 4.
    """
    items, turned, base, offset = _decoded(ctx, 1)
    words = [ctx.b.unit(ctx.word(item, "b32")) for item in items]
    ctx.b.emit("WARPSYNC", b=imm((1 << LANES) - 1), guard=ctx.guard)
    lane, high, low = ctx.b.unit(ctx.special("%laneid", "u32")), ctx.b.new(), ctx.b.new()
    ctx.b.emit("SHF", rd=high, a=RZ, b=Imm(2), c=lane, dir="R", stype="U32", hi="HI")
    ctx.b.emit("LOP3", rd=low, a=lane, b=Imm(3), c=RZ, lut=_AND)
    rows = [high]
    within = _times(ctx, low, 4)
    if turned:
        rows, within = [_times(ctx, low, 2), address.add(ctx, _times(ctx, low, 2), 1)], _times(ctx, high, 2)
    given = base if base != RZ else ctx.b.unit(imm(0))
    for k, word in enumerate(words):
        for half, row in enumerate(rows):
            giver = address.add(ctx, row, _ROWS * k) if k else row
            start, place, value = ctx.b.new(), ctx.b.new(), word
            ctx.b.emit("SHFL", rd=start, a=given, rb=giver, cimm=1, clampimm=31, shfl="IDX", guard=ctx.guard)
            ctx.b.emit("IADD3", rd=place, a=start, b=within, c=RZ)
            if half:
                value = ctx.b.new()
                ctx.b.emit("SHF", rd=value, a=RZ, b=Imm(16), c=word, dir="R", stype="U32", hi="HI")
            width = "U16" if turned else "32"
            ctx.b.emit("STS", ra=place, moff=offset, rb=value, width=width, guard=ctx.guard)


def _times(ctx: Context, unit: int, factor: int) -> int:
    out = ctx.b.new()
    ctx.b.emit("SHF", rd=out, a=unit, b=Imm(factor.bit_length() - 1), c=RZ, dir="L", stype="U32")
    return out


EFFECTS: dict[str, Handler] = {"ldmatrix": load, "stmatrix": store}
