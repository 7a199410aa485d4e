"""Atomic operations: atom and red on global, shared and generic memory.

Loom's atomics are PTX's, 32 and 64 bits; an addition to a half adds to the word around it, -0 to the other half, which
leaves that as it is. An ordering stronger than relaxed puts fences around the operation.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import SCOPES, SPACES
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

_TYPES = {
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
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
_ATYP = {
    "u32": "", "b32": "", "s32": "S32", "u64": "U64", "b64": "U64", "s64": "S64", "f32": "F32", "f64": "F64",
    "f16x2": "F16X2", "bf16x2": "BF16X2",
}  # fmt: skip
_WHOLE = {"f16": "f16x2", "bf16": "bf16x2"}
"""What an addition to half a word is."""
_MINUS_ZERO_ABOVE = Imm(0x80000000)
"""-0 in the high half, 0 in the low one."""
_AND, _OR = 0xC0, 0xFC
"""LOP3 tables."""


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
    noftz = m.has("noftz")
    type_ = m.type(*_TYPES[op])
    m.done()
    half = type_.removesuffix("x2") in _WHOLE
    if half != noftz:
        m.refuse(f"{ins.op}.add.{type_} " + ("needs .noftz" if half else "has no .noftz"))
    count = 2 + (op == "cas") + (ins.op == "atom")
    operands = ctx.operands(count, count + 1) if policy else ctx.operands(count)
    place, b, *rest = operands[1:] if ins.op == "atom" else operands
    wide = TYPE_BYTES[type_] == 8
    value = ctx.pair(b, type_) if wide else ctx.b.unit(ctx.word(b, type_))
    fields: Fields = {"aop": op.upper(), "atyp": _ATYP[_WHOLE.get(type_, type_)], "rb": value}
    if op == "cas":
        fields["rc"] = ctx.pair(rest[0], type_) if wide else ctx.b.unit(ctx.word(rest[0], type_))
    if space == "shared":
        name = "ATOMS"
        fields["ra"], fields["moff"] = address.narrow(ctx, place, space)
    else:
        name = {"global": "ATOMG", "generic": "ATOM"}[space]
        fields["ra"], fields["moff"] = address.wide(ctx, place, space)
    shift = _whole_word(ctx, fields, wide=space != "shared") if type_ in _WHOLE else RZ
    if order in ("release", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)
    target = result = ctx.dest(operands[0], type_) if ins.op == "atom" else RZ
    if result != RZ and type_ in _WHOLE:
        target = ctx.b.new()
    if target == RZ and space == "global" and op not in ("exch", "cas"):
        ctx.b.emit("RED", guard=ctx.guard, **fields)
    else:
        ctx.b.emit(name, rd=target, guard=ctx.guard, **fields)
    if target != result:
        ctx.b.emit("SHF", rd=result, a=RZ, b=shift, c=target, dir="R", stype="U32", hi=1, guard=ctx.guard)
    if order in ("acquire", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[scope], guard=ctx.guard)


def _whole_word(ctx: Context, fields: Fields, *, wide: bool) -> int:
    """Address and operand of an addition to a half become those of one to the word that it is in. Answers the unit
    with the half's first bit in that word. An odd address stays odd, and faults."""
    b, at, offset = ctx.b, fields["ra"], fields["moff"]
    if wide:
        at = address.add_wide(ctx, at, offset)
    else:
        at = address.add(ctx, at, offset)
    aligned = b.new(2 if wide else 1)
    b.emit("LOP3", rd=aligned, a=at, b=Imm(~2 & 0xFFFFFFFF), c=RZ, lut=_AND)
    if wide:
        b.move(aligned + 1, at + 1)
    fields["ra"], fields["moff"] = aligned, 0
    odd, shift, low, moved, zero, word = (b.new() for _ in range(6))
    b.emit("LOP3", rd=odd, a=at, b=Imm(2), c=RZ, lut=_AND)
    b.emit("SHF", rd=shift, a=odd, b=Imm(3), c=RZ, dir="L")
    b.emit("LOP3", rd=low, a=fields["rb"], b=Imm(0xFFFF), c=RZ, lut=_AND)
    b.emit("SHF", rd=moved, a=low, b=shift, c=RZ, dir="L")
    b.emit("SHF", rd=zero, a=RZ, b=shift, c=b.unit(_MINUS_ZERO_ABOVE), dir="R", stype="U32", hi=1)
    b.emit("LOP3", rd=word, a=moved, b=zero, c=RZ, lut=_OR)
    fields["rb"] = word
    return shift


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"atom": atomic, "red": atomic}
