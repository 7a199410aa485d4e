"""ldmatrix of 8 by 8 halves from shared memory (PTX ISA 9.7.14.5.15): Loom's LDSM is defined like it, on one group of
registers."""

from __future__ import annotations

from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import deliver
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction
from binalloc.isa.instruction import SHARED_WINDOW

_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_WRITTEN = "ldmatrix.sync.aligned.m8n8.x1, .x2 or .x4{.trans}{.shared{::cta}}.b16"


def load(ctx: Context, ins: Instruction) -> None:
    """ldmatrix.sync.aligned.m8n8.num{.trans}{.shared{::cta}}.b16 r, [p]: without a space a generic address, which must
    be one of shared memory."""
    m = ctx.modifiers()
    whole = all([m.has("sync"), m.has("aligned"), m.has("m8n8")])
    count = _COUNTS.get(m.take(*_COUNTS), 0)
    turned = m.has("trans")
    shared = m.take("shared", "shared::cta")
    type_ = m.type("b16")
    m.done()
    if not whole or not count or not type_:
        ctx.refuse("not an ldmatrix", expected=_WRITTEN)
    first, place = ctx.operands(2)
    items = first.items if isinstance(first, ast.Vector) else (first,)
    if len(items) != count:
        ctx.refuse(f"{len(items)} registers", expected=f"{count}, one for each matrix")
    for item in items:
        if isinstance(item, ast.Register):
            ctx.check_type(item, "b32")
    base, offset = address.narrow(ctx, place, "shared")
    if not shared and not (isinstance(place, ast.Address) and isinstance(place.base, ast.Symbol)):
        base, offset = address.add(ctx, base, offset - SHARED_WINDOW), 0
    group = ctx.b.new(count)
    ctx.b.emit(
        "LDSM.16", rd=group, ra=base, moff=offset, mform="MT88" if turned else "M88",
        mats="" if count == 1 else str(count), guard=ctx.guard,
    )  # fmt: skip
    deliver(ctx, items, "b32", [(group + k, None) for k in range(count)])


EFFECTS: dict[str, Handler] = {"ldmatrix": load}
