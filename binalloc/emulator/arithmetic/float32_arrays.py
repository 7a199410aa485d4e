"""This module has f32 operations as Loom defines them, vectorised in NumPy. References use them to match a kernel bit
by bit.

Needs float32 arrays or scalars that give no NaN. Leaves true: `fma32` rounds once, which NumPy alone does not offer;
`rcp32`, `rsq32` and `sqrt32` follow MUFU's recipe (f64 IEEE operations, then one rounding to f32). FADD and FMUL need
no helper: NumPy's + and * on float32 are the same operations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

F32 = NDArray[np.float32]


def fma32(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> F32:
    """Return a*b + c rounded once to f32 (round to nearest even). Operands broadcast.

    The product of two f32 is exact in f64. The f64 sum is rounded to odd by means of its exact error, so that the
    rounding to f32 cannot be a second rounding (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    p = np.multiply(a, b, dtype=np.float64)
    c64 = np.asarray(c, np.float64)
    s = np.asarray(p + c64)
    back = s - p
    error = (p - (s - back)) + (c64 - back)
    even = (s.view(np.int64) & 1) == 0
    odd = np.where(even & (error != 0), np.nextafter(s, np.copysign(np.inf, error)), s)
    return np.asarray(odd, np.float32)


def rcp32(x: ArrayLike) -> F32:
    """Return 1/x as MUFU.RCP computes it."""
    return _f32(1.0 / np.asarray(x, np.float64))


def sqrt32(x: ArrayLike) -> F32:
    """Return the square root as MUFU.SQRT computes it."""
    return _f32(np.sqrt(np.asarray(x, np.float64)))


def rsq32(x: ArrayLike) -> F32:
    """Return 1/sqrt(x) as MUFU.RSQ computes it."""
    return _f32(1.0 / np.sqrt(np.asarray(x, np.float64)))


def _f32(x: ArrayLike) -> F32:
    return np.asarray(x, np.float32)
