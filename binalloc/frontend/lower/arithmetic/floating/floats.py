"""This module lowers the floating-point arithmetic for which Loom has one operation: add, sub, mul, fma, mad, min, max,
neg, abs, copysign, testp. `float32` and `float64` add the details of each type.

neg, abs and copysign change the sign bit, of NaN too. Division, reciprocals and roots are in `quotient`, the .approx
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

SIGN = 0x80000000  # the sign bit
XOR, AND, PICK = 0x3C, 0xC0, 0xE2
"""Truth tables of LOP3: a ^ b, a & b, and b ? a : c bit by bit."""
FLOAT_ROUNDINGS = ("rn", "rz", "rm", "rp")  # nearest even, towards zero, down, up


class FloatType(ABC):
    """A floating-point type says how its operands are read, and has the operations that differ between types."""

    type: ClassVar[str]  #: PTX name
    letter: ClassVar[str]  #: first letter of Loom's operations on the type
    flags: ClassVar[tuple[str, ...]]  #: suffixes beside the rounding; they are Loom's fields
    infinity: ClassVar[int]  #: pattern of infinity; for f64 its high word
    lowest: ClassVar[int]  #: pattern of the lowest normal number; for f64 its high word

    @abstractmethod
    def source(self, ctx: Context, operand: ast.Operand) -> Source:
        """Return an operand as Loom's operations read it."""

    @abstractmethod
    def dest(self, ctx: Context, operand: ast.Operand) -> int:
        """Return the first unit of the destination."""

    @abstractmethod
    def minmax(self, ctx: Context, larger: int) -> None:
        """Lower min, or max if `larger`."""

    @abstractmethod
    def sign(self, ctx: Context, name: str, lut: int, mask: int) -> None:
        """Lower neg or abs: the word with the sign becomes truth table `lut` of itself and `mask`."""

    @abstractmethod
    def copysign(self, ctx: Context) -> None:
        """Lower copysign: d = the sign of a on the value of b."""

    @abstractmethod
    def magnitude(self, ctx: Context, operand: ast.Operand) -> int:
        """Return a unit with the pattern of the absolute value.

        For an f64 it is the high word, with the lowest bit set where the low word is not zero. That is enough, because
        no boundary between classes of numbers depends on more of the low word.
        """

    def handlers(self) -> dict[str, Handler]:
        """Return PTX name -> handler."""
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
        """Return the handler of add, sub or mul; of fma for three sources, and of mad with a rounding (PTX ISA
        9.7.3.7)."""

        def handler(ctx: Context, ins: ast.Instruction) -> None:
            suffixes = self._suffixes(ctx, rounding=sources == 3)
            d, *operands = ctx.operands(sources + 1)
            target = self.dest(ctx, d)
            a, b, *c = [self.source(ctx, operand) for operand in operands]
            ctx.b.emit(self.letter + name, rd=target, a=a, b=b, c=c[0] if c else None, guard=None, **suffixes, **fields)

        return handler

    def _suffixes(self, ctx: Context, *, rounding: bool) -> dict[str, int | str]:
        """Return Loom's fields for the suffixes of the instruction. rounding: the instruction must name its
        rounding."""
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
        """Set predicate `target`: whether the magnitude in unit `bits` is of the class asked."""
        if asked == "normal":  # lowest <= bits < infinity, as one unsigned comparison
            _below(ctx, target, bits, self.lowest, self.infinity)
        elif asked == "subnormal":
            _below(ctx, target, bits, 1, self.lowest)
        else:
            comparison = {"finite": "LT", "infinite": "EQ", "number": "LE", "notanumber": "GT"}[asked]
            ctx.b.emit("ISETP", pd0=target, a=bits, b=Imm(self.infinity), icmp=comparison, u32cmp=1)


def tested(m: Modifiers) -> str:
    """Take the class that a testp asks for."""
    asked = m.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    if not asked:
        m.refuse("testp asks nothing", expected=".finite, .infinite, .number, .notanumber, .normal or .subnormal")
    return asked


def _below(ctx: Context, target: int, bits: int, low: int, high: int) -> None:
    """Set predicate `target`: whether low <= bits < high, by one unsigned comparison."""
    shifted = ctx.b.new()
    ctx.b.emit("IADD3", rd=shifted, a=bits, b=Imm(-low & MASK), c=RZ)
    ctx.b.emit("ISETP", pd0=target, a=shifted, b=Imm(high - low), icmp="LT", u32cmp=1)
