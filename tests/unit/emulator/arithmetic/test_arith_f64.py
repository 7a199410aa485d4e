"""f64 opcodes against exact rational arithmetic, in every rounding mode, plain and compiled alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from binalloc.emulator.arithmetic import bits
from binalloc.emulator.arithmetic import float64 as arith_f64
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import F64, RM, RN, add, fma, multiply

S = 1 << 63
INF = 0x7FF << 52
NAN = 0x7FF8 << 48
ONE = 0x3FF << 52
M52 = (1 << 52) - 1
CORNERS = [
    0, 1, 2, 3, M52, M52 - 1, 1 << 52, (1 << 52) + 1, (2 << 52) - 1, 2 << 52, ONE - 1, ONE, ONE + 1, 0x3FE << 52,
    0x400 << 52, (0x400 << 52) - 1, 0x3CA << 52, 0x3CA << 52 | 1, (0x3CB << 52) - 1, 0x433 << 52, 0x7FE << 52, INF - 1,
    INF - 2, INF, NAN, INF + 1, (1 << 63) - 1, 0x1FF << 52, 0x200 << 52, 0x5FE << 52, 0x1E0 << 52, 0x1FF << 52 | M52,
]  # fmt: skip
CORNERS += [c | S for c in CORNERS]


def pair(x: int) -> tuple[int, int]:
    return x & 0xFFFFFFFF, x >> 32


def join(words: tuple[int, int]) -> int:
    lo, hi = words
    assert 0 <= lo < 1 << 32
    assert 0 <= hi < 1 << 32
    return hi << 32 | lo


def number(rng: random.Random) -> int:
    kind = rng.randrange(7)
    sign = rng.getrandbits(1) << 63
    if kind == 0:
        return rng.choice(CORNERS)
    if kind == 1:
        return rng.getrandbits(rng.randrange(1, 54)) | sign
    if kind == 2:
        return sign | rng.randrange(960, 1090) << 52 | rng.getrandbits(3) << 49
    if kind == 3:
        return sign | rng.randrange(1015, 1031) << 52 | rng.getrandbits(52)
    if kind == 4:
        return rng.choice(CORNERS) ^ (1 << rng.randrange(64))
    if kind == 5:  # products around the smallest normal number
        return sign | rng.randrange(470, 540) << 52 | rng.getrandbits(52)
    return rng.getrandbits(64)


def triples(count: int, seed: int) -> list[tuple[int, int, int]]:
    rng = random.Random(seed)
    out = []
    for i in range(count):
        a, b, c = number(rng), number(rng), number(rng)
        product = fma(F64, a, b, S, RN)
        exponent = product >> 52 & 0x7FF
        if i % 4 == 0:  # cancellation down to the last bits
            c = ((product ^ S) + rng.randrange(-2, 3)) & ((1 << 64) - 1)
        elif i % 4 == 1:  # ties and sticky bits at both ends of the alignment
            e = exponent + rng.choice(
                (-120, -119, -108, -107, -106, -105, -64, -60, -55, -54, -53, -52, 52, 53, 54, 55, 60, 107, 120)
            )
            if 0 <= e < 2047:
                c = rng.getrandbits(1) << 63 | e << 52 | rng.choice((0, 1, 1 << 51, M52))
        elif i % 4 == 2:  # addend just beside the product
            e = exponent + rng.randrange(-3, 4)
            if 0 <= e < 2047:
                c = rng.getrandbits(1) << 63 | e << 52 | rng.getrandbits(52)
        out.append((a, b, c))
    return out


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(arith_f64, name)
    return lambda name: compiled()[name]


@pytest.mark.rotates
def test_dadd_dmul_dfma_are_exact_in_all_modes(ops: Any) -> None:
    dadd, dmul, dfma = ops("dadd"), ops("dmul"), ops("dfma")
    for a, b, c in triples(4000, 1):
        x, y, z = F64.decode(a), F64.decode(b), F64.decode(c)
        product = multiply(x, y)
        for mode in range(4):
            where = (hex(a), hex(b), hex(c), mode)
            assert join(dadd(*pair(a), *pair(c), mode)) == F64.encode(add(x, z, mode), mode), where
            assert join(dmul(*pair(a), *pair(b), mode)) == F64.encode(product, mode), where
            want = F64.encode(add(product, z, mode), mode)
            assert join(dfma(*pair(a), *pair(b), *pair(c), mode)) == want, where


def test_integer_fma_is_exact_to_nearest_too(ops: Any) -> None:
    """Nearest even has its own fast path; the integer path must agree with it."""
    f = ops("fma_exact")
    for a, b, c in triples(2000, 2):
        signed = [v - (v >> 63 << 64) for v in (a, b, c)]
        assert f(*signed, 0) & (1 << 64) - 1 == fma(F64, a, b, c, RN), (hex(a), hex(b), hex(c))


@pytest.mark.rotates
def test_all_pairs_of_corners(ops: Any) -> None:
    dadd, dfma = ops("dadd"), ops("dfma")
    for a in CORNERS:
        for c in CORNERS:
            for mode in range(4):
                want = F64.encode(add(F64.decode(a), F64.decode(c), mode), mode)
                assert join(dadd(*pair(a), *pair(c), mode)) == want
                assert join(dfma(*pair(a), *pair(a), *pair(c), mode)) == fma(F64, a, a, c, mode)


def test_exact_cancellation_is_minus_zero_only_downwards(ops: Any) -> None:
    for mode in range(4):
        assert join(ops("dadd")(*pair(ONE), *pair(ONE | S), mode)) == (S if mode == RM else 0)


def test_minimum_maximum_orders_zeros_and_loses_nan(ops: Any) -> None:
    f = ops("dmnmx")

    def apply(a: int, b: int, smaller: int) -> int:
        return join(f(*pair(a), *pair(b), smaller))

    for a, b in ((S, 0), (0, S)):
        assert apply(a, b, 1) == S
        assert apply(a, b, 0) == 0
    assert apply(NAN | 5, ONE | S, 0) == ONE | S
    assert apply(ONE, INF | 1, 1) == ONE
    assert apply(INF | 1, NAN | S, 0) == NAN
    for infinity in (INF, INF | S):
        assert apply(NAN, infinity, 1) == apply(infinity, NAN, 0) == infinity
    key = {"-inf": -(10**400), "+inf": 10**400, "-0": 0}
    for a, b, _ in triples(600, 3):
        x, y = F64.decode(a), F64.decode(b)
        if "nan" in (x, y) or key.get(x, x) == key.get(y, y):  # type: ignore[call-overload]
            continue
        low, high = sorted((a, b), key=lambda v: key.get(F64.decode(v), F64.decode(v)))  # type: ignore[arg-type]
        assert (apply(a, b, 1), apply(a, b, 0)) == (low, high)


def test_comparisons_ordered_and_unordered(ops: Any) -> None:
    f = ops("dcompare")
    rank = {"-inf": -(10**400), "+inf": 10**400, "-0": 0}
    for a, b, c in triples(500, 4):
        b = a if c & 1 else b
        x, y = F64.decode(a), F64.decode(b)
        unordered = "nan" in (x, y)
        p, q = (0, 0) if unordered else (rank.get(x, x), rank.get(y, y))  # type: ignore[call-overload]
        ordered = [False, p < q, p == q, p <= q, p > q, p != q, p >= q, True]
        want = [o and not unordered for o in ordered] + [unordered or o for o in ordered]
        assert [bool(f(*pair(a), *pair(b), cmp)) for cmp in range(16)] == want


def test_primitives_agree_on_patterns() -> None:
    table = compiled()
    rng = random.Random(5)
    for _ in range(1500):
        x = number(rng)
        lo, hi = pair(x)
        value = bits.f64_from_bits(lo, hi)
        signed = x - (x >> 63 << 64)
        for names in ("bits_from_f64", "i64_from_f64", "bits_from_f32"):
            assert table["call_" + names](value) == getattr(bits, names)(value)
        assert bits.i64_from_f64(table["call_f64_from_bits"](lo, hi)) == bits.i64_from_f64(value)
        assert bits.i64_from_f64(table["call_f64_from_i64"](signed)) == bits.i64_from_f64(value)
        narrow = bits.f32_from_bits(lo)
        assert bits.bits_from_f32(table["call_f32_from_bits"](lo)) == bits.bits_from_f32(narrow)
