"""This module lowers atomic operations: atom and red on global, shared and generic memory.

Loom's atomics are PTX's, of 32 and 64 bits. An addition to a half becomes an addition to the word around it: it adds -0
to the other half, which does not change it. cas of 16 bits is a loop around cas of the word. Each element of a vector
is an operation of its own. An ordering stronger than relaxed puts fences around the operation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.frontend.emitter import Imm
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import SCOPES, SPACES
from binalloc.frontend.ptx import ast
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
    "cas": ("b16", "b32", "b64"),
}
"""Operation -> types."""
ATYP = {
    "u32": "", "b32": "", "s32": "S32", "u64": "U64", "b64": "U64", "s64": "S64", "f32": "F32", "f64": "F64",
    "f16x2": "F16X2", "bf16x2": "BF16X2",
}  # fmt: skip
"""PTX type -> text of Loom's type modifier."""
_WHOLE = {"f16": "f16x2", "bf16": "bf16x2"}
"""Type of a half -> type of the addition to the word around it."""
_MINUS_ZERO_ABOVE = Imm(0x80000000)
"""-0 in the high half, 0 in the low one."""
_AND, _OR, _PICK = 0xC0, 0xFC, 0xE2
"""Truth tables of LOP3: a & b, a | b, b ? a : c bit by bit."""
_NAMES = {"global": "ATOMG", "shared": "ATOMS", "generic": "ATOM"}  # space -> Loom's atomic
_LOADS = {"global": "LDG", "shared": "LDS", "generic": "LD"}  # space -> Loom's load
_VECTORS = {
    2: ("f32", "f16", "bf16", "f16x2", "bf16x2"),
    4: ("f32", "f16", "bf16", "f16x2", "bf16x2"),
    8: ("f16", "bf16"),
}
"""Number of elements -> types. Each element is an operation of its own, as PTX defines it."""


@dataclass(frozen=True)
class AtomicForm:
    """The kind of an atomic is the decoded form of its suffixes."""

    op: str
    type: str
    space: str
    count: int  #: elements of the vector, 1 for a scalar
    order: str
    scope: str  #: of the fences
    policy: bool  #: whether an operand with a cache policy may follow


def _kind(ctx: Context, ins: Instruction) -> AtomicForm:
    """Decode the suffixes of atom or red."""
    m = ctx.modifiers()
    order = m.take("relaxed", "acquire", "release", "acq_rel")
    if m.has("cluster"):
        scope = "cluster"
    else:
        scope = m.take("cta", "gpu", "sys") or "gpu"
    space = SPACES.get(m.take("global", "shared", "shared::cta"), "generic")
    op = m.take(*_TYPES)
    policy = m.has("L2::cache_hint")
    count = int((m.take("v2", "v4", "v8") or "v1")[1:])
    if not op or (ins.op == "red" and op in ("exch", "cas")):
        ctx.unsupported("other", f"{ins.op} without an operation that is supported", expected="." + ", .".join(_TYPES))
    if count > 1 and op != "add":
        ctx.unsupported("atomic-vector")
    noftz = m.has("noftz")
    type_ = m.type(*(_VECTORS[count] if count > 1 else _TYPES[op]))
    m.done()
    half = type_.removesuffix("x2") in _WHOLE
    if half != noftz:
        m.refuse(f"{ins.op}.add.{type_} " + ("needs .noftz" if half else "has no .noftz"))
    if count > 1 and space == "shared":
        m.refuse(f"{ins.op} on vectors in shared memory", expected=f"{ins.op}.global")
    return AtomicForm(op, type_, space, count, order, scope, policy)


def atomic(ctx: Context, ins: Instruction) -> None:
    """Lower atom or red."""
    kind = _kind(ctx, ins)
    number = 2 + (kind.op == "cas") + (ins.op == "atom")
    operands = ctx.operands(number, number + 1) if kind.policy else ctx.operands(number)
    result, place, *values = operands if ins.op == "atom" else (ast.Discard(), *operands)
    kind = replace(kind, space=address.space_of(ctx, place, kind.space))
    fields: Fields = {"aop": kind.op.upper()}
    if kind.space == "shared":
        fields["ra"], fields["moff"] = address.narrow(ctx, place, kind.space)
    else:
        fields["ra"], fields["moff"] = address.wide(ctx, place, kind.space)
    if kind.order in ("release", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[kind.scope], guard=ctx.guard)
    if kind.type == "b16":
        _compare_and_swap_half(ctx, kind, fields, result, values[0], values[1])
    else:
        targets, sources = _elements(ctx, result, kind.count), _elements(ctx, values[0], kind.count)
        for k, (target, source) in enumerate(zip(targets, sources, strict=True)):
            at = {**fields, "moff": fields["moff"] + k * TYPE_BYTES[kind.type]}
            _one(ctx, kind, at, target, source, values[1] if kind.op == "cas" else None)
    if kind.order in ("acquire", "acq_rel"):
        ctx.b.emit("MEMBAR", scope=SCOPES[kind.scope], guard=ctx.guard)


def _elements(ctx: Context, operand: ast.Operand, count: int) -> tuple[ast.Operand, ...]:
    if count == 1 or isinstance(operand, ast.Discard):
        return (operand,) * count
    if not isinstance(operand, ast.Vector) or len(operand.items) != count:
        ctx.refuse("not as many values as the vector has", expected=f"{count} values in braces")
    return operand.items


def _one(
    ctx: Context, kind: AtomicForm, fields: Fields, target: ast.Operand, value: ast.Operand, other: ast.Operand | None
) -> None:
    """Emit the operation on one value. other: the value that cas stores."""
    type_ = kind.type
    wide = TYPE_BYTES[type_] == 8
    fields["atyp"] = ATYP[_WHOLE.get(type_, type_)]
    fields["rb"] = ctx.pair(value, type_) if wide else ctx.b.unit(ctx.word(value, type_))
    if other is not None:
        fields["rc"] = ctx.pair(other, type_) if wide else ctx.b.unit(ctx.word(other, type_))
    shift = _whole_word(ctx, fields, wide=kind.space != "shared") if type_ in _WHOLE else RZ
    result = ctx.dest(target, type_)
    out = ctx.b.new() if result != RZ and type_ in _WHOLE else result
    if out == RZ and kind.space == "global" and kind.op not in ("exch", "cas"):
        ctx.b.emit("RED", guard=ctx.guard, **fields)
    else:
        ctx.b.emit(_NAMES[kind.space], rd=out, guard=ctx.guard, **fields)
    if out != result:
        ctx.b.emit("SHF", rd=result, a=RZ, b=shift, c=out, dir="R", stype="U32", hi=1, guard=ctx.guard)


def _aligned(ctx: Context, fields: Fields, *, wide: bool) -> int:
    """Put the address of the word around a half into the fields.

    Returns the unit with the half's first bit in that word. An odd address stays odd, and faults.
    """
    b, at, offset = ctx.b, fields["ra"], fields["moff"]
    at = address.add_wide(ctx, at, offset) if wide else address.add(ctx, at, offset)
    aligned = b.new(2 if wide else 1)
    b.emit("LOP3", rd=aligned, a=at, b=Imm(~2 & 0xFFFFFFFF), c=RZ, lut=_AND)
    if wide:
        b.move(aligned + 1, at + 1)
    fields["ra"], fields["moff"] = aligned, 0
    odd, shift = b.new(), b.new()
    b.emit("LOP3", rd=odd, a=at, b=Imm(2), c=RZ, lut=_AND)
    b.emit("SHF", rd=shift, a=odd, b=Imm(3), c=RZ, dir="L")
    return shift


def _compare_and_swap_half(
    ctx: Context, kind: AtomicForm, fields: Fields, result: ast.Operand, compare: ast.Operand, value: ast.Operand
) -> None:
    """Lower cas.b16 to a loop around cas of the word.

    The loop ends when the half differs from the value compared with, or when no other thread has changed the word
    between the load and the cas.
    """
    b, guard, end = ctx.b, ctx.guard, ctx.b.label()
    if guard is not None:
        b.branch(end, (guard[0], not guard[1]))
    expected, given = (ctx.extend(ctx.word(o, "b16"), 2, signed=False) for o in (compare, value))
    shift = _aligned(ctx, fields, wide=kind.space != "shared")
    place: Fields = {"ra": fields["ra"], "moff": 0}
    cached: Fields = {} if kind.space == "shared" else {"cache": "CV"}
    mask, moved, again, done = b.new(), b.new(), b.label(), b.label()
    b.emit("SHF", rd=mask, a=b.unit(Imm(0xFFFF)), b=shift, c=RZ, dir="L")
    b.emit("SHF", rd=moved, a=b.unit(given), b=shift, c=RZ, dir="L")
    b.start(again)
    old, low, half, word, found = (b.new() for _ in range(5))
    other, changed = b.predicate(), b.predicate()
    b.emit(_LOADS[kind.space], rd=old, width="32", **place, **cached)
    b.emit("SHF", rd=low, a=RZ, b=shift, c=old, dir="R", stype="U32", hi=1)
    b.emit("LOP3", rd=half, a=low, b=Imm(0xFFFF), c=RZ, lut=_AND)
    b.emit("ISETP", pd0=other, a=half, b=expected, icmp="NE", u32cmp=1)
    b.branch(done, (other, False))
    b.emit("LOP3", rd=word, a=moved, b=mask, c=old, lut=_PICK)
    b.emit(_NAMES[kind.space], rd=found, aop="CAS", atyp="", rb=old, rc=word, **place)
    b.emit("ISETP", pd0=changed, a=found, b=old, icmp="NE", u32cmp=1)
    b.branch(again, (changed, False))
    b.start(done)
    target = ctx.dest(result, "b16")
    if target != RZ:
        b.move(target, half)
    b.start(end)


def _whole_word(ctx: Context, fields: Fields, *, wide: bool) -> int:
    """Change address and operand of an addition to a half for an addition to the word around it.

    Returns the unit with the half's first bit in that word. An odd address stays odd, and faults.
    """
    b, shift = ctx.b, _aligned(ctx, fields, wide=wide)
    low, moved, zero, word = (b.new() for _ in range(4))
    b.emit("LOP3", rd=low, a=fields["rb"], b=Imm(0xFFFF), c=RZ, lut=_AND)
    b.emit("SHF", rd=moved, a=low, b=shift, c=RZ, dir="L")
    b.emit("SHF", rd=zero, a=RZ, b=shift, c=b.unit(_MINUS_ZERO_ABOVE), dir="R", stype="U32", hi=1)
    b.emit("LOP3", rd=word, a=moved, b=zero, c=RZ, lut=_OR)
    fields["rb"] = word
    return shift


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"atom": atomic, "red": atomic}
