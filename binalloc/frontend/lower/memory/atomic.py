"""Atomic operations: atom and red on global, shared and generic memory.

Loom's atomics are PTX's, 32 and 64 bits. An ordering stronger than relaxed puts fences around the operation.
"""

from __future__ import annotations

from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import SCOPES, SPACES
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

_TYPES = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b32", "b64"),
}
_ATYP = {"u32": "", "b32": "", "s32": "S32", "u64": "U64", "b64": "U64", "s64": "S64", "f32": "F32", "f64": "F64"}


def atomic(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    order = m.take("relaxed", "acquire", "release", "acq_rel")
    if m.has("cluster"):
        scope = "cluster"
    else:
        scope = m.take("cta", "gpu", "sys") or "gpu"
    space = SPACES.get(m.take("global", "shared", "shared::cta"), "generic")
    op = m.take(*_TYPES)
    policy = m.has("L2::cache_hint")
    if not op or (ins.op == "red" and op in ("exch", "cas")):
        ctx.unsupported("other", f"{ins.op} without an operation that is supported", expected="." + ", .".join(_TYPES))
    type_ = m.type(*_TYPES[op])
    m.done()
    count = 2 + (op == "cas") + (ins.op == "atom")
    operands = ctx.operands(count, count + 1) if policy else ctx.operands(count)
    place, b, *rest = operands[1:] if ins.op == "atom" else operands
    wide = TYPE_BYTES[type_] == 8
    value = ctx.pair(b, type_) if wide else ctx.b.unit(ctx.word(b, type_))
    fields: Fields = {"aop": op.upper(), "atyp": _ATYP[type_], "rb": value}
    if op == "cas":
        fields["rc"] = ctx.pair(rest[0], type_) if wide else ctx.b.unit(ctx.word(rest[0], type_))
    if space == "shared":
        name = "ATOMS"
        fields["ra"], fields["moff"] = address.narrow(ctx, place, space)
    else:
        name = {"global": "ATOMG", "generic": "ATOM"}[space]
        fields["ra"], fields["moff"] = address.wide(ctx, place, space)
    if order in ("release", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)
    target = ctx.dest(operands[0], type_) if ins.op == "atom" else RZ
    if target == RZ and space == "global" and op not in ("exch", "cas"):
        ctx.b.emit("RED", guard=ctx.guard, **fields)
    else:
        ctx.b.emit(name, rd=target, guard=ctx.guard, **fields)
    if order in ("acquire", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"atom": atomic, "red": atomic}
