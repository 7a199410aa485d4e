"""Floating-point arithmetic over arrays: float32 and float64, all rounding modes, flush to zero, saturation.

f32 results come from float64 with round-to-odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
IEEE Trans. Computers 57(4), 2008, section 3): an f64 that is exact or has an odd last bit rounds to f32 as the exact
value does. f64 to nearest is the host's (IEEE by definition of NumPy's float64); everything else of f64 goes value by
value through `ieee754`. NaN results are canonical.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic import ieee754

Floats = NDArray[np.floating]

FORMATS = {"f32": ieee754.F32, "f64": ieee754.F64}
BITS = {"f32": np.uint32, "f64": np.uint64}
DTYPE = {"f32": np.float32, "f64": np.float64}
NAN = {t: np.array([FORMATS[t].nan], dtype=BITS[t]).view(DTYPE[t])[0] for t in FORMATS}
LEAST_NORMAL = {"f32": np.float32(2.0**-126), "f64": np.float64(2.0**-1022)}


def canonical(x: Floats, t: str) -> Floats:
    """x with every NaN made the canonical one."""
    nan = np.isnan(x)
    return np.where(nan, NAN[t], x) if nan.any() else x


def flush(x: Floats, t: str) -> Floats:
    """x with subnormals replaced by the zero of their sign."""
    return np.where(np.abs(x) < LEAST_NORMAL[t], np.copysign(DTYPE[t](0), x), x)


def saturate(x: Floats, t: str) -> Floats:
    """x clamped to [0, 1]; NaN and -0 give +0."""
    one = DTYPE[t](1)
    return np.where(x > 0, np.minimum(x, one), DTYPE[t](0)).astype(DTYPE[t])


def round_to_odd(total: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """The f64 next to total + error that is odd, where error (the exact rest of a nearest sum) is not zero."""
    bits = total.view(np.int64)
    wanted = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    away = np.signbit(error) == np.signbit(total)
    return np.where(wanted, bits + np.where(away, 1, -1), bits).view(np.float64)


def sum_to_odd(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """x + y rounded to odd (Knuth's two-sum gives the error; no overflow for f32-sized values)."""
    total = x + y
    back = total - x
    return round_to_odd(total, (x - (total - back)) + (y - back))


def narrow(x: NDArray[np.float64], mode: str) -> NDArray[np.float32]:
    """x (exact, or rounded to odd) as f32 by mode."""
    near = x.astype(np.float32)
    if mode == "rn":
        return near
    wide = near.astype(np.float64)
    lower, upper = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
    infinite = np.isinf(x)
    too_big, too_small = (wide > x) & ~infinite, (wide < x) & ~infinite
    if mode == "rz":
        return np.where(too_big & (x > 0), lower, np.where(too_small & (x < 0), upper, near))
    return np.where(too_big, lower, near) if mode == "rm" else np.where(too_small, upper, near)


def lanewise(function: Callable[..., int], t: str, mode: str, *operands: Floats) -> Floats:
    """function of `ieee754` applied to each element's pattern."""
    columns = [x.view(BITS[t]).tolist() for x in operands]
    f = FORMATS[t]
    patterns = [function(*values, f, mode) for values in zip(*columns, strict=True)]
    return np.array(patterns, dtype=BITS[t]).view(DTYPE[t])


def add(a: Floats, b: Floats, t: str, mode: str = "rn") -> Floats:
    if mode == "rn":
        return canonical(a + b, t)
    if t == "f64":
        return lanewise(ieee754.add, t, mode, a, b)
    total = sum_to_odd(a.astype(np.float64), b.astype(np.float64))
    if mode == "rm":
        total = np.where((total == 0) & (np.signbit(a) != np.signbit(b)), -0.0, total)
    return canonical(narrow(total, mode), t)


def mul(a: Floats, b: Floats, t: str, mode: str = "rn") -> Floats:
    if mode == "rn":
        return canonical(a * b, t)
    if t == "f64":
        return lanewise(ieee754.mul, t, mode, a, b)
    return canonical(narrow(a.astype(np.float64) * b.astype(np.float64), mode), t)


def fma(a: Floats, b: Floats, c: Floats, t: str, mode: str = "rn") -> Floats:
    if t == "f64":
        return lanewise(ieee754.fma, t, mode, a, b, c)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = sum_to_odd(product, addend)
    if mode == "rm":
        total = np.where((total == 0) & (np.signbit(product) != np.signbit(addend)), -0.0, total)
    return canonical(narrow(total, mode), t)


def div(a: Floats, b: Floats, t: str, mode: str = "rn") -> Floats:
    return canonical(a / b, t) if mode == "rn" else lanewise(ieee754.div, t, mode, a, b)


def sqrt(a: Floats, t: str, mode: str = "rn") -> Floats:
    return canonical(np.sqrt(a), t) if mode == "rn" else lanewise(ieee754.sqrt, t, mode, a)


def minmax(a: Floats, b: Floats, t: str, larger: bool, nan_wins: bool = False) -> Floats:
    """The smaller or larger; a NaN loses to a number (wins with .NaN); -0 is below +0."""
    below = (a < b) | ((a == b) & np.signbit(a))
    picked = np.where(below != larger, a, b)
    a_nan, b_nan = np.isnan(a), np.isnan(b)
    if nan_wins:
        return np.where(a_nan | b_nan, NAN[t], picked)
    return canonical(np.where(a_nan, b, np.where(b_nan, a, picked)), t)


INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def integral(a: Floats, t: str, mode: str) -> Floats:
    """a rounded to an integral value of its own format; zeros keep the sign of a."""
    return canonical(np.copysign(INTEGRAL[mode](a), a), t)


def widen(a: Floats) -> NDArray[np.float64]:
    return canonical(a.astype(np.float64), "f64")  # type: ignore[return-value]


def to_integer(a: Floats, t: str, target: str, mode: str) -> NDArray[np.integer]:
    """a rounded by mode (rni ...) to an integer, clamped to the target's range, as 64-bit patterns.

    NaN gives 0 unless source or target has 64 bits, then 1 << (width - 1) (PTX ISA 9.0, cvt).
    """
    width, signed = int(target[1:]), target[0] == "s"
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    x = INTEGRAL[mode](a.astype(np.float64))
    nan = np.isnan(x)
    x = np.where(nan, 0.0, x)
    too_low, too_high = x <= low, x >= high
    inside = np.where(too_low | too_high, 0.0, x)
    bits = inside.astype(np.int64 if signed else np.uint64).view(np.uint64)
    bits = np.where(too_low, np.uint64(low & 0xFFFFFFFFFFFFFFFF), np.where(too_high, np.uint64(high), bits))
    of_nan = 1 << (width - 1) if t == "f64" or width == 64 else 0
    return np.where(nan, np.uint64(of_nan), bits)


def from_integer(a: NDArray[np.integer], t: str, mode: str = "rn") -> Floats:
    """The integers of a, rounded once; 0 gives +0."""
    if mode == "rn":
        return a.astype(DTYPE[t])
    f = FORMATS[t]
    return np.array([ieee754.from_integer(v, f, mode) for v in a.tolist()], dtype=BITS[t]).view(DTYPE[t])
