"""This module lowers cp.async of 4, 8 or 16 bytes from global to shared memory, with its groups (PTX ISA 9.7.9.25.3).

The copy is made in its place in the code, by a load and a store. So commit_group, wait_group and wait_all do nothing:
the data that a wait has to make visible is visible already. A source that is shorter than the copy is not read beyond
its end, and zeros follow.
"""

from __future__ import annotations

from binalloc.frontend.emitter import Guard, Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.memory import address
from binalloc.frontend.lower.memory.memory import EVICTION, PREFETCH
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import Instruction

_WIDTH = {4: "32", 8: "64", 16: "128"}  # bytes -> text of Loom's width modifier
_AND, _OR = 0xC0, 0xFC
"""Truth tables of LOP3 and PLOP3: a & b, a | b."""
_GROUPS = ("commit_group", "wait_group", "wait_all")  # cp.async instructions that copy nothing


def copy(ctx: Context, ins: Instruction) -> None:
    """Lower cp.async."""
    m = ctx.modifiers()
    if not m.has("async"):
        ctx.unsupported("async")
    if m.take(*_GROUPS):
        m.done()
        _group(ctx, ins)
        return
    cache = m.take("ca", "cg")
    into, of = m.take("shared", "shared::cta"), m.take("global")
    policy = False
    while hint := m.take(*EVICTION, *PREFETCH):
        policy = policy or hint == "L2::cache_hint"
    m.done()
    if not cache or not into or not of:
        m.refuse("not a cp.async", expected="cp.async.ca or .cg, .shared.global")
    operands = ctx.operands(3, 4, 5) if policy else ctx.operands(3, 4)
    if policy:
        if len(operands) == 3:
            m.refuse("cp.async with .L2::cache_hint needs a policy", expected="a last operand of type .b64")
        ctx.wide(operands[-1], "b64")
        operands = operands[:-1]
    target, source, count, *rest = operands
    size = count.value if isinstance(count, ast.Integer) else 0
    if size not in ((16,) if cache == "cg" else (4, 8, 16)):
        m.refuse("the size of a cp.async", expected="16" if cache == "cg" else "4, 8 or 16")
    to, to_offset = address.narrow(ctx, target, "shared")
    pair, offset = address.wide(ctx, source, "global")
    words = ctx.b.new(size // 4)
    fields: Fields = {"cache": "CG" if cache == "cg" else ""}
    if not rest:
        ctx.b.emit("LDG", rd=words, ra=pair, moff=offset, width=_WIDTH[size], guard=ctx.guard, **fields)
    else:
        for k in range(size // 4):
            ctx.b.move(words + k, RZ)
        if isinstance(rest[0], ast.Register) and ctx.function.registers[rest[0].name] == "pred":
            number, negated = ctx.predicate(rest[0])
            guard = _also(ctx, number, bool(negated))
            ctx.b.emit("LDG", rd=words, ra=pair, moff=offset, width=_WIDTH[size], guard=guard, **fields)
        else:
            _partly(ctx, words, pair, offset, size, ctx.word(rest[0], "u32"), fields)
    ctx.b.emit("STS", ra=to, moff=to_offset, rb=words, width=_WIDTH[size], guard=ctx.guard)


def _group(ctx: Context, ins: Instruction) -> None:
    """Lower commit_group, wait_group N and wait_all: all copies have been made already."""
    if "wait_group" not in ins.mods:
        ctx.operands(0)
    elif not isinstance(ctx.operands(1)[0], ast.Integer):
        ctx.refuse("the number of groups must be a constant", expected="cp.async.wait_group N")
    ctx.b.emit("NOP", guard=ctx.guard)


def _also(ctx: Context, predicate: int, holds: bool) -> Guard:
    """Return a guard that holds where the instruction's guard holds and the predicate is `holds`."""
    if ctx.guard is None:
        return predicate, not holds
    both, (number, negated) = ctx.b.predicate(), ctx.guard
    one: Fields = {"ps0": number, "ps0n": int(negated), "ps1": predicate, "ps1n": int(not holds)}
    ctx.b.emit("PLOP3", pd0=both, lut_b=_AND, lut2=0, **one)
    return both, False


def _partly(ctx: Context, words: int, pair: int, offset: int, size: int, length: Source, fields: Fields) -> None:
    """Load the first `length` bytes into `words`, which are zero.

    If that is all of them, one load reads them. Otherwise whole words are loaded, and then the single bytes of the last
    word.
    """
    emit, new = ctx.b.emit, ctx.b.new
    given, whole = ctx.b.unit(length), ctx.b.predicate()
    emit("ISETP", pd0=whole, a=given, b=Imm(size), icmp="GE", u32cmp=1)
    emit("LDG", rd=words, ra=pair, moff=offset, width=_WIDTH[size], guard=_also(ctx, whole, True), **fields)
    number, below, rest, start = new(), new(), new(), new()
    emit("SHF", rd=number, a=RZ, b=Imm(2), c=given, dir="R", hi=1)
    emit("LOP3", rd=below, a=given, b=Imm(0xFFFFFFFC), c=RZ, lut=_AND)
    emit("LOP3", rd=rest, a=given, b=Imm(3), c=RZ, lut=_AND)
    place, carry = new(2), ctx.b.predicate()
    emit("IADD3", rd=place, pd0=carry, a=pair, b=below, c=RZ)
    emit("IADD3", rd=place + 1, a=RZ if pair == RZ else pair + 1, b=RZ, c=RZ, ps0=carry, ps0n=0, x=1)
    ctx.b.move(start, RZ)
    for k in range(3):
        one, moved, joined, there = new(), new(), new(), ctx.b.predicate()
        emit("ISETP", pd0=there, a=rest, b=Imm(k), icmp="GT", u32cmp=1, ps0=whole, ps0n=1)
        ctx.b.move(one, RZ)
        emit("LDG", rd=one, ra=place, moff=offset + k, width="U8", guard=_also(ctx, there, True), **fields)
        emit("SHF", rd=moved, a=one, b=Imm(8 * k), c=RZ, dir="L")
        emit("LOP3", rd=joined, a=moved, b=start, c=RZ, lut=_OR)
        start = joined
    for k in range(size // 4):
        inside, last = ctx.b.predicate(), ctx.b.predicate()
        emit("ISETP", pd0=inside, a=number, b=Imm(k), icmp="GT", u32cmp=1, ps0=whole, ps0n=1)
        guard = _also(ctx, inside, True)
        emit("LDG", rd=words + k, ra=pair, moff=offset + 4 * k, width="32", guard=guard, **fields)
        emit("ISETP", pd0=last, a=number, b=Imm(k), icmp="EQ", u32cmp=1, ps0=whole, ps0n=1)
        ctx.b.move(words + k, start, (last, False))


EFFECTS: dict[str, Handler] = {"cp": copy}
