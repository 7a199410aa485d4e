"""This module says from which shared variables' symbols the result of a PTX instruction was computed.

A set of symbols is a bitset. Bit 0, `PLAIN`, stands for a number that was computed from no symbol; each other bit is a
variable's. A value may be any of its set's. `UNKNOWN` is the value of which nothing is known, 0 that of a register
without a definition. The rules are C's: a sum of an address and a number, and a difference, keep the address's symbol.
So do copies, conversions between address spaces and to 32 or 64 bits, and masks that align. A choice between values may
be any of them. Nothing is known of a sum of two addresses, of the negative of one, or of a product. A value from memory
is a number: alone it is no address of a variable, beside a symbol it counts as an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

PLAIN = 1
UNKNOWN = -1
MOST_ALIGNED = 1024
"""Masks that clear the bits of at most so many bytes align. Nothing in shared memory asks for more: the widest pattern
of tensor units' tiles repeats after 1,024 bytes."""

_COMPARES = frozenset(("set", "setp", "testp", "isspacep"))
_CHOICES = frozenset(("selp", "slct", "min", "max"))
_COPIES = frozenset(("mov", "cvta"))
_WORDS = (4, 8)  # bytes of registers that hold addresses


def summed(one: int, two: int) -> int:
    """Return the symbols of a sum of two values."""
    if not one or not two:
        return 0
    if UNKNOWN in (one, two) or (one & ~PLAIN and two & ~PLAIN):
        return UNKNOWN
    return (two if one & PLAIN else 0) | (one if two & PLAIN else 0)


def opaque(values: Sequence[int]) -> int:
    """Return the symbols of a value that some operation makes of others."""
    return UNKNOWN if any(value & ~PLAIN for value in values) else PLAIN


def result(ins: ast.Instruction, values: Sequence[int]) -> int:
    """Return the symbols of an instruction's result. values: of its source operands, in order."""
    op = ins.op
    if not any(value & ~PLAIN for value in values):
        # of a choice or a sum nothing is known yet if nothing is of an operand
        return 0 if 0 in values and op in _FLOWING else PLAIN
    if op in _COPIES:
        return values[0]
    if op == "cvt":
        return values[0] if _is_address(ins.mods) else UNKNOWN
    if op in _CHOICES:
        chosen = 0
        for value in values[:2]:
            chosen |= value
        return chosen
    if op in _COMPARES:
        return PLAIN
    if op in ("add", "addc"):
        return summed(values[0], values[1])
    if op in ("sub", "subc"):
        return summed(values[0], opaque(values[1:]))
    if op in ("mad", "mad24", "madc"):
        return summed(opaque(values[:2]), values[2])
    if op == "shfl":
        return values[0] if not any(value & ~PLAIN for value in values[1:]) else UNKNOWN
    if op == "and" and any(isinstance(o, ast.Integer) and _aligns(o.value) for o in ins.operands[1:]):
        return summed(values[0], values[1])
    return UNKNOWN


_FLOWING = _COPIES | _CHOICES | {"cvt", "add", "addc", "sub", "subc", "mad", "mad24", "madc", "shfl", "and"}
"""Operations whose results have the symbols of their operands."""


def _aligns(mask: int) -> bool:
    """Return whether a mask clears some lowest bits alone."""
    return any(mask == ~(size - 1) & ones for size in _SIZES for ones in _ONES)


_SIZES = tuple(1 << k for k in range(MOST_ALIGNED.bit_length()))
_ONES = (-1, (1 << 32) - 1, (1 << 64) - 1)  # as a mask of any, of 32 or of 64 bits is written


def _is_address(mods: Sequence[str]) -> bool:
    """Return whether a conversion is one between integers of 32 and 64 bits."""
    types = [mod for mod in mods if mod in TYPE_BYTES]
    return all(type_[0] in "usb" and TYPE_BYTES[type_] in _WORDS for type_ in types) and "sat" not in mods
