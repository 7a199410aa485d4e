"""Conversions against exact rational arithmetic: every type pair and rounding mode, plain and compiled alike."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from binalloc.emulator.arithmetic import conversion as arith_conv
from binalloc.isa.table.opcodes import ITYPES
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import F32, F64, Format, Value, round_fraction

M = 0xFFFFFFFF
RANGES = {
    name: (
        (0, 2 ** int(name[1:]) - 1) if name[0] == "U" else (-(2 ** (int(name[1:]) - 1)), 2 ** (int(name[1:]) - 1) - 1)
    )
    for name in ITYPES
}
FORMATS = (F32, F64)


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(arith_conv, name)
    return lambda name: compiled()[name]


def words(x: int) -> tuple[int, int]:
    return x & M, x >> 32 & M


def join(fmt: Format, pair: tuple[int, int]) -> int:
    if fmt is F32:
        assert pair[1] == 0
    return pair[1] << 32 | pair[0]


def integers(rng: random.Random, low: int, high: int) -> list[int]:
    """Corners, and neighbours of ties at f32's and f64's precision."""
    out = [low, low + 1, -1, 0, 1, 2, high - 1, high, high // 2, high // 2 + 1]
    for _ in range(60):
        top = rng.randrange(1, high.bit_length() + 1)
        base = rng.getrandbits(min(top, rng.choice((3, 23, 24, 25, 52, 53, 54)))) << max(0, top - 24)
        for delta in (-1, 0, 1):
            out += [base + delta, -base + delta, base + (1 << max(0, top - 25)) + delta]
        out.append(rng.randrange(low, high + 1))
    return [v for v in out if low <= v <= high]


def test_i2f_rounds_once_from_every_type(ops: Any) -> None:
    f = ops("i2f")
    rng = random.Random(1)
    for ityp, name in enumerate(ITYPES):
        for value in integers(rng, *RANGES[name]):
            lo, hi = words(value)
            bits = int(name[1:])
            if bits < 32:  # bits above the type do not count
                lo = lo & (1 << bits) - 1 | rng.getrandbits(32 - bits) << bits
            if bits < 64:
                hi = rng.getrandbits(32)
            for ftyp, fmt in enumerate(FORMATS):
                for mode in range(4):
                    want = round_fraction(Fraction(value), fmt, mode)
                    assert join(fmt, f(lo, hi, ftyp, ityp, mode)) == want, (name, value, ftyp, mode)


def patterns(fmt: Format, rng: random.Random) -> list[int]:
    out = [0, 1, fmt.inf - 1, fmt.inf, fmt.inf + 1, fmt.nan, 1 << (fmt.p - 1), (1 << (fmt.p - 1)) - 1]
    for exponent in range(-3, 70):  # around every limit of every integer type, and halves
        one = round_fraction(Fraction(2) ** exponent, fmt, 0)
        out += [one - 2, one - 1, one, one + 1]
        for _ in range(3):
            value = Fraction(rng.getrandbits(24) | 1, 2) * Fraction(2) ** (exponent - 24)
            out.append(round_fraction(value, fmt, 0))
    for n in range(12):
        out += [round_fraction(Fraction(2 * n + 1, 2), fmt, 0) + d for d in (-1, 0, 1)]
        out += [round_fraction(Fraction(2 * (1 << k) + 2 * n + 1, 2), fmt, 0) for k in (7, 8, 15, 16, 20)]
    out += [rng.getrandbits(fmt.width - 1) for _ in range(60)]
    return [v | s for v in out for s in (0, fmt.sign)]


def integral(value: Fraction, mode: int) -> int:
    if mode == 0:
        return round(value)
    return (math.floor, math.ceil, math.trunc)[mode - 1](value)


def exact(value: Value) -> Fraction:
    return Fraction(0) if value == "-0" else Fraction(value)


def test_f2i_rounds_then_saturates(ops: Any) -> None:
    f = ops("f2i")
    rng = random.Random(2)
    for ftyp, fmt in enumerate(FORMATS):
        for x in patterns(fmt, rng):
            value = fmt.decode(x)
            lo, hi = words(x)
            for mode in range(4):
                for ityp, name in enumerate(ITYPES):
                    low, high = RANGES[name]
                    if value == "nan":
                        want = 0
                    elif value in ("+inf", "-inf"):
                        want = high if value == "+inf" else low
                    else:
                        want = min(max(integral(exact(value), mode), low), high)
                    got = f(lo, hi, ityp, ftyp, mode, 0)
                    assert tuple(got) == (words(want) if ityp >= 6 else (want & M, 0)), (name, hex(x), mode)


def test_ftz_flushes_before_the_conversion(ops: Any) -> None:
    for x in (1, 0x7FFFFF, 0x80000001):
        for mode in range(4):
            assert tuple(ops("f2i")(x, 0, 5, 0, mode, 1)) == (0, 0)
            assert tuple(ops("frnd")(x, 0, 0, mode, 1)) == (x & 0x80000000, 0)
            assert tuple(ops("f2f")(x, 0, 1, 0, mode, 1)) == (0, x & 0x80000000)
    assert tuple(ops("f2i")(1, 0, 5, 0, 2, 0)) == (1, 0)
    assert tuple(ops("f2i")(1, 0, 5, 1, 2, 1)) == (1, 0)  # an f64 subnormal is not flushed
    small = F64.encode(Fraction(3, 2**130), 0)
    assert tuple(ops("f2f")(*words(small), 0, 1, 0, 0)) == (3 << 19, 0)
    assert tuple(ops("f2f")(*words(small), 0, 1, 0, 1)) == (0, 0)


def test_frnd_keeps_signs_and_specials(ops: Any) -> None:
    f = ops("frnd")
    rng = random.Random(3)
    for ftyp, fmt in enumerate(FORMATS):
        for x in patterns(fmt, rng):
            value = fmt.decode(x)
            for mode in range(4):
                if isinstance(value, str):
                    want = fmt.encode(value, 0)
                else:
                    want = round_fraction(Fraction(integral(value, mode)), fmt, 0) | x & fmt.sign
                assert join(fmt, f(*words(x), ftyp, mode, 0)) == want, (hex(x), mode)


def narrowing(rng: random.Random) -> list[int]:
    """f64 patterns near f32 numbers, their midpoints, and the ends of f32's range."""
    out = patterns(F64, rng)
    for _ in range(500):
        base = F32.decode(rng.choice((rng.getrandbits(32), rng.getrandbits(24), 0x7F7FFFFF - rng.getrandbits(2))))
        if isinstance(base, str):
            continue
        x = F64.encode(base, 0)
        out += [x, x ^ 1, x ^ 1 << 28, x ^ (1 << 28) + 1, x ^ (1 << 28) - 1]
    for k in (-126, -127, -148, -149, -150, -151, 127, 128, 200, -1022, -1074):
        x = F64.encode(Fraction(2) ** k, 0)
        out += [x, x + 1, max(x - 1, 0), x | 1 << 63]
    return out


def test_f2f_rounds_once_and_widens_exactly(ops: Any) -> None:
    f = ops("f2f")
    rng = random.Random(4)
    for x in narrowing(rng):
        for mode in range(4):
            assert join(F32, f(*words(x), 0, 1, mode, 0)) == F32.encode(F64.decode(x), mode), (hex(x), mode)
            assert join(F64, f(*words(x), 1, 1, mode, 0)) == F64.encode(F64.decode(x), 0)
    for x in patterns(F32, rng):
        for mode in range(4):
            assert join(F64, f(x, 0, 1, 0, mode, 0)) == F64.encode(F32.decode(x), 0)
            assert join(F32, f(x, 0, 0, 0, mode, 0)) == F32.encode(F32.decode(x), 0)
