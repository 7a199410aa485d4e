"""This module says from which shared variables' symbols the result of a PTX instruction was computed.

A set of symbols is a bitset. The bits from `FIRST` on are variables; the others are values that come from no symbol. A
value may be any of its set's. `UNKNOWN` is the value of which nothing is known, 0 that of a register without a
definition.

- `PLAIN` is a number.
- `RAW` is a value from memory, or from code that is not known: a number, or an address that was stored there.
- `DELTA` is a value from which a raw one was subtracted: a number, or a part of the distance between two addresses.

The rules are C's: a sum of an address and a number, and a difference, keep the address's symbol. So do copies,
conversions between address spaces and to 32 or 64 bits, and masks that align to less than the variable. A choice
between values may be any of them. A raw value alone is no address of a variable; beside a symbol it counts as an index.
Nothing is known of a sum of two addresses, of the negative of one, or of a product. Neither is it of an address and a
difference: `r + (p - q)`, with `r` and `q` from memory, is an address in `r`'s variable, whatever `p`'s is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES

PLAIN, RAW, DELTA = 1, 2, 4
FIRST = 3
"""The number of the first variable's bit."""
_BARE = PLAIN | RAW | DELTA
_MAYBE = RAW | DELTA
UNKNOWN = -1
MOST_ALIGNED = 1024
"""Masks that clear the bits of at most so many bytes align. Nothing in shared memory asks for more: the widest pattern
of tensor units' tiles repeats after 1,024 bytes."""

_COMPARES = frozenset(("set", "setp", "testp", "isspacep"))
_CHOICES = frozenset(("selp", "slct", "min", "max"))
_COPIES = frozenset(("mov", "cvta"))
_PRODUCTS = frozenset(("mul", "mul24", "mad", "mad24", "madc"))
_SUMS = frozenset(("add", "addc", "sub", "subc", "min", "max", "mad", "mad24", "madc"))
_SCALED = frozenset(
    ("shl", "shr", "div", "rem", "popc", "clz", "bfind", "bfe", "fns", "vote", "match", "dp4a", "dp2a", "cnot")
)
"""Operations that make a number of anything that is no symbol."""
_BITS = frozenset(("and", "or"))  # they keep an address, but make no negative of one
_WORDS = (4, 8)  # bytes of registers that hold addresses


def is_variable(symbols: int) -> bool:
    """Return whether a value surely comes from symbols of variables."""
    return symbols > 0 and not symbols & _BARE


def summed(one: int, two: int) -> int:
    """Return the symbols of a sum of two values."""
    if not one or not two:
        return 0
    if UNKNOWN in (one, two):
        return UNKNOWN
    symbols = (one | two) & ~_BARE
    if (one & ~_BARE and two & ~_BARE) or (symbols and (one | two) & DELTA):
        return UNKNOWN
    bare = (one | two) & _MAYBE | (one & two & PLAIN)
    # beside a raw value a symbol stays; alone a raw value stays beside a number
    found = symbols if (one & _BARE and two & ~_BARE) or (two & _BARE and one & ~_BARE) else 0
    return found | (bare if one & _BARE and two & _BARE else 0)


def differing(one: int, two: int) -> int:
    """Return the symbols of a difference of two values."""
    if not one or not two:
        return 0
    if two & ~_BARE or (two & _MAYBE and one & ~_BARE):
        return UNKNOWN
    return (one if two & PLAIN else 0) | (DELTA if two & _MAYBE else 0)


def opaque(values: Sequence[int]) -> int:
    """Return the symbols of a number that some operation makes of others."""
    return UNKNOWN if any(value & ~_BARE for value in values) else PLAIN


def packed(values: Sequence[int]) -> int:
    """Return the symbols of a value that is put together from parts, the lowest part first."""
    raw = 0
    for value in values:
        raw |= value & _MAYBE
    if len(values) == _PAIR and opaque(values[1:]) == PLAIN:
        return values[0] | raw
    return UNKNOWN if opaque(values) == UNKNOWN else PLAIN | raw


def part_of(value: int, lowest: bool, halves: bool) -> int:
    """Return the symbols of a part of a value: the lower one of two halves has an address's."""
    if halves and lowest:
        return value
    if value & ~_BARE and not halves:
        return UNKNOWN
    return PLAIN | (value & _MAYBE if value != UNKNOWN else 0)


def result(ins: ast.Instruction, values: Sequence[int], fits: Callable[[int], int]) -> int:
    """Return the symbols of an instruction's result.

    values: of its source operands, in order. fits: returns the variables of which the beginning and the size are
    multiples of some bytes, as a bitset.
    """
    op = ins.op
    if not any(value & ~_BARE for value in values):
        # of a choice or a sum nothing is known yet if nothing is of an operand
        return 0 if 0 in values and op in _FLOWING else _bare(ins, values)
    if op in _COMPARES:
        return PLAIN
    if op == "and":
        size = max((_aligned(o.value) for o in ins.operands[1:] if isinstance(o, ast.Integer)), default=0)
        variables = (values[0] | values[1]) & ~_BARE
        return summed(values[0], values[1]) if size and not variables & ~fits(size) else UNKNOWN
    if op == "cvt" or op in _SUMS:
        # numbers of 16 bits may be multiplied
        return _flowing(ins, values) if "wide" in ins.mods or _is_address(ins.mods) else UNKNOWN
    return _flowing(ins, values) if op in _FLOWING else UNKNOWN


def _flowing(ins: ast.Instruction, values: Sequence[int]) -> int:
    """Return the symbols of the result of an operation that keeps those of its operands."""
    op = ins.op
    if op in _CHOICES:
        return values[0] | values[1]
    if op in ("add", "addc"):
        return summed(values[0], values[1])
    if op in ("sub", "subc"):
        return differing(values[0], values[1])
    if op in _PRODUCTS:
        return summed(_product(ins, values), values[2])
    if op == "shfl":
        return values[0] if not any(value & ~_BARE for value in values[1:]) else UNKNOWN
    return values[0]


def _product(ins: ast.Instruction, values: Sequence[int]) -> int:
    """Return the symbols of a product of an instruction's first two operands."""
    if opaque(values[:2]) == UNKNOWN:
        return UNKNOWN
    negative = any(isinstance(o, ast.Integer) and o.value in _ONES for o in ins.operands[1:3])
    return DELTA if negative and (values[0] | values[1]) & _MAYBE else PLAIN


def _bare(ins: ast.Instruction, values: Sequence[int]) -> int:
    """Return what an instruction makes of values that come from no symbol."""
    op, merged = ins.op, 0
    for value in values:
        merged |= value
    if not merged & _MAYBE or op in _COMPARES or op in _SCALED:
        return PLAIN
    if op not in _COPIES | _CHOICES | {"shfl"}:
        if not _is_address(ins.mods) and "wide" not in ins.mods:
            return PLAIN  # a float, or too few bits
        if op in ("mul", "mul24"):
            return _product(ins, values)
        if op in _BITS:
            return merged
    return _flowing(ins, values) if op in _FLOWING else merged | DELTA


_FLOWING = _COPIES | _CHOICES | _SUMS | {"cvt", "shfl", "and"}
"""Operations whose results have the symbols of their operands."""
_PAIR = 2  # halves of a 64-bit value


def _aligned(mask: int) -> int:
    """Return to how many bytes a mask aligns that clears some lowest bits alone, 0 for another one."""
    return next((size for size in _SIZES if any(mask == ~(size - 1) & ones for ones in _ONES)), 0)


_SIZES = tuple(1 << k for k in range(MOST_ALIGNED.bit_length()))
_ONES = (-1, (1 << 32) - 1, (1 << 64) - 1)  # as a mask of any, of 32 or of 64 bits is written


def _is_address(mods: Sequence[str]) -> bool:
    """Return whether an operation is one on integers of 32 or 64 bits."""
    types = [mod for mod in mods if mod in TYPE_BYTES]
    whole = not any(mod == "sat" or mod.endswith("x2") for mod in mods)
    return whole and all(type_[0] in "usb" and TYPE_BYTES[type_] in _WORDS for type_ in types)
