"""Laws of the arithmetic that hold for every operand, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from binalloc.emulator.arithmetic import (
    conversion as arith_conv,
)
from binalloc.emulator.arithmetic import (
    float32 as arith_f32,
)
from binalloc.emulator.arithmetic import (
    float64 as arith_f64,
)
from binalloc.emulator.arithmetic import (
    integer as arith_int,
)
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import F32, F64, fma

M = 0xFFFFFFFF
WORD = st.one_of(st.integers(0, M), st.sampled_from([0, 1, 0x7FFFFFFF, 0x80000000, M]))
MODE = st.integers(0, 3)
BIT = st.integers(0, 1)


@st.composite
def patterns(draw: Any, width: int, precision: int) -> int:
    """Float patterns with exponents drawn near one another as often as far apart, mantissas sparse or full."""
    fraction = precision - 1
    exponents = (1 << width - precision) - 1
    bias = exponents >> 1
    exponent = draw(st.one_of(st.integers(0, exponents), st.integers(bias - precision - 2, bias + precision + 2)))
    mantissa = draw(st.one_of(st.integers(0, (1 << fraction) - 1), st.sampled_from([0, 1, 1 << fraction - 1])))
    return draw(BIT) << (width - 1) | exponent << fraction | mantissa


P32 = patterns(32, 24)
P64 = patterns(64, 53)
budget = settings(max_examples=300, derandomize=True)


def pair(x: int) -> tuple[int, int]:
    return x & M, x >> 32


@budget
@given(P32, P32, P32, MODE)
@example(1, 1, 0x80000001, 0)
@example(0x3F800001, 0x3F7FFFFF, 0xBF800000, 1)
def test_ffma_is_rounded_once(a: int, b: int, c: int, mode: int) -> None:
    want = fma(F32, a, b, c, mode)
    assert arith_f32.ffma(a, b, c, mode, 0, 0) == want
    assert compiled()["ffma"](a, b, c, mode, 0, 0) == want
    if mode == 0:
        assert arith_f32.ffma_rn(a, b, c) == compiled()["ffma_rn"](a, b, c) == want


@budget
@given(P64, P64, P64, MODE)
@example(1, 1, 1 << 63 | 1, 2)
def test_dfma_is_rounded_once(a: int, b: int, c: int, mode: int) -> None:
    want = pair(fma(F64, a, b, c, mode))
    assert tuple(arith_f64.dfma(*pair(a), *pair(b), *pair(c), mode)) == want
    assert tuple(compiled()["dfma"](*pair(a), *pair(b), *pair(c), mode)) == want


@budget
@given(P32, P32)
def test_f32_addition_commutes_and_rounding_brackets(a: int, b: int) -> None:
    results = [arith_f32.fadd(a, b, mode, 0, 0) for mode in range(4)]
    assert results == [arith_f32.fadd(b, a, mode, 0, 0) for mode in range(4)]
    if F32.nan not in results:
        low, high = arith_f32.fcompare(results[1], results[0], 3, 0), arith_f32.fcompare(results[0], results[2], 3, 0)
        assert (low, high) == (1, 1)
        assert results[3] in (results[1], results[2])
        assert results[0] in (results[1], results[2]) or results[0] & ~0x80000000 == 0


@budget
@given(P32)
def test_widening_and_narrowing_an_f32_is_the_identity(a: int) -> None:
    wide = arith_conv.f2f(a, 0, 1, 0, 0, 0)
    canonical = F32.nan if F32.decode(a) == "nan" else a
    for mode in range(4):
        assert arith_conv.f2f(*wide, 0, 1, mode, 0) == (canonical, 0)


@budget
@given(WORD, WORD, WORD, WORD, BIT)
def test_64_bit_sum_and_product_chain_through_carries(alo: int, ahi: int, blo: int, bhi: int, neg: int) -> None:
    a, b = ahi << 32 | alo, bhi << 32 | blo
    t = arith_int.iadd3(alo, blo, 0, 0, neg, 0, 0, 0, 0)
    high = arith_int.iadd3(ahi, bhi, 0, 0, neg, 0, 1, t >> 32, 0)
    assert (high & M) << 32 | t & M == (a - b if neg else a + b) & (1 << 64) - 1
    lo, hi = arith_int.imad_wide(alo, blo, 0, 0, 1)
    hi = arith_int.imad(alo, bhi, arith_int.imad(ahi, blo, hi, 0), 0)
    assert hi << 32 | lo == a * b & (1 << 64) - 1


@budget
@given(WORD, st.one_of(WORD, st.integers(0, 66)), WORD, BIT, st.integers(0, 3), BIT)
def test_funnel_shift_halves_make_the_64_bit_shift(a: int, n: int, c: int, right: int, kind: int, wrap: int) -> None:
    for f in (arith_int.shf, compiled()["shf"]):
        whole = f(a, n, c, right, kind, 1, wrap) << 32 | f(a, n, c, right, kind, 0, wrap)
        count = n % (64 if kind > 1 else 32) if wrap else min(n, 64 if kind > 1 else 32)
        v = c << 32 | a
        if right and kind & 1 and c >> 31:
            v -= 1 << 64
        assert whole == (v >> count if right else v << count) & (1 << 64) - 1


@budget
@given(WORD, WORD, BIT, MODE)
def test_integers_survive_a_round_trip_through_f64(lo: int, hi: int, signed: int, mode: int) -> None:
    ityp = 5 if signed else 4
    wide = arith_conv.i2f(lo, hi, 1, ityp, mode)
    assert arith_conv.f2i(*wide, ityp, 1, mode, 0) == (lo, 0)
    hi &= 0x1FFFFF  # 53 bits are exact
    wide = arith_conv.i2f(lo, hi, 1, 6 + signed, mode)
    assert arith_conv.f2i(*wide, 6 + signed, 1, mode, 0) == (lo, hi)
