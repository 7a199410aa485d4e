"""MUFU: accuracy against the math module, exact points, special values, and one result in both engines."""

from __future__ import annotations

import math
import random
import re
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from binalloc.emulator.arithmetic import mufu
from tests.support.kits.emulator.compiled import compiled
from tests.support.oracles.arithmetic.rational import F32, F64
from tests.support.paths import ROOT

RCP, RSQ, SQRT, EX2, LG2, SIN, COS, RCP64H, RSQ64H = range(9)
INF, NAN, S, ONE = 0x7F800000, 0x7FFFFFFF, 0x80000000, 0x3F800000
CORNERS = [0, 1, 2, 0x7FFFFF, 0x800000, 0x200000, 0x3FFFFF, 0x7F7FFFFF, 0x7E800000, 0x7F000000, INF, INF + 1, NAN, ONE]
CORNERS += [ONE - 1, ONE + 1, 0x3FB504F3, 0x3FB504F4, 0x43000000, 0x42FFFFFF, 0x43160000, 0x43150000, 0x3E000000]
CORNERS += [0x3E800000, 0x3F000000, 0x3F400000, 0x4B000001, 0x4B800000, 0x3DFFFFFF, 0x3E000001, 0x43400000, 0x4B7FFFFF]


def arguments(count: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    out = [c | s for c in CORNERS for s in (0, S)]
    for _ in range(count):
        out.append(rng.getrandbits(32))
        out.append(rng.getrandbits(1) << 31 | rng.randrange(110, 140) << 23 | rng.getrandbits(23))
        out.append(
            rng.getrandbits(1) << 31 | ONE + rng.randrange(-(1 << rng.randrange(1, 23)), 1 << rng.randrange(1, 23))
        )
    return out


@pytest.fixture(params=["plain", "compiled"])
def f(request: pytest.FixtureRequest) -> Any:
    return mufu.mufu if request.param == "plain" else compiled()["mufu"]


def value(bits: int) -> float:
    decoded = F32.decode(bits)
    if decoded == "-0":
        return -0.0
    return float(decoded) if isinstance(decoded, str) else decoded.numerator / decoded.denominator


def ulps(got: int, want: float) -> float:
    """Distance in units of the last place of f32 at `want`, infinite on different kinds."""
    x = value(got)
    if math.isinf(x) or math.isnan(x) or want != want:
        limit = abs(want) >= 2.0**128 - 2.0**103
        return 0.0 if x == want or (x != x and want != want) or (math.isinf(x) and limit) else math.inf
    exponent = max(math.frexp(want)[1] - 24, -149) if want else -149
    return abs(x - want) / 2.0**exponent


def reference(func: int, x: float) -> float:
    if func == RCP:
        return 1 / x if x else math.copysign(math.inf, x)
    if func in (RSQ, SQRT):
        if x < 0:
            return math.nan
        return math.sqrt(x) if func == SQRT else (1 / math.sqrt(x) if x else math.copysign(math.inf, x))
    if func == EX2:
        return 2.0 ** max(x, -400.0) if x < 400 or x != x else math.inf
    return math.nan if x < 0 or x != x else (math.log2(x) if x else -math.inf)


def test_reciprocal_and_roots_are_within_one_ulp(f: Any) -> None:
    for b in arguments(1500, 1):
        for func in (RCP, RSQ, SQRT):
            assert ulps(f(b, func), reference(func, value(b))) <= 0.5001, (hex(b), func)


def test_exp2_is_within_one_ulp(f: Any) -> None:
    for b in arguments(1500, 2):
        assert ulps(f(b, EX2), reference(EX2, value(b))) <= 0.501, hex(b)
    for n in range(-149, 128):
        assert value(f(F32.encode(Fraction(n), 0), EX2)) == 2.0**n


def test_log2_is_within_one_ulp_also_near_one(f: Any) -> None:
    for b in arguments(1500, 3):
        want = reference(LG2, value(b))
        x = value(b)
        if 0.5 < x < 2.0:
            want = math.log1p(x - 1) / math.log(2)
        assert ulps(f(b, LG2), want) <= 0.51, hex(b)
    for n in range(-149, 128):
        assert value(f(F32.encode(Fraction(2) ** n, 0), LG2)) == n


def test_sine_and_cosine_of_turns(f: Any) -> None:
    for b in arguments(1500, 4):
        x = value(b)
        if not math.isfinite(x):
            assert f(b, SIN) == f(b, COS) == NAN
            continue
        turn = Fraction(x) - round(Fraction(x))
        angle = 2 * math.pi * float(turn)
        for func, want in ((SIN, math.sin(angle)), (COS, math.cos(angle))):
            error = abs(value(f(b, func)) - want)
            assert error <= 2.0**-24.9, (hex(b), func, error)
        if abs(x) < 0.2:
            assert ulps(f(b, SIN), math.sin(angle)) <= 0.51


def test_sine_and_cosine_at_quarter_turns_are_exact(f: Any) -> None:
    for k in range(-9, 10):
        b = F32.encode(Fraction(k, 4), 0)
        sine = (0.0, 1.0, 0.0, -1.0)[k & 3]
        got = value(f(b, SIN))
        assert got == sine
        if sine == 0.0:
            assert math.copysign(1.0, got) == (1.0 if k >= 0 else -1.0)
        cosine = f(b, COS)
        assert value(cosine) == (1.0, 0.0, -1.0, 0.0)[k & 3]
        assert cosine != S
    for b in (0x4B800000, 0x7F7FFFFF):
        assert (f(b, SIN), f(b | S, SIN), f(b, COS)) == (0, S, ONE)


def test_special_values(f: Any) -> None:
    table = {
        RCP: {0: INF, S: INF | S, INF: 0, INF | S: S, NAN: NAN, 1: INF, 0x7F000000: 0x00400000},
        RSQ: {0: INF, S: INF | S, INF: 0, INF | S: NAN, S | 1: NAN, 0x7FC00000: NAN},
        SQRT: {0: 0, S: S, INF: INF, INF | S: NAN, S | 1: NAN},
        EX2: {0: ONE, S: ONE, INF: INF, INF | S: 0, NAN: NAN, 0x43000000: INF, 0xC3160000: 0},
        LG2: {0: INF | S, S: INF | S, INF: INF, INF | S: NAN, S | ONE: NAN, ONE: 0, NAN: NAN},
        SIN: {0: 0, S: S},
        COS: {0: ONE, S: ONE},
    }
    for func, cases in table.items():
        for b, want in cases.items():
            assert f(b, func) == want, (func, hex(b))


def test_f64_high_words_are_the_cut_off_results(f: Any) -> None:
    rng = random.Random(5)
    highs = [0x3FF00000, 0x40000000, 0x00100000, 0x7FEFFFFF, 1] + [rng.getrandbits(31) for _ in range(1500)]
    for hi in highs:
        x = F64.decode(hi << 32)
        if isinstance(x, str):
            continue
        quotient = float(x)
        for func, want in (
            (RCP64H, 1 / quotient if quotient > 2.0**-1023 else math.inf),
            (RSQ64H, 1 / math.sqrt(quotient)),
        ):
            got = F64.decode(f(hi, func) << 32)
            if want == math.inf or got == "+inf":
                assert got == "+inf"
                assert want > 1.79e308
            else:
                assert isinstance(got, Fraction)
                assert 0 <= 1 - got / Fraction(want) < Fraction(1, 2**20) or want < 2.0**-1022
    for func in (RCP64H, RSQ64H):
        assert f(0, func) == 0x7FF00000
        assert f(S, func) == 0xFFF00000
        assert f(0x7FF00000, func) == 0
        assert f(0x7FF00001, func) == 0x7FF80000
    assert f(0xBFF00000, RSQ64H) == 0x7FF80000
    assert f(0xBFF00000, RCP64H) == 0xBFF00000


def test_compiled_equals_plain_to_the_bit() -> None:
    g = compiled()["mufu"]
    for b in arguments(700, 6):
        for func in range(9):
            assert g(b, func) == mufu.mufu(b, func), (hex(b), func)


@cache
def documented_coefficients() -> dict[str, float]:
    """The hexadecimal constants of the chapter "Semantics" by name."""
    text = (ROOT / "binalloc/isa/ISA.md").read_text()
    return {
        name: float.fromhex(number) for name, number in re.findall(r"\b([ELSC]\d) = (-?0x[0-9a-f.]+p[+-]\d+)", text)
    }


def horner(z: float, names: str, last: int) -> float:
    k = documented_coefficients()
    p = k[names + str(last)]
    for i in range(last - 1, -1, -1):
        p = p * z + k[names + str(i)]
    return p


def test_every_step_is_the_recipe_of_the_manual() -> None:
    """Before the rounding to f32, so that a wrong last coefficient shows."""
    for b in arguments(300, 7):
        x = value(b)
        if not math.isfinite(x):
            continue
        if abs(x) < 192:
            n = round(x)
            assert mufu.exp2_f32(x) == horner(x - n, "E", 9) * 2.0**n
        if x > 0:
            m, e = math.frexp(x)
            m, e = (m * 2, e - 1) if m * 2 <= float.fromhex("0x1.6a09e667f3bcdp+0") else (m, e)
            s = (m - 1) / (m + 1)
            assert mufu.log2_f32(x) == e + s * horner(s * s, "L", 6)
        r = x - round(x)
        k = round(4 * r)
        t = r - k * 0.25
        for quarter in (0, 1):
            q = (k + quarter) % 4
            p = horner(t * t, "C", 6) if q % 2 else horner(t * t, "S", 5) * t
            assert mufu.sine_turns(x, quarter) == (-p if q >= 2 else p)


def test_coefficients_are_the_documented_series() -> None:
    """Each coefficient is the f64 nearest to its formula, by rationals alone."""
    pi = 4 * (4 * _arctan(5) - _arctan(239))
    ln2 = 2 * sum((Fraction(1, 3 ** (2 * k + 1) * (2 * k + 1)) for k in range(60)), Fraction(0))

    def nearest(x: Fraction) -> float:
        return x.numerator / x.denominator

    for k in range(1, 10):
        assert getattr(mufu, f"E{k}") == nearest(ln2**k / math.factorial(k))
    for k in range(7):
        assert getattr(mufu, f"L{k}") == nearest(2 / ln2 / (2 * k + 1))
    for k in range(6):
        assert getattr(mufu, f"S{k}") == nearest((-1) ** k * (2 * pi) ** (2 * k + 1) / math.factorial(2 * k + 1))
    for k in range(1, 7):
        assert getattr(mufu, f"C{k}") == nearest((-1) ** k * (2 * pi) ** (2 * k) / math.factorial(2 * k))


def _arctan(n: int) -> Fraction:
    return sum((Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(60)), Fraction(0))
