"""This module lowers mov: copies, constants, predicates, addresses, special registers, and packing and unpacking of
vectors (PTX ISA 9.7.9)."""

from __future__ import annotations

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.arithmetic.logic import copy_predicate
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64", "b128", "pred", "b8", "u8", "s8")
"""Types of mov."""


def _mov(ctx: Context, ins: Instruction) -> None:
    """Lower mov."""
    m = ctx.modifiers()
    count = int((m.take("v2", "v4") or "v1")[1:])
    type_ = m.type(*TYPES)
    m.done()
    d, a = ctx.operands(2)
    if count > 1:
        _elements(ctx, d, a, type_, count)
        return
    d, a = _single(d), _single(a)
    size = TYPE_BYTES[type_]
    if type_ == "pred":
        copy_predicate(ctx, ctx.dest_predicate(d), ctx.predicate(a))
    elif isinstance(d, ast.Vector):
        if isinstance(a, ast.Vector):
            ctx.refuse("both operands are vectors", expected=f"a register of type .{type_}")
        _unpack(ctx, d.items, a, type_)
    elif isinstance(a, ast.Vector):
        _pack(ctx, d, a.items, type_)
    elif size == 16:
        source, rd = _quad(ctx, a), ctx.dest(d, type_)
        for k in range(4):
            ctx.b.move(rd + k, source + k)
    elif size == 8:
        if isinstance(a, ast.Symbol) and type_[0] == "f":
            ctx.refuse("an address in a floating register", expected="mov.u64 or mov.b64")
        wide.move(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_))
    elif isinstance(d, ast.Discard):
        ctx.word(a, type_)
    else:
        ctx.b.move(ctx.dest(d, type_), ctx.word(a, type_))


def _single(operand: ast.Operand) -> ast.Operand:
    """Return the operand without braces around one element."""
    return operand.items[0] if isinstance(operand, ast.Vector) and len(operand.items) == 1 else operand


def _elements(ctx: Context, d: ast.Operand, a: ast.Operand, type_: str, count: int) -> None:
    """Lower mov.v2 and .v4 element by element. All elements are read before the first is written."""
    if isinstance(a, ast.Special):
        a = ast.Vector(tuple(ast.Special(f"{a.name}.{part}") for part in "xyzw"[:count]))
    for side in (d, a):
        if not isinstance(side, ast.Vector) or len(side.items) != count:
            ctx.refuse(f"an operand of mov.v{count}", expected=f"{count} values in braces, or a register of .v{count}")
    assert isinstance(d, ast.Vector)
    assert isinstance(a, ast.Vector)
    read = [_copied(ctx, item, type_) for item in a.items]
    for item, words in zip(d.items, read, strict=True):
        target = ctx.dest(item, type_)
        for k, word in enumerate(words if target != RZ else ()):
            ctx.b.move(target + k, word)


def _copied(ctx: Context, item: ast.Operand, type_: str) -> list[int]:
    """Copy the words of an element to fresh units."""
    words = ctx.wide(item, type_) if TYPE_BYTES[type_] == 8 else (ctx.word(item, type_),)
    out = [ctx.b.new() for _ in words]
    for unit, word in zip(out, words, strict=True):
        ctx.b.move(unit, word)
    return out


def _quad(ctx: Context, operand: ast.Operand) -> int:
    if not isinstance(operand, ast.Register):
        ctx.refuse("operand does not fit type .b128", expected="a register of type .b128")
    ctx.check_type(operand, "b128")
    return ctx.register(operand.name)


def _element(ctx: Context, items: tuple[ast.Operand, ...], type_: str) -> str:
    """Return the elements' type. Refuses a vector that does not fill the whole value."""
    size, count = TYPE_BYTES[type_], len(items)
    if type_[0] != "b" or count not in (2, 4) or size % count:
        ctx.refuse(f"a vector of {count} elements as .{type_}", expected="2 or 4 elements of a .b type")
    return f"b{8 * size // count}"


def _pack(ctx: Context, d: ast.Operand, items: tuple[ast.Operand, ...], type_: str) -> None:
    element = _element(ctx, items, type_)
    rd = wide.target(ctx, d, type_) if TYPE_BYTES[type_] == 8 else ctx.dest(d, type_)
    words: list[Source] = []
    if element == "b64":
        for item in items:
            words += ctx.wide(item, element)
    else:
        parts = [ctx.word(item, element) for item in items]
        per_word = max(1, 4 // TYPE_BYTES[element])
        words = [joined(ctx, parts[k : k + per_word], element) for k in range(0, len(parts), per_word)]
    for k, word in enumerate(words):
        ctx.b.move(rd + k, word)


def joined(ctx: Context, parts: list[Source], element: str) -> Source:
    """Return one word made of its parts, the lowest first."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Imm) for part in parts):
        bits = 8 * TYPE_BYTES[element]
        return Imm(sum((p.bits & ((1 << bits) - 1)) << k * bits for k, p in enumerate(parts) if isinstance(p, Imm)))
    if len(parts) == 4:
        low, high = (joined(ctx, parts[k : k + 2], element) for k in (0, 2))
        return joined(ctx, [low, high], "b16")
    out = ctx.b.new()
    ctx.b.emit(
        "PRMT", rd=out, a=ctx.b.unit(parts[0]), b=Imm(0x5410 if element == "b16" else 0x0040), c=ctx.b.unit(parts[1])
    )
    return out


def _unpack(ctx: Context, items: tuple[ast.Operand, ...], a: ast.Operand, type_: str) -> None:
    element = _element(ctx, items, type_)
    size = TYPE_BYTES[element]
    words: tuple[Source, ...]
    if type_ == "b128":
        words = tuple(range(_quad(ctx, a), _quad(ctx, a) + 4))
    else:
        words = ctx.wide(a, type_) if TYPE_BYTES[type_] == 8 else (ctx.word(a, type_),)
    for k, item in enumerate(items):
        if isinstance(item, ast.Discard):
            continue
        rd = ctx.dest(item, element)
        if size == 8:
            wide.move(ctx, rd, (words[2 * k], words[2 * k + 1]))
            continue
        word, shift = words[k * size // 4], 8 * (k * size % 4)
        if shift:
            ctx.b.emit("SHF", rd=rd, a=RZ, b=Imm(shift), c=word, dir="R", hi=1)
        else:
            ctx.b.move(rd, word)


PURE: dict[str, Handler] = {"mov": _mov}
