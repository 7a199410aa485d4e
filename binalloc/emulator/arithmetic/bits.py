"""Bit patterns and fused multiply-add are here, because the common subset of Python and Numba cannot express them.

The plain functions here serve the `python` engine and are the definition. `bits_numba.py` holds functions of the same
names for the `numba` engine, whose loader substitutes them. Nothing else may differ between the engines.

Needs: words as ints in 0..2^32-1, 64-bit patterns either as (low, high) pairs or as signed 64-bit ints, numbers as
Python floats. Leaves: a NaN result always as the canonical pattern; every rounding is to nearest even.
"""

from __future__ import annotations

import math
import struct

NAN32 = 0x7FFFFFFF  # the canonical NaN of f32 in Loom (ISA.md, chapter "Semantics")
INF32 = 0x7F800000  # +infinity in f32
NAN64_HI = 0x7FF80000  # high word of the canonical NaN of f64; its low word is 0
NAN64 = NAN64_HI << 32  # the canonical NaN of f64 in Loom


def f32_from_bits(x: int) -> float:
    """Return the f32 with pattern `x`, exactly."""
    value: float = struct.unpack("<f", struct.pack("<I", x))[0]
    return value


def bits_from_f32(x: float) -> int:
    """Return the pattern of `x` rounded to f32. Overflow gives infinity."""
    if x != x:
        return NAN32
    try:
        bits: int = struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        return INF32 | (0x80000000 if x < 0 else 0)
    return bits


def f64_from_bits(lo: int, hi: int) -> float:
    """Return the f64 whose words are `lo` and `hi`."""
    value: float = struct.unpack("<d", struct.pack("<II", lo, hi))[0]
    return value


def bits_from_f64(x: float) -> tuple[int, int]:
    """Return the words (low, high) of `x`."""
    if x != x:
        return 0, NAN64_HI
    lo, hi = struct.unpack("<II", struct.pack("<d", x))
    return lo, hi


def i64_from_f64(x: float) -> int:
    """Return the pattern of `x` as a signed 64-bit int."""
    if x != x:
        return NAN64
    bits: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits


def f64_from_i64(x: int) -> float:
    """Return the f64 with the pattern of the signed 64-bit int `x`."""
    value: float = struct.unpack("<d", struct.pack("<q", x))[0]
    return value


def f64_fma(x: float, y: float, z: float) -> float:
    """Return x*y + z rounded once. It is computed with exact integers: Python rounds a quotient of two ints once, to
    nearest even."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return x * y + z
    if not math.isfinite(z):
        return z
    xn, xd = x.as_integer_ratio()
    yn, yd = y.as_integer_ratio()
    zn, zd = z.as_integer_ratio()
    n = xn * yn * zd + zn * xd * yd
    if n == 0:
        return x * y + z  # product and addend are zeros or cancel exactly: the sign is that of the sum
    try:
        return n / (xd * yd * zd)
    except OverflowError:
        return math.inf if n > 0 else -math.inf


def f32_fma(a: int, b: int, c: int) -> int:
    """Return the pattern of a*b + c rounded once to f32. All operands are f32 patterns.

    The product of two f32 is exact in f64. The sum is rounded to odd there (Boldo and Melquiond, "Emulation of a FMA
    and correctly rounded sums", section 3). After that, one rounding to f32 is the correct one.
    """
    x = f32_from_bits(a) * f32_from_bits(b)
    y = f32_from_bits(c)
    s = x + y
    if not math.isfinite(s):
        return bits_from_f32(s)
    v = s - x
    error = (x - (s - v)) + (y - v)
    if error != 0.0:
        bits = i64_from_f64(s)
        if bits & 1 == 0:
            s = f64_from_i64(bits + (1 if (error > 0.0) == (s > 0.0) else -1))
    return bits_from_f32(s)
