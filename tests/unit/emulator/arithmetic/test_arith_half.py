"""f16 and bf16 opcodes against exact rational arithmetic, plain and compiled alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from binalloc.emulator.arithmetic import half
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import BF16, F16, F32, F64, Format, Value, add, fma, multiply

FORMATS = (F16, BF16)
S, NAN = 0x8000, 0x7FFF
ONE = (0x3C00, 0x3F80)
LARGE = 10**60


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(half, name)
    return lambda name: compiled()[name]


def corners(fmt: Format) -> list[int]:
    lowest = 1 << (fmt.p - 1)
    one = fmt.emax << (fmt.p - 1)
    found = [0, 1, 2, lowest - 1, lowest, lowest + 1, 2 * lowest, one - 1, one, one + 1, one + lowest,
             fmt.inf - lowest, fmt.inf - 1, fmt.inf, fmt.inf + 1, NAN]  # fmt: skip
    return found + [x | S for x in found]


def number(rng: random.Random, fmt: Format) -> int:
    return rng.choice(corners(fmt)) if rng.random() < 0.3 else rng.getrandbits(16)


def triples(fmt: Format, count: int, seed: int) -> list[tuple[int, int, int]]:
    """A third of them with c close to -(a*b)."""
    rng = random.Random(f"{seed} {fmt.p}")
    out = []
    for i in range(count):
        a, b, c = (number(rng, fmt) for _ in range(3))
        if i % 3 == 0:
            c = ((fma(fmt, a, b, S, 0) ^ S) + rng.randrange(-2, 3)) & 0xFFFF
        out.append((a, b, c))
    return out


def flushed(x: int, fmt: Format) -> int:
    return x & S if x & fmt.inf == 0 else x


def finished(x: int, f: int, ftz: int, sat: int, relu: int) -> int:
    x = flushed(x, FORMATS[f]) if ftz else x
    if sat:
        return 0 if x & S or x > FORMATS[f].inf else min(x, ONE[f])
    return 0 if relu and x & S else x


def pack(low: int, high: int) -> int:
    return low | high << 16


@pytest.mark.rotates
@pytest.mark.parametrize("f", [0, 1])
def test_both_halves_are_exact_and_apart(ops: Any, f: int) -> None:
    fmt = FORMATS[f]
    cases = triples(fmt, 3000, 1)
    for i, ((a, b, c), (d, e, g)) in enumerate(zip(cases, reversed(cases), strict=True)):
        ftz, sat, relu = (i % 7 == 0) * (f == 0), int(i % 5 == 0), int(i % 5 == 1)

        def taken(x: int, ftz: int = ftz) -> Value:
            return fmt.decode(flushed(x, fmt) if ftz else x)

        sums = [finished(fmt.encode(add(taken(x), taken(z), 0), 0), f, ftz, sat, 0) for x, z in ((a, c), (d, g))]
        products = [finished(fmt.encode(multiply(taken(x), taken(y)), 0), f, ftz, sat, 0) for x, y in ((a, b), (d, e))]
        fused = [
            finished(fmt.encode(add(multiply(taken(x), taken(y)), taken(z), 0), 0), f, ftz, sat, relu)
            for x, y, z in ((a, b, c), (d, e, g))
        ]
        x, y, z = pack(a, d), pack(b, e), pack(c, g)
        assert ops("hadd2")(x, z, f, ftz, sat) == pack(*sums), (hex(x), hex(z))
        assert ops("hmul2")(x, y, f, ftz, sat) == pack(*products), (hex(x), hex(y))
        assert ops("hfma2")(x, y, z, f, ftz, sat, relu) == pack(*fused), (hex(x), hex(y), hex(z))


@pytest.mark.rotates
@pytest.mark.parametrize("f", [0, 1])
def test_every_half_is_a_single_and_comes_back(ops: Any, f: int) -> None:
    h2f, f2h = ops("h2f"), ops("f2h")
    fmt = FORMATS[f]
    for h in range(1 << 16):
        single = h2f(h << 16 | (h ^ 0x1234), f, 1)
        assert single == F32.encode(fmt.decode(h), 0)
        assert h2f(h, f, 0) == single
        assert f2h(single, 0, 0, f, h & 3, 0, 0, 0) == fmt.encode(fmt.decode(h), 0)


@pytest.mark.rotates
@pytest.mark.parametrize("f", [0, 1])
def test_floats_are_rounded_once(ops: Any, f: int) -> None:
    """Near ties, which a detour over f32 would round twice."""
    f2h, f2h2, rng = ops("f2h"), ops("f2h2"), random.Random(f)
    fmt = FORMATS[f]
    for i in range(4000):
        h, mode = rng.getrandbits(16) & 0x7FFF, i & 3
        exact = fmt.decode(h)
        if isinstance(exact, str):
            continue
        step = fmt.decode(h + 1)
        middle = exact + (Fraction(step) - exact) / 2 if not isinstance(step, str) else exact
        near = middle + Fraction(rng.randrange(-2, 3), 1 << rng.choice((30, 60, 160))) * rng.choice((1, middle))
        sign = rng.choice((1, -1))
        wide = F64.encode(near * sign, 0)
        assert f2h(wide & 0xFFFFFFFF, wide >> 32, 1, f, mode, 0, 0, 0) == fmt.encode(F64.decode(wide), mode)
        single, other = F32.encode(near * sign, 0), rng.getrandbits(32)
        want = [fmt.encode(F32.decode(x), mode) for x in (single, other)]
        assert f2h2(other, single, f, mode, 0, 0, 0) == pack(*want)
        sat, relu = i >> 2 & 1, i >> 3 & 1
        clamped = [finished(x, f, 0, sat, relu) for x in want]
        assert f2h2(other, single, f, mode, 0, sat, relu) == pack(*clamped)
    assert f2h(1, 0, 0, f, 2, 1, 0, 0) == 0
    assert f2h(1, 0, 0, f, 2, 0, 0, 0) == 1


@pytest.mark.parametrize("f", [0, 1])
def test_integers_are_rounded_once(ops: Any, f: int) -> None:
    i2h, rng = ops("i2h"), random.Random(f)
    fmt = FORMATS[f]
    widths = ((8, 0), (8, 1), (16, 0), (16, 1), (32, 0), (32, 1), (64, 0), (64, 1))
    for i in range(4000):
        ityp, mode = i % 8, i >> 3 & 3
        bits, signed = widths[ityp]
        shift = rng.randrange(64)
        x = (rng.getrandbits(9) << shift) + rng.randrange(-2, 3) if rng.random() < 0.7 else rng.getrandbits(64)
        x &= (1 << 64) - 1
        value = x & ((1 << bits) - 1)
        if signed and value >> (bits - 1):
            value -= 1 << bits
        assert i2h(x & 0xFFFFFFFF, x >> 32, f, ityp, mode) == fmt.encode(Fraction(value), mode), (x, ityp, mode)


def lesser(a: int, b: int, fmt: Format) -> int:
    """Of two that are no NaN; -0 is below +0."""
    key = {"-inf": -LARGE, "+inf": LARGE, "-0": Fraction(-1, LARGE)}
    return min((a, b), key=lambda v: key.get(fmt.decode(v), fmt.decode(v)))  # type: ignore[arg-type, call-overload]


@pytest.mark.rotates
@pytest.mark.parametrize("f", [0, 1])
def test_minimum_and_maximum(ops: Any, f: int) -> None:
    fmt, both = FORMATS[f], ops("hmnmx2")

    def wanted(a: int, b: int, smaller: int, ftz: int, nan: int, xorsign: int) -> int:
        a, b = (flushed(a, fmt), flushed(b, fmt)) if ftz else (a, b)
        sign = (a ^ b) & S if xorsign else 0
        a, b = (a & ~S, b & ~S) if xorsign else (a, b)
        numbers = [x for x in (a, b) if fmt.decode(x) != "nan"]
        if not numbers or (nan and len(numbers) < 2):
            return NAN
        if len(numbers) == 1:
            return sign | numbers[0]
        low = lesser(a, b, fmt)
        return sign | (low if smaller else b if low == a else a)

    cases = triples(fmt, 2000, 3)
    for i, ((a, b, _), (d, e, _)) in enumerate(zip(cases, reversed(cases), strict=True)):
        how = (i & 1, i >> 1 & (f == 0), i >> 2 & 1, i >> 3 & 1)
        assert both(pack(a, d), pack(b, e), how[0], f, *how[1:]) == pack(wanted(a, b, *how), wanted(d, e, *how))
    assert both(S, 0, 1, f, 0, 0, 0) == S
    assert both(0, S, 0, f, 0, 0, 0) == 0


@pytest.mark.parametrize("f", [0, 1])
def test_comparisons(ops: Any, f: int) -> None:
    fmt, compare = FORMATS[f], ops("hcompare2")
    rank = {"-inf": -LARGE, "+inf": LARGE, "-0": 0}
    for i, (a, b, c) in enumerate(triples(fmt, 1500, 4)):
        b = a if c & 1 else b
        x, y = fmt.decode(a), fmt.decode(b)
        p, q = rank.get(x, x), rank.get(y, y)  # type: ignore[call-overload]
        kind = 8 if "nan" in (x, y) else 1 if p < q else 2 if p == q else 4  # type: ignore[operator]
        mask = i & 15
        assert compare(pack(a, 0), pack(b, 0), mask, f, 0) == int(bool(mask & kind)) | (mask >> 1 & 1) << 1
        assert compare(pack(0, a), pack(0, b), mask, f, 0) >> 1 == int(bool(mask & kind))
    assert compare(1, 0, 2, f, 1) == 3
    assert compare(1, 0, 2, f, 0) == 2


@pytest.mark.parametrize("f", [0, 1])
def test_an_atomic_addition_leaves_the_other_half_alone(ops: Any, f: int) -> None:
    fmt, atomic = FORMATS[f], ops("hadd2_atomic")
    for a, b, other in triples(fmt, 600, 5):
        total = fmt.encode(add(fmt.decode(a), fmt.decode(b), 0), 0)
        if b != S:
            assert atomic(pack(a, other), pack(b, S), f) == pack(total, other)
            assert atomic(pack(other, a), pack(S, b), f) == pack(other, total)
        both = fmt.encode(add(fmt.decode(other), fmt.decode(b), 0), 0) if b != S else other
        assert atomic(pack(a, other), pack(b, b), f) == pack(total if b != S else a, both)
