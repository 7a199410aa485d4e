"""The vectorised f32 operations references are written with, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.emulator.arithmetic.float32_arrays import fma32, rcp32, rsq32, sqrt32

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def nearest_f32(x: Fraction) -> float:
    """x rounded to f32, ties to even, by integers alone; infinity where it overflows."""
    if x == 0:
        return 0.0
    exponent = max(math.floor(math.log2(abs(x))) if abs(x) > Fraction(1, 2**1000) else -149, -140)
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exponent > -126 and abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -126)
    unit = Fraction(2) ** (exponent - 23)
    value = round(x / unit) * unit
    return math.copysign(math.inf, x) if abs(value) >= 2**128 else float(value)


@settings(max_examples=400)
@given(FINITE, FINITE, FINITE)
def test_fma_rounds_once(a: float, b: float, c: float) -> None:
    expected = nearest_f32(Fraction(a) * Fraction(b) + Fraction(c))
    with np.errstate(over="ignore"):
        assert float(fma32(np.float32(a), np.float32(b), np.float32(c))) == expected


def test_fma_where_rounding_the_f64_sum_first_is_wrong() -> None:
    # 2^24+1 is a tie in f32; the tiny addend decides it, and f64 cannot hold both.
    a, c = np.float32(2**12 + 1), np.float32(2.0**-60)
    b = np.float32((2**24 + 1) / (2**12 + 1))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    assert float(fma32(a, b, c)) == nearest_f32(exact)
    tie = np.float32(1 + 2.0**-23), np.float32(1 + 2.0**-1)  # product 1.5 + 1.5 * 2^-23: halfway in f32
    for sign in (1, -1):
        exact = Fraction(float(tie[0])) * Fraction(float(tie[1])) + sign * Fraction(1, 2**80)
        assert float(fma32(*tie, np.float32(sign * 2.0**-80))) == nearest_f32(exact)


def test_fma_broadcasts_and_stays_f32() -> None:
    out = fma32(np.ones((3, 1), np.float32), np.full(4, 2, np.float32), np.float32(0.5))
    assert out.shape == (3, 4)
    assert out.dtype == np.float32
    assert (out == 2.5).all()


def test_functions_are_the_f64_result_rounded() -> None:
    x = np.array([0.25, 2.0, 3.0, 1e-30, 1e30], np.float32)
    assert rsq32(x)[0] == 2.0
    assert rcp32(x)[1] == 0.5
    assert sqrt32(x)[0] == 0.5
    for f, g in ((rcp32, lambda v: 1 / v), (sqrt32, math.sqrt), (rsq32, lambda v: 1 / math.sqrt(v))):
        assert f(x).dtype == np.float32
        assert f(x).tolist() == [float(np.float32(g(float(v)))) for v in x]
