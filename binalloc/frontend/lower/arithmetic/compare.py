"""This module lowers PTX comparison and selection: setp, set, selp, slct (PTX ISA 9.7.6)."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.frontend.emitter import MASK, Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.context.context import Context, Fields, Handler, Pred
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

TYPES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")  # types of operands
_ONES = {"f32": Imm(0x3F800000), "f16": Imm(0x3C00), "bf16": Imm(0x3F80)}
"""Result type -> what set writes where the comparison holds; all ones for other types."""
_ORDER = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
"""Comparisons of all ordered types -> Loom's."""
_UNSIGNED = {"lo": "LT", "ls": "LE", "hi": "GT", "hs": "GE"}  # further comparisons of unsigned integers -> Loom's
_UNORDERED = {**{f"{name}u": f"{text}U" for name, text in _ORDER.items()}, "num": "NUM", "nan": "NAN"}
"""Further comparisons of floats -> Loom's."""
_COMPARISONS = (*_ORDER, *_UNSIGNED, *_UNORDERED)  # all suffixes of comparisons
_EXCHANGED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "LTU": "GTU", "LEU": "GEU", "GTU": "LTU", "GEU": "LEU"}
"""Loom's comparison -> the one with exchanged operands."""


class SetpSuffixes:
    """A comparison is what the suffixes of setp and set say, without the types."""

    def __init__(self, m: Modifiers) -> None:
        self.m = m
        self.name = m.take(*_COMPARISONS)  #: the PTX comparison
        if not self.name:
            m.refuse(f"{m.ins.op} needs a comparison", expected="." + ", .".join(_COMPARISONS))
        self.bop = m.take("and", "or", "xor")  #: how the result is combined with another predicate, or ""
        self.ftz = int(m.has("ftz"))

    def typed(self, type_: str) -> str:
        """Return Loom's comparison for operands of this type."""
        if self.ftz and type_ != "f32":
            self.m.refuse(f"modifier .ftz of {self.m.ins.op} is not for type .{type_}", expected=".f32")
        if type_[0] == "f":
            return self.floating(type_)
        if type_[0] == "u":
            table = _ORDER | _UNSIGNED
        else:
            table = _ORDER if type_[0] == "s" else {"eq": "EQ", "ne": "NE"}
        return self._of(table, type_)

    def floating(self, type_: str) -> str:
        """Return Loom's comparison of floating-point numbers."""
        return self._of(_ORDER | _UNORDERED, type_)

    def _of(self, table: Mapping[str, str], type_: str) -> str:
        if self.name not in table:
            self.m.refuse(f"no comparison .{self.name} of type .{type_}", expected="." + ", .".join(table))
        return table[self.name]


def compare(
    ctx: Context, comparison: SetpSuffixes, type_: str, x: ast.Operand, y: ast.Operand, pd0: int, pd1: int, other: Pred
) -> None:
    """Set pd0 and pd1 to the comparison and its negation, each combined with `other`."""
    text, bop = comparison.typed(type_), (comparison.bop or "and").upper()
    size = TYPE_BYTES[type_]
    if type_[0] == "f":
        a = ctx.double(x) if size == 8 else ctx.word(x, type_)
        b = ctx.double(y) if size == 8 else ctx.word(y, type_)
        a, b, text = _exchanged(a, b, text)
        fields: Fields = {"ftz": comparison.ftz} if size == 4 else {}
        name = "DSETP" if size == 8 else "FSETP"
        ctx.b.emit(name, pd0=pd0, pd1=pd1, a=a, b=b, fcmp=text, bop=bop, ps0=other[0], ps0n=other[1], **fields)
    elif size == 8:
        first, second = ctx.wide(x, type_), ctx.wide(y, type_)
        if wide.known(first) is not None:
            first, second, text = second, first, _EXCHANGED.get(text, text)
        signed = type_[0] == "s"
        wide.compare(ctx, text, first, second, signed=signed, pd0=pd0, pd1=pd1, bop=bop, other=other)
    else:
        a, b, text = _exchanged(ctx.extended(x, type_), ctx.extended(y, type_), text)
        unsigned = int(type_[0] != "s")
        ctx.b.emit(
            "ISETP", pd0=pd0, pd1=pd1, a=a, b=b, icmp=text, u32cmp=unsigned, bop=bop, ps0=other[0], ps0n=other[1]
        )


def _exchanged(a: Source, b: Source, text: str) -> tuple[Source, Source, str]:
    """Return the same comparison with a register first, if there is one."""
    if isinstance(a, int) or not isinstance(b, int):
        return a, b, text
    return b, a, _EXCHANGED.get(text, text)


def _setp(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    comparison = SetpSuffixes(m)
    type_ = m.type(*TYPES)
    m.done()
    d, a, b, *rest = ctx.operands(4 if comparison.bop else 3)
    other = ctx.predicate(rest[0]) if rest else (PT, 0)
    first, second = (d.first, d.second) if isinstance(d, ast.Dual) else (d, ast.Discard())
    if first == second and isinstance(first, ast.Register):
        ctx.refuse("both destinations are the same predicate", expected="two predicates")
    compare(ctx, comparison, type_, a, b, ctx.dest_predicate(first), ctx.dest_predicate(second), other)


def _set(ctx: Context, ins: Instruction) -> None:
    """Lower set: d = all ones (1.0 for a float) or zero."""
    m = ctx.modifiers()
    comparison = SetpSuffixes(m)
    result = m.type("u32", "s32", *_ONES)
    if comparison.ftz and result == "bf16":
        m.refuse("modifier .ftz of set is not for a result of type .bf16", expected="another result")
    type_ = m.type(*TYPES)
    m.done()
    d, a, b, *rest = ctx.operands(4 if comparison.bop else 3)
    other = ctx.predicate(rest[0]) if rest else (PT, 0)
    truth = ctx.b.predicate()
    compare(ctx, comparison, type_, a, b, truth, PT, other)
    wide.pick(ctx, ctx.dest(d, result), _ONES.get(result, Imm(MASK)), RZ, (truth, 0))


def _selp(ctx: Context, ins: Instruction) -> None:
    m = ctx.modifiers()
    type_ = m.type(*TYPES)
    m.done()
    d, a, b, p = ctx.operands(4)
    _choose(ctx, type_, d, a, b, ctx.predicate(p))


def _choose(ctx: Context, type_: str, d: ast.Operand, a: ast.Operand, b: ast.Operand, choice: Pred) -> None:
    """Emit d = choice ? a : b."""
    if TYPE_BYTES[type_] == 8:
        wide.select(ctx, wide.target(ctx, d, type_), ctx.wide(a, type_), ctx.wide(b, type_), choice)
    else:
        wide.pick(ctx, ctx.dest(d, type_), ctx.word(a, type_), ctx.word(b, type_), choice)


def _slct(ctx: Context, ins: Instruction) -> None:
    """Lower slct: d = (c >= 0) ? a : b; a NaN selects b."""
    m = ctx.modifiers()
    ftz = int(m.has("ftz"))
    result, type_ = m.type(*TYPES), m.type("s32", "f32")
    m.done()
    if ftz and type_ != "f32":
        m.refuse("modifier .ftz of slct is not for type .s32", expected=".f32")
    d, a, b, c = ctx.operands(4)
    truth, source = ctx.b.predicate(), ctx.word(c, type_)
    if type_ == "f32":
        ctx.b.emit("FSETP", pd0=truth, a=source, b=RZ, fcmp="GE", ftz=ftz)
    else:
        ctx.b.emit("ISETP", pd0=truth, a=source, b=RZ, icmp="GE")
    _choose(ctx, result, d, a, b, (truth, 0))


PURE: dict[str, Handler] = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}
