"""PTX's .approx and .full forms: within the errors of PTX ISA 9.7.3, special values and .ftz as it lists them."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import pytest

from tests.support.oracles.arithmetic.hard_to_round import FORMATS, MODES, divide, flush, patterns, root, specials
from tests.support.ptx.float_runs import evaluate

F32, F64 = FORMATS["f32"], FORMATS["f64"]
RN, RZ = MODES["rn"], MODES["rz"]
PLUS_INF, MINUS_INF, NAN = F32.inf, F32.inf | F32.sign, F32.nan
ONE = 0x3F800000


def single(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def bits_of(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def between(low: float, high: float, count: int, seed: int) -> list[int]:
    """Patterns of f32 numbers in low .. high, both signs if low is negative."""
    rng = random.Random(seed)
    return [bits_of(rng.uniform(low, high)) for _ in range(count)]


def wild(seed: int, count: int = 1500) -> list[int]:
    return specials(F32) + patterns(F32, random.Random(seed), count)


def units_off(found: int, exact: int) -> int:
    """Steps between two patterns of one sign; a NaN is far from everything but itself."""
    if found == exact:
        return 0
    if "nan" in (F32.decode(found), F32.decode(exact)) or (found ^ exact) & F32.sign:
        return 1 << 32
    return abs(found - exact)


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_reciprocals_and_roots(ftz: str) -> None:
    a = wild(21)
    text = [f"{f}.approx{ftz}.f32 %d, %a;" for f in ("rcp", "sqrt", "rsqrt")]
    for x, inverse, square, both in zip(a, *evaluate(text, "f32", a), strict=True):
        if ftz:
            x = flush(F32, x)
        exact = divide(F32, ONE, x, RN)
        assert inverse == (flush(F32, exact) if ftz else exact)
        assert square == root(F32, x, RN)
        assert units_off(both, inverse_root(x)) <= 1, hex(x)


def inverse_root(x: int) -> int:
    """1/sqrt of an f32, rounded to nearest up to a tie of the f64 value."""
    value = F32.decode(x)
    if value == "-0" or value == 0:
        return PLUS_INF | (x & F32.sign)
    if isinstance(value, str) or value < 0:
        return 0 if value == "+inf" else NAN
    return bits_of(1 / math.sqrt(float(value)))


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_division(ftz: str) -> None:
    edges = specials(F32)
    rng = random.Random(22)
    pairs = [(x, y) for x in edges for y in edges] + list(zip(wild(23), wild(24), strict=True))
    near = patterns(F32, rng, 1000)
    pairs += [(x, (x + (rng.randrange(-9, 9) << 23) ^ rng.getrandbits(23)) & 0xFFFFFFFF) for x in near]
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    text = [f"div.approx{ftz}.f32 %d, %a, %b;", f"div.full{ftz}.f32 %d, %a, %b;"]
    for x, y, approximate, full in zip(a, b, *evaluate(text, "f32", a, b), strict=True):
        if ftz:
            x, y = flush(F32, x), flush(F32, y)
        exact = divide(F32, x, y, RN)
        exact = flush(F32, exact) if ftz else exact
        assert close(full, exact, 2, ftz), (hex(x), hex(y))
        magnitude = y & ~F32.sign
        if bits_of(2.0**126) < magnitude < F32.inf:  # PTX: the reciprocal is taken as zero
            infinite = x & ~F32.sign >= F32.inf
            assert approximate == (NAN if infinite else (x ^ y) & F32.sign)
        elif magnitude >= 1 << 23 or magnitude == 0:
            assert close(approximate, exact, 2, ftz), (hex(x), hex(y))


def close(found: int, exact: int, units: int, ftz: str) -> bool:
    """Within `units`; next to the end of the normal range .ftz may flush one and not the other."""
    if units_off(found, exact) <= units:
        return True
    small = max(found & ~F32.sign, exact & ~F32.sign) <= (1 << 23) + units
    return bool(ftz) and small and not (found ^ exact) & F32.sign


@pytest.mark.rotates
@pytest.mark.parametrize(("bound", "error"), [(2 * math.pi, -20.5), (100 * math.pi, -14.7)])
@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_sine_and_cosine(bound: float, error: float, ftz: str) -> None:
    a = between(-bound, bound, 4000, 25) + [bits_of(k * math.pi / 4) for k in range(-8, 9)]
    sines, cosines = evaluate([f"{f}.approx{ftz}.f32 %d, %a;" for f in ("sin", "cos")], "f32", a)
    for x, sine, cosine in zip(a, sines, cosines, strict=True):
        assert abs(single(sine) - math.sin(single(x))) <= 2**error, single(x)
        assert abs(single(cosine) - math.cos(single(x))) <= 2**error, single(x)


def test_sine_and_cosine_of_specials() -> None:
    a = [0, F32.sign, 1, F32.sign | 1, PLUS_INF, MINUS_INF, NAN, 0x7F7FFFFF]
    text = [f"{f} %d, %a;" for f in ("sin.approx.f32", "sin.approx.ftz.f32", "cos.approx.f32")]
    sines, flushed, cosines = evaluate(text, "f32", a)
    assert sines[:2] == flushed[:2] == [0, F32.sign]
    assert [x & ~F32.sign <= 1 for x in sines[2:4]] == [True, True]
    assert flushed[2:4] == [0, F32.sign]
    assert sines[4:7] == flushed[4:7] == cosines[4:7] == [NAN] * 3
    assert cosines[:4] == [ONE] * 4
    assert abs(single(sines[7])) <= 1


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_exponential(ftz: str) -> None:
    a = between(-150.5, 129, 4000, 26) + wild(27, 500)
    (found,) = evaluate([f"ex2.approx{ftz}.f32 %d, %a;"], "f32", a)
    for x, got in zip(a, found, strict=True):
        value = F32.decode(x)
        if isinstance(value, str) and value != "-0":
            assert got == {"+inf": PLUS_INF, "-inf": 0, "nan": NAN}[value]
            continue
        power = single(x)
        exact = PLUS_INF if power >= 128 else 0 if power < -160 else F32.encode(Fraction(2**power), RN)
        exact = flush(F32, exact) if ftz else exact
        assert close(got, exact, 2, ftz), power


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_logarithm(ftz: str) -> None:
    a = between(0.5, 2, 2000, 28) + wild(29, 1000) + [ONE + k for k in range(-20, 21)]
    (found,) = evaluate([f"lg2.approx{ftz}.f32 %d, %a;"], "f32", a)
    for x, got in zip(a, found, strict=True):
        value = F32.decode(flush(F32, x) if ftz else x)
        if value == "-0" or value == 0:
            assert got == MINUS_INF
        elif isinstance(value, str) or value < 0:
            assert got == (PLUS_INF if value == "+inf" else NAN)
        else:
            exact = math.log2(float(value))
            allowed = 2**-22 if 0.5 < value < 2 else 2**-22 * abs(exact)
            assert abs(single(got) - exact) <= allowed, float(value)


def test_hyperbolic_tangent() -> None:
    a = between(-10, 10, 3000, 30) + between(-0.02, 0.02, 1000, 31) + wild(32, 500)
    (found,) = evaluate(["tanh.approx.f32 %d, %a;"], "f32", a)
    for x, got in zip(a, found, strict=True):
        if F32.decode(x) == "nan":
            assert got == NAN
            continue
        exact = math.tanh(single(x))
        assert abs(single(got) - exact) <= 2**-11 * abs(exact)
        assert (got ^ x) & F32.sign == 0


def test_high_words_of_f64() -> None:
    """rcp and rsqrt .approx.ftz.f64 read and give high words only, without subnormals."""
    a = specials(F64) + patterns(F64, random.Random(33), 1500)
    inverses, roots = evaluate([f"{f}.approx.ftz.f64 %d, %a;" for f in ("rcp", "rsqrt")], "f64", a)
    one, high = 0x3FF0000000000000, 0xFFFFFFFF00000000
    for x, inverse, inverse_square in zip(a, inverses, roots, strict=True):
        argument = flush(F64, x & high)
        exact = flush(F64, divide(F64, one, argument, RZ) & high)
        assert inverse == exact, hex(x)
        expected = divide(F64, one, root(F64, argument, RN), RZ) & high
        assert inverse_square & 0xFFFFFFFF == 0
        assert abs(inverse_square - expected) in (0, 1 << 32), hex(x)


def test_rsqrt_of_f64() -> None:
    a = specials(F64) + patterns(F64, random.Random(34), 2500) + list(range(1, 60))
    (found,) = evaluate(["rsqrt.approx.f64 %d, %a;"], "f64", a)
    for x, got in zip(a, found, strict=True):
        value = F64.decode(x)
        if value == "-0" or value == 0:
            assert got == F64.inf | (x & F64.sign)
        elif isinstance(value, str) or value < 0:
            assert got == (0 if value == "+inf" else F64.nan)
        else:
            root_bits = F64.decode(got)
            assert isinstance(root_bits, Fraction)
            unit = 2 * root_bits / (1 << F64.p)  # at least the last place
            assert (root_bits - unit) ** 2 * value <= 1 <= (root_bits + unit) ** 2 * value, hex(x)
