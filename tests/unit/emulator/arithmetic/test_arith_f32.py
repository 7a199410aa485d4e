"""f32 opcodes against exact rational arithmetic, in every rounding mode, plain and compiled alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from binalloc.emulator.arithmetic import float32 as arith_f32
from binalloc.emulator.arithmetic.bits import f32_from_bits
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import F32, RM, RN, add, fma, multiply

S = 0x80000000
INF = 0x7F800000
NAN = 0x7FFFFFFF
ONE = 0x3F800000
CORNERS = [
    0, 1, 2, 3, 0x7FFFFF, 0x7FFFFE, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x34000000, 0x33800000, 0x33800001,
    0x33FFFFFF, ONE - 1, ONE, ONE + 1, 0x3F000000, 0x40000000, 0x3FFFFFFF, 0x4B000000, 0x4B7FFFFF, 0x4B800000,
    0x7F000000, 0x7EFFFFFF, 0x7F7FFFFF, 0x7F7FFFFE, INF, 0x7FC00000, 0x7F800001, NAN, 0x1FFFFFFF, 0x20000000,
    0x5F000000,
]  # fmt: skip
CORNERS += [c | S for c in CORNERS]


def number(rng: random.Random) -> int:
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(CORNERS)
    if kind == 1:  # subnormal or near
        return rng.getrandbits(rng.randrange(1, 25)) | rng.getrandbits(1) << 31
    if kind == 2:  # few mantissa bits: ties and cancellation
        return rng.getrandbits(1) << 31 | rng.randrange(100, 156) << 23 | (rng.getrandbits(3) << 20)
    if kind == 3:
        return rng.getrandbits(1) << 31 | rng.randrange(120, 135) << 23 | rng.getrandbits(23)
    if kind == 4:
        return rng.choice(CORNERS) ^ (1 << rng.randrange(32))
    return rng.getrandbits(32)


def triples(count: int, seed: int) -> list[tuple[int, int, int]]:
    rng = random.Random(seed)
    out = []
    for i in range(count):
        a, b, c = number(rng), number(rng), number(rng)
        if i % 3 == 0:  # c close to -(a*b): cancellation down to the last bits
            c = (fma(F32, a, b, S, RN) ^ S) + rng.randrange(-2, 3)
            c &= 0xFFFFFFFF
        elif i % 3 == 1:  # c about 24 binary places away: ties and sticky bits
            e = (fma(F32, a, b, S, RN) >> 23 & 0xFF) + rng.choice((-26, -25, -24, -23, 23, 24, 25, 26))
            if 0 <= e < 255:
                c = rng.getrandbits(1) << 31 | e << 23 | rng.choice((0, 1, 0x400000, 0x7FFFFF))
        out.append((a, b, c))
    return out


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(arith_f32, name)
    return lambda name: compiled()[name]


def test_oracle_knows_the_textbook_cases() -> None:
    assert fma(F32, ONE, ONE, 0x33800000, 0) == ONE  # 1 + 2^-24: tie to even
    assert fma(F32, ONE, ONE, 0x33800000, 2) == ONE + 1
    assert fma(F32, ONE, ONE, ONE | S, RM) == S
    assert fma(F32, 0x7F7FFFFF, 0x40000000, 0, 3) == 0x7F7FFFFF
    assert fma(F32, 1, 0x3F000000, 0, 0) == 0
    assert fma(F32, 1, 0x3F000000, 0, 2) == 1


@pytest.mark.rotates
def test_fadd_fmul_ffma_are_exact_in_all_modes(ops: Any) -> None:
    fadd, fmul, ffma = ops("fadd"), ops("fmul"), ops("ffma")
    add_rn, mul_rn, ffma_rn = ops("fadd_rn"), ops("fmul_rn"), ops("ffma_rn")
    for a, b, c in triples(4000, 1):
        x, y, z = F32.decode(a), F32.decode(b), F32.decode(c)
        product = multiply(x, y)
        for mode in range(4):
            want_sum = F32.encode(add(x, z, mode), mode)
            want_product = F32.encode(product, mode)
            want_fma = F32.encode(add(product, z, mode), mode)
            assert fadd(a, c, mode, 0, 0) == want_sum, (hex(a), hex(c), mode)
            assert fmul(a, b, mode, 0, 0) == want_product, (hex(a), hex(b), mode)
            assert ffma(a, b, c, mode, 0, 0) == want_fma, (hex(a), hex(b), hex(c), mode)
            if mode == 0:
                assert add_rn(a, c) == want_sum
                assert mul_rn(a, b) == want_product
                assert ffma_rn(a, b, c) == want_fma
                sums = ops("round_sum32")
                assert sums(f32_from_bits(a) * f32_from_bits(b), f32_from_bits(c), 0) == want_fma


@pytest.mark.rotates
def test_all_pairs_of_corners(ops: Any) -> None:
    ffma, fadd = ops("ffma"), ops("fadd")
    for a in CORNERS:
        for c in CORNERS:
            for mode in range(4):
                assert fadd(a, c, mode, 0, 0) == F32.encode(add(F32.decode(a), F32.decode(c), mode), mode)
                assert ffma(a, a, c, mode, 0, 0) == fma(F32, a, a, c, mode)


def flushed(x: int) -> int:
    return x & S if x & INF == 0 else x


def saturated(x: int) -> int:
    return 0 if x & S or x > INF else min(x, ONE)


def test_ftz_and_sat_wrap_the_exact_operation(ops: Any) -> None:
    fadd, fmul, ffma = ops("fadd"), ops("fmul"), ops("ffma")
    for i, (a, b, c) in enumerate(triples(2000, 2)):
        mode, ftz, sat = i & 3, i >> 2 & 1, i >> 3 & 1
        pa, pb, pc = (flushed(v) if ftz else v for v in (a, b, c))

        def finish(r: int, ftz: int = ftz, sat: int = sat) -> int:
            r = flushed(r) if ftz else r
            return saturated(r) if sat else r

        assert ffma(a, b, c, mode, ftz, sat) == finish(fma(F32, pa, pb, pc, mode))
        assert fmul(a, b, mode, ftz, sat) == finish(F32.encode(multiply(F32.decode(pa), F32.decode(pb)), mode))
        assert fadd(a, c, mode, ftz, sat) == finish(F32.encode(add(F32.decode(pa), F32.decode(pc), mode), mode))


def test_saturation_of_special_values(ops: Any) -> None:
    f = ops("fadd")
    cases = {NAN: 0, S: 0, S | ONE: 0, INF: ONE, S | INF: 0, 0x40000000: ONE, 0x3F000000: 0x3F000000, 1: 1}
    for x, want in cases.items():
        assert f(x, S, 0, 0, 1) == want


def test_minimum_maximum_orders_zeros_and_loses_nan(ops: Any) -> None:
    f = ops("fmnmx")
    assert f(S, 0, 1, 0) == S
    assert f(0, S, 1, 0) == S
    assert f(S, 0, 0, 0) == 0
    assert f(0, S, 0, 0) == 0
    assert f(0x7FC00001, S | ONE, 0, 0) == S | ONE
    assert f(ONE, 0xFFFFFFFF, 1, 0) == ONE
    assert f(0x7F800001, 0xFFC00000, 1, 0) == NAN
    assert f(1, S | 1, 1, 1) == S
    assert f(NAN, INF + 1, 1, 0) == f(INF + 1, S | NAN, 0, 0) == NAN
    for infinity in (INF, INF | S):
        assert f(NAN, infinity, 1, 0) == f(infinity, NAN, 0, 0) == infinity
    for a, b, _ in triples(600, 3):
        x, y = F32.decode(a), F32.decode(b)
        if "nan" in (x, y):
            continue
        key = {"-inf": -(10**60), "+inf": 10**60, "-0": -(10**-60)}
        low, high = sorted((a, b), key=lambda v: key.get(F32.decode(v), F32.decode(v)))  # type: ignore[arg-type]
        assert f(a, b, 1, 0) == low
        assert f(a, b, 0, 0) == high


def test_comparisons_ordered_and_unordered(ops: Any) -> None:
    f = ops("fcompare")
    for a, b, c in triples(800, 4):
        if c & 1:
            b = a
        x, y = F32.decode(a), F32.decode(b)
        unordered = "nan" in (x, y)
        rank = {"-inf": -(10**60), "+inf": 10**60, "-0": 0}
        p, q = (0, 0) if unordered else (rank.get(x, x), rank.get(y, y))  # type: ignore[call-overload]
        ordered = [False, p < q, p == q, p <= q, p > q, p != q, p >= q, True]
        want = [o and not unordered for o in ordered] + [unordered or o for o in ordered]
        assert [bool(f(a, b, cmp, 0)) for cmp in range(16)] == want
    assert f(1, 0, 2, 1) == 1
    assert f(1, 0, 2, 0) == 0
