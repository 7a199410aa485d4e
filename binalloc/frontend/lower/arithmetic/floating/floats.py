"""PTX arithmetic on floating-point numbers that Loom has as one operation: add, sub, mul, fma, mad, min, max, neg, abs,
copysign, testp. `float32` and `float64` say what is particular to a type.

neg, abs and copysign work on the sign bit, NaN included. Division, reciprocals and roots are in `quotient`, the .approx
functions in `approx`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from binalloc.frontend.emitter import MASK, Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Handler
from binalloc.frontend.lower.context.modifiers import RND, Modifiers
from binalloc.frontend.ptx import ast

SIGN = 0x80000000
XOR, AND, PICK = 0x3C, 0xC0, 0xE2
"""LOP3 tables: a ^ b, a & b, and b ? a : c bit by bit."""
FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp")


class Float(ABC):
    """A type: how its operands are read, and the operations that are not the same for all types.

    type: its PTX name. letter: that Loom's operations on it begin with. flags: suffixes beside the rounding, which are
    Loom's fields. infinity, lowest: patterns of infinity and of the lowest normal number, of an f64 the high word.
    """

    type: ClassVar[str]
    letter: ClassVar[str]
    flags: ClassVar[tuple[str, ...]]
    infinity: ClassVar[int]
    lowest: ClassVar[int]

    @abstractmethod
    def source(self, ctx: Context, operand: ast.Operand) -> Source:
        """An operand as Loom's operations read it."""

    @abstractmethod
    def dest(self, ctx: Context, operand: ast.Operand) -> int:
        """Where they write their result."""

    @abstractmethod
    def minmax(self, ctx: Context, larger: int) -> None:
        """min; `larger`: max."""

    @abstractmethod
    def sign(self, ctx: Context, name: str, lut: int, mask: int) -> None:
        """neg, abs: the word with the sign and `mask` under LOP3's table."""

    @abstractmethod
    def copysign(self, ctx: Context) -> None:
        """d = the sign of a on the value of b."""

    @abstractmethod
    def magnitude(self, ctx: Context, operand: ast.Operand) -> int:
        """A unit with the pattern of the absolute value, or of an f64 its high word: the low word is joined to it as
        the lowest bit, where it is not zero, as no boundary between classes lies there."""

    def handlers(self) -> dict[str, Handler]:
        """By PTX name."""
        return {
            "add": self._rounded("ADD", 2, negb=0),
            "sub": self._rounded("ADD", 2, negb=1),
            "mul": self._rounded("MUL", 2, negb=0),
            "fma": self._rounded("FMA", 3),
            "mad": self._rounded("FMA", 3),
            "neg": lambda ctx, ins: self.sign(ctx, "neg", XOR, SIGN),
            "abs": lambda ctx, ins: self.sign(ctx, "abs", AND, SIGN - 1),
            "min": lambda ctx, ins: self.minmax(ctx, 0),
            "max": lambda ctx, ins: self.minmax(ctx, 1),
            "copysign": lambda ctx, ins: self.copysign(ctx),
            "testp": self._testp,
        }

    def _rounded(self, name: str, sources: int, **fields: int) -> Handler:
        """add, sub, mul; of three sources fma, and mad, which with a rounding is fma (PTX ISA 9.7.3.7)."""

        def handler(ctx: Context, ins: ast.Instruction) -> None:
            suffixes = self._suffixes(ctx, rounding=sources == 3)
            d, *operands = ctx.operands(sources + 1)
            target = self.dest(ctx, d)
            a, b, *c = [self.source(ctx, operand) for operand in operands]
            ctx.b.emit(self.letter + name, rd=target, a=a, b=b, c=c[0] if c else None, guard=None, **suffixes, **fields)

        return handler

    def _suffixes(self, ctx: Context, *, rounding: bool) -> dict[str, int | str]:
        """Loom's fields for the suffixes of the instruction; `rounding`: it must name its rounding."""
        m = ctx.modifiers()
        rnd = m.take(*FLOAT_ROUNDINGS)
        flags = {flag: int(m.has(flag)) for flag in self.flags}
        m.type(self.type)
        m.done()
        if rounding and not rnd:
            message = f"{ctx.ins.op}.{self.type} needs a rounding"
            ctx.unsupported("old-rounding", message, expected=".rn, .rz, .rm or .rp")
        return {"rnd": RND[rnd] if rnd else "", **flags}

    def _testp(self, ctx: Context, ins: ast.Instruction) -> None:
        m = ctx.modifiers()
        asked = tested(m)
        m.type(self.type)
        m.done()
        d, a = ctx.operands(2)
        magnitude = self.magnitude(ctx, a)
        self._class_test(ctx, ctx.dest_predicate(d), magnitude, asked)

    def _class_test(self, ctx: Context, target: int, bits: int, asked: str) -> None:
        """Predicate `target` = whether the magnitude pattern in unit `bits` is of the class asked."""
        if asked == "normal":  # lowest <= bits < infinity, as one unsigned comparison
            _below(ctx, target, bits, self.lowest, self.infinity)
        elif asked == "subnormal":
            _below(ctx, target, bits, 1, self.lowest)
        else:
            comparison = {"finite": "LT", "infinite": "EQ", "number": "LE", "notanumber": "GT"}[asked]
            ctx.b.emit("ISETP", pd0=target, a=bits, b=Imm(self.infinity), icmp=comparison, u32cmp=1)


def tested(m: Modifiers) -> str:
    """What a testp asks."""
    asked = m.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    if not asked:
        m.refuse("testp asks nothing", expected=".finite, .infinite, .number, .notanumber, .normal or .subnormal")
    return asked


def _below(ctx: Context, target: int, bits: int, low: int, high: int) -> None:
    """Predicate `target` = whether low <= bits < high, as one unsigned comparison."""
    shifted = ctx.b.new()
    ctx.b.emit("IADD3", rd=shifted, a=bits, b=Imm(-low & MASK), c=RZ)
    ctx.b.emit("ISETP", pd0=target, a=shifted, b=Imm(high - low), icmp="LT", u32cmp=1)
