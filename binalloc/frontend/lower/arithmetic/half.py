"""This module lowers arithmetic on f16, bf16 and pairs of them (PTX ISA 9.7.4, and 9.7.3 and 9.7.6 for what they share
with f32).

A half is in the low bits of its unit, and the bits above it do not matter. Loom's operations work on both halves, and
nothing reads the other one. neg and abs change the sign bit, of NaN too. The .approx functions are those for f32, with
rounded results. add, sub and fma of halves and an f32 are f32 operations on the halves as f32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import PT, RZ
from binalloc.frontend.lower.arithmetic.compare import SetpSuffixes
from binalloc.frontend.lower.arithmetic.floating.approx import mufu, tanh
from binalloc.frontend.lower.arithmetic.floating.floats import FLOAT_ROUNDINGS
from binalloc.frontend.lower.arithmetic.logic import AND, OR, XOR
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import RND, Modifiers
from binalloc.frontend.ptx import ast

Operands = tuple[ast.Operand, ...]
Function = Callable[[Context, int, Source], None]
"""A function (context, target, source) that emits target = the function of an f32."""
SIGN = 0x8000  # the sign bit of a half
ALL = 0xFFFF  # the result of set for a half: all ones
_ALSO = {"f16": ("bf16",)}
"""Further result types of set."""


@dataclass(frozen=True)
class Half:
    """A type of halves lowers its operations."""

    name: str  #: in PTX
    format: str  #: in Loom
    one: int  #: pattern of 1
    largest: int  #: pattern of the largest number
    packed: bool  #: whether two of them are in a unit

    @property
    def flushes(self) -> bool:
        """Return whether PTX has .ftz and .sat for the type."""
        return self.format == "F16"

    def both(self, pattern: int) -> int:
        """Return a pattern repeated in each half that counts."""
        return pattern << 16 | pattern if self.packed else pattern

    def halves(self) -> tuple[str, ...]:
        """Return Loom's names of the halves that count."""
        return ("H0", "H1") if self.packed else ("H0",)

    # -- operations

    def handlers(self) -> dict[str, Handler]:
        """Return PTX name -> handler."""
        return {
            "add": lambda ctx, ins: self._rounded(ctx, "HADD2", 2, "FADD"),
            "sub": lambda ctx, ins: self._rounded(ctx, "HADD2", 2, "FADD", negb=1),
            "mul": lambda ctx, ins: self._rounded(ctx, "HMUL2", 2),
            "fma": lambda ctx, ins: self._rounded(ctx, "HFMA2", 3, "FFMA"),
            "neg": lambda ctx, ins: self._sign(ctx, "nega", XOR, SIGN),
            "abs": lambda ctx, ins: self._sign(ctx, "absa", AND, SIGN - 1),
            "min": lambda ctx, ins: self._extreme(ctx, 0),
            "max": lambda ctx, ins: self._extreme(ctx, 1),
            "setp": lambda ctx, ins: self._setp(ctx),
            "set": lambda ctx, ins: self._set(ctx),
            "ex2": lambda ctx, ins: self._approx(ctx, _ex2, flushes=not self.flushes),
            "tanh": lambda ctx, ins: self._approx(ctx, tanh),
        }

    def _flag(self, m: Modifiers, name: str) -> int:
        """Take a suffix that f16 has and bf16 does not have, and return whether it was there."""
        found = m.has(name)
        if found and not self.flushes:
            m.refuse(f"modifier .{name} of {m.ins.op} is not for type .{self.name}", expected=".f16 or .f16x2")
        return int(found)

    def _rounded(self, ctx: Context, name: str, sources: int, single: str = "", **fields: int) -> None:
        """Lower add, sub, mul or fma. single: the f32 operation."""
        m = ctx.modifiers()
        if single and not self.packed and m.has("f32"):
            self._mixed(ctx, m, single, sources, **fields)
            return
        if not m.has("rn") and sources == 3:
            m.refuse(f"{ctx.ins.op} of type .{self.name} rounds by .rn", expected=".rn")
        flags = {"ftz": self._flag(m, "ftz"), "sat": self._flag(m, "sat")}
        if sources == 3:
            flags["relu"] = int(m.has("relu"))
            if flags["relu"] and flags["sat"]:
                m.refuse("a result is clamped one way", expected=".sat or .relu")
        m.type(self.name)
        m.done()
        d, *operands = ctx.operands(sources + 1)
        a, b, *c = [ctx.word(operand, self.name) for operand in operands]
        rd = ctx.dest(d, self.name)
        ctx.b.emit(name, rd=rd, a=a, b=b, c=c[0] if c else None, guard=None, hfmt=self.format, **flags, **fields)

    def _mixed(self, ctx: Context, m: Modifiers, name: str, sources: int, **fields: int) -> None:
        """Lower an operation on halves and, as the last operand, an f32. The result is an f32, too (PTX ISA 9.7.5)."""
        rnd, sat = m.take(*FLOAT_ROUNDINGS), int(m.has("sat"))
        if not rnd and sources == 3:
            m.refuse(f"{ctx.ins.op} must name its rounding", expected="." + ", .".join(FLOAT_ROUNDINGS))
        m.type(self.name)
        m.done()
        d, *halves, last = ctx.operands(sources + 1)
        a, *rest = [*(self.single(ctx, half) for half in halves), ctx.word(last, "f32")]
        named: Fields = {**dict(zip("bc", rest, strict=False)), "rnd": RND[rnd or "rn"], "sat": sat, **fields}
        ctx.b.emit(name, rd=ctx.dest(d, "f32"), a=a, **named)

    def single(self, ctx: Context, operand: ast.Operand, half: str = "H0") -> int:
        """Return a unit with the half as f32."""
        out = ctx.b.new()
        ctx.b.emit("H2F", rd=out, b=ctx.word(operand, self.name), hfmt=self.format, hsel=half)
        return out

    def _sign(self, ctx: Context, field: str, lut: int, mask: int) -> None:
        """Lower neg or abs."""
        m = ctx.modifiers()
        ftz = self._flag(m, "ftz")
        m.type(self.name)
        m.done()
        d, a = ctx.operands(2)
        source, target = ctx.b.unit(ctx.word(a, self.name)), ctx.dest(d, self.name)
        if ftz:
            one = Imm(self.both(self.one))
            ctx.b.emit("HMUL2", rd=target, a=source, b=one, guard=None, hfmt=self.format, ftz=1, **{field: 1})
        else:
            ctx.b.emit("LOP3", rd=target, a=source, b=Imm(self.both(mask)), c=RZ, lut=lut)

    def _extreme(self, ctx: Context, larger: int) -> None:
        """Lower min or max."""
        m = ctx.modifiers()
        flags = {"ftz": self._flag(m, "ftz"), "hnan": int(m.has("NaN")), "xsign": int(m.has("xorsign"))}
        if flags["xsign"] and not m.has("abs"):
            m.refuse(".xorsign needs .abs", expected=".xorsign.abs")
        m.type(self.name)
        m.done()
        d, a, b = ctx.operands(3)
        first, second = ctx.word(a, self.name), ctx.word(b, self.name)
        rd = ctx.dest(d, self.name)
        ctx.b.emit("HMNMX2", rd=rd, a=first, b=second, guard=None, ps0=PT, ps0n=larger, hfmt=self.format, **flags)

    # -- comparisons

    def _compare(self, ctx: Context, comparison: SetpSuffixes, operands: Operands, pd0: int, pd1: int) -> None:
        """Emit pd0 = the comparison of the low halves, pd1 = that of the high ones."""
        x, y, *rest = operands
        other = ctx.predicate(rest[0]) if rest else (PT, 0)
        a, b = ctx.b.unit(ctx.word(x, self.name)), ctx.word(y, self.name)
        fields: Fields = {"fcmp": comparison.floating(self.name), "bop": (comparison.bop or "and").upper()}
        fields |= {"hfmt": self.format, "ftz": comparison.ftz, "ps0": other[0], "ps0n": other[1]}
        ctx.b.emit("HSETP2", pd0=pd0, pd1=pd1, a=a, b=b, **fields)

    def _comparison(self, m: Modifiers) -> SetpSuffixes:
        comparison = SetpSuffixes(m)
        if comparison.ftz and not self.flushes:
            m.refuse(f"modifier .ftz of {m.ins.op} is not for type .{self.name}", expected=".f16 or .f16x2")
        return comparison

    def _setp(self, ctx: Context) -> None:
        m = ctx.modifiers()
        comparison = self._comparison(m)
        m.type(self.name)
        m.done()
        d, *operands = ctx.operands(4 if comparison.bop else 3)
        first, second = (d.first, d.second) if isinstance(d, ast.Dual) else (d, ast.Discard())
        if not self.packed and not isinstance(second, ast.Discard):
            ctx.refuse(f"setp of type .{self.name} has one destination", expected="one predicate")
        if first == second and isinstance(first, ast.Register):
            ctx.refuse("both destinations are the same predicate", expected="two predicates")
        self._compare(ctx, comparison, tuple(operands), ctx.dest_predicate(first), ctx.dest_predicate(second))

    def _set(self, ctx: Context) -> None:
        """Lower set: all ones, or 1 where the result is a float; for a pair, in each half."""
        m = ctx.modifiers()
        comparison = self._comparison(m)
        result = m.type("u32", "s32", self.name, *(() if self.packed else ("u16", "s16")), *_ALSO.get(self.name, ()))
        if comparison.ftz and result == "bf16":
            m.refuse(f"modifier .ftz of set is not for a result of type .{result}", expected="another result")
        m.type(self.name)
        m.done()
        d, *operands = ctx.operands(4 if comparison.bop else 3)
        low, high = ctx.b.predicate(), ctx.b.predicate() if self.packed else PT
        self._compare(ctx, comparison, tuple(operands), low, high)
        truth = TYPES[result].one if result in TYPES else ALL if self.packed or ast.TYPE_BYTES[result] == 2 else -1
        target = ctx.dest(d, result)
        if not self.packed:
            ctx.b.emit("SEL", rd=target, a=ctx.b.unit(Imm(truth & 0xFFFFFFFF)), b=RZ, ps0=low)
            return
        words = [ctx.b.new(), ctx.b.new()]
        for word, half, shift in zip(words, (low, high), (0, 16), strict=True):
            ctx.b.emit("SEL", rd=word, a=ctx.b.unit(Imm(truth << shift)), b=RZ, ps0=half)
        ctx.b.emit("LOP3", rd=target, a=words[0], b=words[1], c=RZ, lut=OR)

    # -- by f32

    def _approx(self, ctx: Context, function: Function, *, flushes: bool = False) -> None:
        """Lower an .approx function through f32. flushes: subnormal arguments and results are zeros, which .ftz
        states."""
        m = ctx.modifiers()
        suffix = "approx.ftz" if flushes else "approx"
        if not m.has("approx") or m.has("ftz") != flushes:
            m.refuse(f"{ctx.ins.op} of type .{self.name} is .{suffix}", expected=f"{ctx.ins.op}.{suffix}.{self.name}")
        m.type(self.name)
        m.done()
        d, a = ctx.operands(2)
        results = []
        for half in self.halves():
            result = ctx.b.new()
            function(ctx, result, self.single(ctx, a, half))
            results.append(result)
        target = ctx.dest(d, self.name)
        rounded = ctx.b.new() if flushes else target
        if self.packed:
            ctx.b.emit("F2H2", rd=rounded, a=results[1], b=results[0], hfmt=self.format)
        else:
            ctx.b.emit("F2H", rd=rounded, b=results[0], hfmt=self.format)
        if rounded != target:
            ctx.b.emit("HMUL2", rd=target, a=rounded, b=Imm(self.both(self.one)), hfmt=self.format, ftz=1)


def _ex2(ctx: Context, target: int, source: Source) -> None:
    mufu(ctx, target, source, "EX2")


TYPES = {
    "f16": Half("f16", "F16", 0x3C00, 0x7BFF, packed=False),
    "f16x2": Half("f16x2", "F16", 0x3C00, 0x7BFF, packed=True),
    "bf16": Half("bf16", "BF16", 0x3F80, 0x7F7F, packed=False),
    "bf16x2": Half("bf16x2", "BF16", 0x3F80, 0x7F7F, packed=True),
}
HANDLERS: dict[str, dict[str, Handler]] = {name: half.handlers() for name, half in TYPES.items()}
