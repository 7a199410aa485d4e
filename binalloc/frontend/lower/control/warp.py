"""This module lowers warp operations: shuffles, votes, matches, reductions.

Loom's operations work on all active lanes; PTX names the lanes that take part. A WARPSYNC first checks that the named
lanes are here. It faults where the code needs the lanes of a warp to run independently. Lanes of two groups may still
meet in one instruction, each with its own mask. Therefore a mask that is not the whole warp is applied to the ballots.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source, imm
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.control.control import constant, member_mask
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction
from binalloc.isa.instruction import LANES
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS

_ALL = imm(-1)  # the mask of all lanes of a warp
_AND = 0xC0  # truth table of LOP3: a & b
_SHUFFLES = {"idx": "IDX", "up": "UP", "down": "DOWN", "bfly": "BFLY"}  # PTX mode -> Loom's


def shuffle(ctx: Context, ins: Instruction) -> None:
    """Lower shfl{.sync}.mode.b32 d{|p}, a, b, c{, mask}. Loom's SHFL has the same definition."""
    m = ctx.modifiers()
    sync = m.has("sync")
    mode = m.take(*_SHUFFLES)
    if not mode:
        ctx.refuse("shfl without a mode", expected=".up, .down, .bfly or .idx")
    type_ = m.type("b32", "u32", "s32", "f32")
    m.done()
    first, a, lane, clamp, *rest = ctx.operands(5 if sync else 4)
    if rest:
        member_mask(ctx, rest[0])
    fields: Fields = {"shfl": _SHUFFLES[mode]}
    if isinstance(first, ast.Dual):
        fields["pd0"] = ctx.dest_predicate(first.second)
        first = first.first
    value = ctx.b.unit(ctx.word(a, type_))
    known = constant(ctx, lane)
    if known is not None:
        fields |= {"limm": 1, "laneimm": known & 31}
    else:
        fields["rb"] = ctx.b.unit(ctx.word(lane, "b32"))
    known = constant(ctx, clamp)
    if known is not None:
        fields |= {"cimm": 1, "clampimm": known & 0x1FFF}
    else:
        fields["rc"] = ctx.b.unit(ctx.word(clamp, "b32"))
    ctx.b.emit("SHFL", rd=ctx.dest(first, type_), a=value, guard=ctx.guard, **fields)


def vote(ctx: Context, ins: Instruction) -> None:
    """Lower vote{.sync}.all/.any/.uni.pred and vote{.sync}.ballot.b32."""
    m = ctx.modifiers()
    sync = m.has("sync")
    mode = m.take("all", "any", "uni", "ballot")
    if not mode:
        ctx.refuse("vote without a mode", expected=".all, .any, .uni or .ballot")
    m.type("b32" if mode == "ballot" else "pred")
    m.done()
    target, a, *rest = ctx.operands(3 if sync else 2)
    mask: Source = member_mask(ctx, rest[0]) if rest else _ALL
    number, negated = ctx.predicate(a)
    source: Fields = {"ps0": number, "ps0n": negated}
    if mode == "ballot":
        out = ctx.dest(target, "b32")
        if mask == _ALL:
            ctx.b.emit("VOTE", rd=out, vote="ALL", guard=ctx.guard, **source)
        else:
            _masked(ctx, out, _ballot(ctx, source), mask, guarded=True)
        return
    out = ctx.dest_predicate(target)
    if mask == _ALL:
        ctx.b.emit("VOTE", pd0=out, vote={"all": "ALL", "any": "ANY", "uni": "EQ"}[mode], guard=ctx.guard, **source)
        return
    yes = _masked(ctx, ctx.b.new(), _ballot(ctx, source), mask)
    none: Fields = {"icmp": "EQ", "u32cmp": "U32", "guard": ctx.guard}
    if mode == "any":
        ctx.b.emit("ISETP", pd0=out, a=yes, b=RZ, icmp="NE", u32cmp="U32", guard=ctx.guard)
        return
    here = _masked(ctx, ctx.b.new(), _ballot(ctx, {"ps0": PT}), mask)
    if mode == "all":
        ctx.b.emit("ISETP", pd0=out, a=yes, b=here, **none)
        return
    same = ctx.b.predicate()
    ctx.b.emit("ISETP", pd0=same, a=yes, b=here, icmp="EQ", u32cmp="U32")
    ctx.b.emit("ISETP", pd0=out, a=yes, b=RZ, ps0=same, bop="OR", **none)


def _ballot(ctx: Context, source: Fields) -> int:
    """Return a unit with one bit for each lane whose guard and predicate hold."""
    out = ctx.b.new()
    ctx.b.emit("VOTE", rd=out, vote="ALL", guard=ctx.guard, **source)
    return out


def _masked(ctx: Context, out: int, value: int, mask: Source, *, guarded: bool = False) -> int:
    ctx.b.emit("LOP3", rd=out, a=value, b=mask, c=RZ, lut=_AND, guard=ctx.guard if guarded else None)
    return out


def match(ctx: Context, ins: Instruction) -> None:
    """Lower match.any.sync.b32/.b64 d, a, mask and match.all.sync d{|p}, a, mask."""
    m = ctx.modifiers()
    mode = m.take("any", "all")
    if not mode or not m.has("sync"):
        ctx.refuse("not a match that is supported", expected="match.any.sync or match.all.sync")
    type_ = m.type("b32", "b64")
    m.done()
    first, a, members = ctx.operands(3)
    mask = member_mask(ctx, members)
    fields: Fields = {"m64": "U64"} if type_ == "b64" else {}
    value = ctx.pair(a, type_) if type_ == "b64" else ctx.b.unit(ctx.word(a, type_))
    second = first.second if isinstance(first, ast.Dual) else ast.Discard()
    target = first.first if isinstance(first, ast.Dual) else first
    rd, pd = ctx.dest(target, "b32"), ctx.dest_predicate(second)
    if mask == _ALL:
        text = mode.upper()
        ctx.b.emit("MATCH", rd=rd, pd0=pd if mode == "all" else PT, a=value, match=text, guard=ctx.guard, **fields)
        return
    same = ctx.b.new()
    ctx.b.emit("MATCH", rd=same, a=value, match="ANY", guard=ctx.guard, **fields)
    if mode == "any":
        _masked(ctx, rd, same, mask, guarded=True)
        return
    mine = _masked(ctx, ctx.b.new(), same, mask)
    here = _masked(ctx, ctx.b.new(), _ballot(ctx, {"ps0": PT}), mask)
    agree = ctx.b.predicate()
    ctx.b.emit("ISETP", pd0=agree, a=mine, b=here, icmp="EQ", u32cmp="U32")
    ctx.b.emit("SEL", rd=rd, a=mine, b=RZ, ps0=agree, guard=ctx.guard)
    if pd != PT:
        ctx.b.emit("PLOP3", pd0=pd, ps0=agree, lut_b=0xF0, lut2=0, guard=ctx.guard)


def active_mask(ctx: Context, ins: Instruction) -> None:
    """Lower activemask."""
    m = ctx.modifiers()
    m.type("b32")
    m.done()
    (target,) = ctx.operands(1)
    ctx.b.emit("VOTE", rd=ctx.dest(target, "b32"), vote="ALL", ps0=PT, guard=ctx.guard)


_REDUCTIONS: dict[str, tuple[str, int, Fields]] = {
    "add": ("IADD3", 0, {}),
    "min": ("IMNMX", 1, {"ps0": PT}),
    "max": ("IMNMX", 0, {"ps0": PT, "ps0n": 1}),
    "and": ("LOP3", 0xFFFFFFFF, {"lut": 0xC0}),
    "or": ("LOP3", 0, {"lut": 0xFC}),
    "xor": ("LOP3", 0, {"lut": 0x3C}),
}
"""Operation -> Loom's operation, its identity element, and its fields."""
_NAN = 0x7FFFFFFF
"""Minima and maxima of f32 start with a NaN, because FMNMX returns the other operand of a NaN."""


def reduce(ctx: Context, ins: Instruction) -> None:
    """Lower redux.sync: every lane combines the values of the lanes in its mask, one lane after the other."""
    m = ctx.modifiers()
    m.has("sync")
    op = m.take(*_REDUCTIONS)
    if not op:
        ctx.unsupported("other", "not a reduction that is supported", expected=".add, .min, .max, .and, .or or .xor")
    magnitude, nan = m.has("abs"), m.has("NaN")
    type_ = m.type("u32", "s32", "b32", *(("f32",) if op in ("min", "max") else ()))
    m.done()
    if (magnitude or nan) and type_ != "f32":
        m.refuse(f"redux.{op}.{type_} with .abs or .NaN", expected=f"redux.sync.{op} of .f32")
    target, a, members = ctx.operands(3)
    guard, after = ctx.guard, ctx.b.label()
    if guard is not None:  # only the lanes whose guard holds go through the loop
        ctx.b.branch(after, (guard[0], not guard[1]))
        ctx.guard = None
    mask = member_mask(ctx, members)
    name, identity, fields = _REDUCTIONS[op]
    if type_ == "f32":
        name, identity = "FMNMX", _NAN
        fields = {**fields, "absb": int(magnitude)}
    elif name == "IMNMX":
        fields = {**fields, "u32": "U32" if type_ != "s32" else ""}
        low = 0 if type_ != "s32" else 0x80000000
        high = 0xFFFFFFFF if type_ != "s32" else 0x7FFFFFFF
        identity = high if op == "min" else low
    value = ctx.b.unit(ctx.word(a, type_))
    total = _reduced(ctx, value, mask, name, identity, fields)
    if nan:
        total = _unless_nan(ctx, value, mask, total)
    ctx.b.move(ctx.dest(target, type_), total)
    if guard is not None:
        ctx.b.start(after)
        ctx.guard = guard


def _reduced(ctx: Context, value: int, mask: Source, name: str, identity: int, fields: Fields) -> int:
    """Return the reduction of `value` by operation `name`, over the active lanes in each lane's mask."""
    left = _masked(ctx, ctx.b.new(), _ballot(ctx, {"ps0": PT}), mask)
    total, lane = ctx.b.new(), ctx.b.new()
    ctx.b.move(total, Imm(identity))
    ctx.b.move(lane, RZ)
    loop = ctx.b.label()
    ctx.b.start(loop)
    other, taken, bit = ctx.b.new(), ctx.b.new(), ctx.b.new()
    named, more = ctx.b.predicate(), ctx.b.predicate()
    ctx.b.emit("SHFL", rd=other, a=value, rb=lane, cimm=1, clampimm=31, shfl="IDX")
    ctx.b.emit("SHF", rd=bit, a=RZ, b=lane, c=left, dir="R", stype="U32", hi="HI")
    ctx.b.emit("LOP3", pd0=named, a=bit, b=Imm(1), c=RZ, lut=_AND)
    ctx.b.emit("SEL", rd=taken, a=other, b=Imm(identity), ps0=named)
    if name in ("IMNMX", "FMNMX"):
        ctx.b.emit(name, rd=total, a=total, b=taken, **fields)
    else:
        ctx.b.emit(name, rd=total, a=total, b=taken, c=RZ, **fields)
    ctx.b.emit("IADD3", rd=lane, a=lane, b=Imm(1), c=RZ)
    ctx.b.emit("ISETP", pd0=more, a=lane, b=Imm(LANES), icmp="LT", u32cmp="U32")
    ctx.b.branch(loop, (more, False), uniform=True)
    return total


def _unless_nan(ctx: Context, value: int, mask: Source, total: int) -> int:
    """Return `total`, or the canonical NaN where a named lane has a NaN."""
    nan, some, out = ctx.b.predicate(), ctx.b.predicate(), ctx.b.new()
    ctx.b.emit("FSETP", pd0=nan, a=value, b=value, fcmp="NAN")
    named = _masked(ctx, ctx.b.new(), _ballot(ctx, {"ps0": nan}), mask)
    ctx.b.emit("ISETP", pd0=some, a=named, b=RZ, icmp="NE", u32cmp="U32")
    ctx.b.emit("SEL", rd=out, a=total, b=Imm(_NAN), ps0=some, ps0n=1)
    return out


def elect(ctx: Context, ins: Instruction) -> None:
    """Lower elect.sync d|p, mask: it chooses the lowest lane in the mask that has not ended."""
    m = ctx.modifiers()
    if not m.has("sync"):
        ctx.refuse("elect without .sync", expected="elect.sync d|p, mask")
    m.done()
    first, members = ctx.operands(2)
    if not isinstance(first, ast.Dual):
        ctx.refuse("elect has two destinations", expected="d|p, or _|p")
    mask = member_mask(ctx, members)
    here = _masked(ctx, ctx.b.new(), _ballot(ctx, {"ps0": PT}), mask)
    mirrored, lowest, lane = ctx.b.new(), ctx.b.new(), ctx.b.new()
    ctx.b.emit("BREV", rd=mirrored, b=here)
    ctx.b.emit("FLO", rd=lowest, b=mirrored, u32=1, sh=1)
    ctx.b.emit("S2R", rd=lane, sreg=SPECIAL_REGISTERS.index("SR_LANEID"))
    target, chosen = ctx.dest(first.first, "b32"), ctx.dest_predicate(first.second)
    if target != RZ:
        ctx.b.move(target, lowest, ctx.guard)
    ctx.b.emit("ISETP", pd0=chosen, a=lane, b=lowest, icmp="EQ", u32cmp="U32", guard=ctx.guard)


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {
    "shfl": shuffle,
    "vote": vote,
    "match": match,
    "activemask": active_mask,
    "redux": reduce,
    "elect": elect,
}
