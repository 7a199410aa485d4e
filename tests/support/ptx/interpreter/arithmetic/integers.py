"""Integer, bit-field and logic operations of PTX over arrays (PTX ISA, sections 9.7.1, 9.7.2, 9.7.8).

Operands arrive in the NumPy type of the instruction's type (s32 is int32, b32 is uint32, pred is bool); results are
returned in any type of the right width. Rare operations are computed value by value with Python integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def width_of(x: Ints) -> int:
    return x.dtype.itemsize * 8


def unsigned(x: Ints) -> Ints:
    return x.view(UNSIGNED[width_of(x)])


def each(function: Callable[..., int], width: int, *operands: Ints) -> Ints:
    """function on the Python integers of each element, modulo 2^width."""
    mask = (1 << width) - 1
    rows = zip(*[x.tolist() for x in operands], strict=True)
    return np.array([function(*row) & mask for row in rows], dtype=UNSIGNED[width])


# --- arithmetic -------------------------------------------------------------------------------------------------------


def add_saturating(a: Ints, b: Ints) -> Ints:
    return np.clip(a.astype(np.int64) + b.astype(np.int64), -(1 << 31), (1 << 31) - 1).astype(np.int32)


def add_carry(a: Ints, b: Ints, carry: Ints) -> tuple[Ints, Ints]:
    """a + b + carry and the carry out."""
    a, b = unsigned(a), unsigned(b)
    first = a + b
    total = first + carry.astype(a.dtype)
    return total, (first < a) | (total < first)


def sub_carry(a: Ints, b: Ints, carry: Ints) -> tuple[Ints, Ints]:
    """a + ~b + carry and the carry out: a difference where there is a carry in, and none out where it borrows."""
    return add_carry(a, ~unsigned(b), carry)


def mul_wide(a: Ints, b: Ints) -> Ints:
    wide = (SIGNED if a.dtype.kind == "i" else UNSIGNED)[2 * width_of(a)]
    return a.astype(wide) * b.astype(wide)


def mul_hi(a: Ints, b: Ints) -> Ints:
    width = width_of(a)
    if width == 64:
        return each(lambda x, y: (x * y) >> 64, 64, a, b).view(a.dtype)
    return (mul_wide(a, b) >> width).astype(a.dtype)


def mul24(a: Ints, b: Ints, hi: bool) -> Ints:
    if a.dtype.kind == "i":
        low = [((x << 8).astype(np.int32) >> 8).astype(np.int64) for x in (a, b)]
    else:
        low = [(x & 0xFFFFFF).astype(np.int64) for x in (a, b)]
    product = low[0] * low[1]
    return (product >> (16 if hi else 0)).astype(np.uint32)


def divide(a: Ints, b: Ints, remainder: bool) -> Ints:
    """Quotient toward zero, or the remainder with the sign of a. By zero: all ones, or a (PTX leaves it open)."""
    width = width_of(a)

    def one(x: int, y: int) -> int:
        if y == 0:
            return x if remainder else -1
        q = abs(x) // abs(y)
        q = -q if (x < 0) != (y < 0) else q
        return x - q * y if remainder else q

    return each(one, width, a, b)


def sad(a: Ints, b: Ints, c: Ints) -> Ints:
    return c + np.where(a < b, b - a, a - b)


def dot4(a: Ints, b: Ints, c: Ints, kinds: tuple[np.dtype[Any], np.dtype[Any]]) -> Ints:
    x, y = (v.view(k).reshape(-1, 4).astype(np.int64) for v, k in zip((a, b), kinds, strict=True))
    return ((x * y).sum(axis=1) + c).astype(np.uint32)


def dot2(a: Ints, b: Ints, c: Ints, kinds: tuple[np.dtype[Any], np.dtype[Any]], hi: bool) -> Ints:
    wide = {np.dtype(np.int8): np.int16, np.dtype(np.uint8): np.uint16}[kinds[0]]
    x = a.view(wide).reshape(-1, 2).astype(np.int64)
    y = b.view(kinds[1]).reshape(-1, 4)[:, 2:] if hi else b.view(kinds[1]).reshape(-1, 4)[:, :2]
    return ((x * y.astype(np.int64)).sum(axis=1) + c).astype(np.uint32)


# --- bits -------------------------------------------------------------------------------------------------------------


def popc(a: Ints) -> Ints:
    return each(lambda x: x.bit_count(), 32, a)


def clz(a: Ints) -> Ints:
    width = width_of(a)
    return each(lambda x: width - x.bit_length(), 32, a)


def brev(a: Ints) -> Ints:
    width = width_of(a)
    return each(lambda x: int(format(x, f"0{width}b")[::-1], 2), width, a)


def bfind(a: Ints, shift_amount: bool) -> Ints:
    """Position of the most significant bit that is not a sign copy, ffffffff if none; or the shift to bring it up."""
    width = width_of(a)

    def one(x: int) -> int:
        position = (~x if x < 0 else x).bit_length() - 1
        return width - 1 - position if shift_amount and position >= 0 else position

    return each(one, 32, a)


def bfe(a: Ints, b: Ints, c: Ints) -> Ints:
    width, signed = width_of(a), a.dtype.kind == "i"

    def one(x: int, b: int, c: int) -> int:
        x, position, length = x & ((1 << width) - 1), b & 0xFF, c & 0xFF
        sign = x >> min(position + length - 1, width - 1) & 1 if signed and length else 0
        field = 0
        for i in range(width):
            inside = i < length and position + i < width
            field |= (x >> (position + i) & 1 if inside else sign) << i
        return field

    return each(one, width, a, b, c)


def bfi(a: Ints, b: Ints, c: Ints, d: Ints) -> Ints:
    width = width_of(a)

    def one(a: int, b: int, c: int, d: int) -> int:
        position, length = c & 0xFF, d & 0xFF
        mask = ((1 << length) - 1) << position & ((1 << width) - 1)
        return b & ~mask | a << position & mask

    return each(one, width, a, b, c, d)


def bmsk(a: Ints, b: Ints, clamp: bool) -> Ints:
    def one(a: int, b: int) -> int:
        if clamp and a >= 32:
            return 0
        start = a & 31
        length = 32 if clamp and b >= 32 else b & 31
        return ((1 << length) - 1) << start

    return each(one, 32, a, b)


def szext(a: Ints, b: Ints, clamp: bool) -> Ints:
    signed = a.dtype.kind == "i"

    def one(a: int, b: int) -> int:
        if clamp and b >= 32:
            return a
        n = b & 31
        if n == 0:
            return 0
        field = a & ((1 << n) - 1)
        return field - (1 << n) if signed and field >> (n - 1) else field

    return each(one, 32, a, b)


def lop3(a: Ints, b: Ints, c: Ints, table: int) -> Ints:
    result = np.zeros_like(a)
    for minterm in range(8):
        if table >> minterm & 1:
            term = (a if minterm & 4 else ~a) & (b if minterm & 2 else ~b) & (c if minterm & 1 else ~c)
            result |= term
    return result


def shift_left(a: Ints, b: Ints) -> Ints:
    width = width_of(a)
    amount = np.minimum(b, width - 1).astype(a.dtype)
    return np.where(b >= width, a.dtype.type(0), a << amount)


def shift_right(a: Ints, b: Ints) -> Ints:
    width = width_of(a)
    amount = np.minimum(b, width - 1).astype(a.dtype)
    if a.dtype.kind == "i":
        return a >> amount
    return np.where(b >= width, a.dtype.type(0), a >> amount)


def funnel(a: Ints, b: Ints, c: Ints, left: bool, wrap: bool) -> Ints:
    def one(low: int, high: int, c: int) -> int:
        n = c & 31 if wrap else min(c, 32)
        both = high << 32 | low
        return both << n >> 32 if left else both >> n

    return each(one, 32, a, b, c)


PRMT_MODES = {
    "f4e": lambda i: [i, i + 1, i + 2, i + 3],
    "b4e": lambda i: [i, i + 7, i + 6, i + 5],
    "rc8": lambda i: [i] * 4,
    "ecl": lambda i: [max(i, k) for k in range(4)],
    "ecr": lambda i: [min(i, k) for k in range(4)],
    "rc16": lambda i: [2 * (i & 1), 2 * (i & 1) + 1] * 2,
}
"""The source byte of each destination byte, lowest first, from the two low bits of the control (PTX ISA, prmt)."""


def prmt(a: Ints, b: Ints, c: Ints, mode: str | None) -> Ints:
    def one(a: int, b: int, c: int) -> int:
        source = (b << 32 | a).to_bytes(8, "little")
        if mode:
            return int.from_bytes(bytes(source[i & 7] for i in PRMT_MODES[mode](c & 3)), "little")
        picked = []
        for k in range(4):
            control = c >> 4 * k & 15
            byte = source[control & 7]
            picked.append((0xFF if byte & 0x80 else 0) if control & 8 else byte)
        return int.from_bytes(bytes(picked), "little")

    return each(one, 32, a, b, c)


# --- comparison -------------------------------------------------------------------------------------------------------

ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
BOOLEAN: dict[str, Callable[[Any, Any], Any]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def compare(a: Ints, b: Ints, how: str) -> NDArray[np.bool_]:
    """Comparison of integers or floats; a NaN makes eq .. ge false and equ .. geu true."""
    if how in UNSIGNED_NAMES:
        a, b, how = unsigned(a), unsigned(b), UNSIGNED_NAMES[how]
    if a.dtype.kind != "f":
        return ORDERED[how](a, b)
    nan = np.isnan(a) | np.isnan(b)
    if how in ("num", "nan"):
        return nan if how == "nan" else ~nan
    if how in ORDERED:
        return ORDERED[how](a, b) & ~nan
    return ORDERED[how[:-1]](a, b) | nan
