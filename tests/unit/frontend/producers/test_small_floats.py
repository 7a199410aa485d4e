"""cvt from and to e4m3, e5m2 and tf32, against all values of the formats, by exact fractions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.importer import import_ptx
from tests.support.ptx.bodies import both
from tests.support.ptx.texts import kernel

FORMATS = {"e4m3": (3, 7, 0x7E), "e5m2": (2, 15, 0x7B)}
"""Bits of the fraction, bias, code of the largest number."""


def value(code: int, name: str) -> float:
    bits, bias, _ = FORMATS[name]
    exponent, fraction = code >> bits, code & (1 << bits) - 1
    if not exponent:
        return math.ldexp(fraction, 1 - bias - bits)
    return math.ldexp((1 << bits) + fraction, exponent - bias - bits)


def nearest(x: float, name: str, relu: bool) -> int:
    """The code of the nearest number, of two the even one; NaN, and what is too large, as PTX has it."""
    if math.isnan(x):
        return 0x7F
    if relu and math.copysign(1, x) < 0:
        return 0
    most = FORMATS[name][2]
    codes = range(most + 1)
    size = min(abs(x), value(most, name))
    best = min(codes, key=lambda code: (abs(value(code, name) - size), code & 1))
    return best | (0x80 if math.copysign(1, x) < 0 else 0)


def samples(name: str) -> np.ndarray:
    """Every number of the format, the middles between neighbours, one f32 to either side, and the odd ones."""
    numbers = [value(code, name) for code in range(FORMATS[name][2] + 1)]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    exact = np.array([*numbers, *middles, 1e9, 3e38, 449.0, 464.0, 465.0, 61440.0, 1e-30, 1e-45], np.float32)
    inf = np.float32(np.inf)
    around = np.concatenate([exact, np.nextafter(exact, inf), np.nextafter(exact, -inf), [inf, np.float32(np.nan)]])
    out = np.concatenate([around, -around]).astype(np.float32)
    return np.resize(out, -(-len(out) // 32) * 32)


GIVEN = ".param .u64 a"


@pytest.mark.rotates
@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", FORMATS)
def test_two_singles_to_a_pair_of_eight_bits(name: str, relu: str) -> None:
    for given in np.split(samples(name), 2):
        last = len(given) - 1
        body = f"""ld.param.u64 %d2, [a]; mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d2, %d4; ld.global.f32 %f1, [%d3];
            sub.u32 %r1, {last}, %r0; mul.wide.u32 %d4, %r1, 4; add.u64 %d3, %d2, %d4; ld.global.f32 %f2, [%d3];
            cvt.rn.satfinite{relu}.{name}x2.f32 %h1, %f1, %f2; cvt.u32.u16 %r2, %h1; st.global.u32 [%d1], %r2;"""
        found = both(body, len(given), args=(given.view(np.uint32),), params=(GIVEN,), compare=False)
        codes = np.array([nearest(float(x), name, bool(relu)) for x in given])
        np.testing.assert_array_equal(found, codes << 8 | codes[::-1])


@pytest.mark.rotates
@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_pair_of_halves_to_one_of_eight_bits_and_back(name: str, relu: str) -> None:
    """Every eighth half, then every pair of codes."""
    halves = np.arange(0, 65536, 64, dtype=np.uint16)
    words = halves.astype(np.uint32) << 16 | halves[::-1]
    read = "ld.param.u64 %d2, [a]; mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d2, %d4; ld.global.u32 %r1, [%d3];"
    body = f"{read} cvt.rn.satfinite{relu}.{name}x2.f16x2 %h1, %r1; cvt.u32.u16 %r2, %h1; st.global.u32 [%d1], %r2;"
    found = both(body, 1024, args=(words,), params=(GIVEN,), compare=False)
    codes = np.array([nearest(float(x), name, bool(relu)) for x in halves.view(np.float16)])
    np.testing.assert_array_equal(found, codes << 8 | codes[::-1])

    body = f"""cvt.u16.u32 %h1, %r0; xor.b16 %h2, %h1, 255; shl.b16 %h2, %h2, 8; or.b16 %h1, %h1, %h2;
        cvt.rn{relu}.f16x2.{name}x2 %r1, %h1; st.global.u32 [%d1], %r1;"""
    found = both(body, 256, compare=False)
    most = FORMATS[name][2]
    table = np.array([np.float16(value(c & 0x7F, name) if c & 0x7F <= most else np.inf) for c in range(256)])
    table = np.where(np.arange(256) > 127, -table, table).view(np.uint16)
    nan = (np.arange(256) & 0x7F) > (0x7C if name == "e5m2" else most)
    table = np.where(nan, 0x7FFF, np.where((np.arange(256) > 127) & bool(relu), 0, table)).astype(np.uint32)
    expected = table[::-1] << 16 | table
    wanted = expected if not relu else np.where(nan, expected & 0xFFFF0000 | 0x7FFF, expected)
    np.testing.assert_array_equal(found, wanted)


def tf32(pattern: int, rnd: str, relu: bool, finite: bool) -> int:
    sign, size = pattern & 0x80000000, pattern & 0x7FFFFFFF
    if size > 0x7F800000:
        return 0x7FFFFFFF
    if relu and sign:
        return 0
    low, kept = size & 0x1FFF, size & ~0x1FFF
    up = {"rz": False, "rna": low >= 0x1000, "rn": low > 0x1000 or (low == 0x1000 and bool(kept & 0x2000))}[rnd]
    size = kept + 0x2000 * up
    return sign | (min(size, 0x7F7FE000) if finite else size)


@pytest.mark.rotates
@pytest.mark.parametrize("form", ["rna", "rna.satfinite", "rn", "rn.relu", "rn.satfinite", "rn.satfinite.relu", "rz",
                                  "rz.relu", "rz.satfinite"])  # fmt: skip
def test_tf32(form: str) -> None:
    tops = [0, 0x00800000, 0x3F800000, 0x3F802000, 0x7F7FE000, 0x7F800000, 0x7FC00000, 0x12346000]
    given = np.array([top + low | sign for top in tops for low in (0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF)
                      for sign in (0, 0x80000000)], np.uint32)  # fmt: skip
    body = f"""ld.param.u64 %d2, [a]; mul.wide.u32 %d4, %r0, 4; add.u64 %d3, %d2, %d4; ld.global.f32 %f1, [%d3];
        cvt.{form}.tf32.f32 %r1, %f1; st.global.u32 [%d1], %r1;"""
    found = both(body, len(given), args=(given,), params=(GIVEN,), compare=False)
    rnd = form.partition(".")[0]
    expected = [tf32(int(x), rnd, "relu" in form, "satfinite" in form) for x in given]
    np.testing.assert_array_equal(found, np.array(expected, np.uint32))


@pytest.mark.parametrize("text", [
    "cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", "cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "cvt.tf32.f32 %r1, %f1;",
    "cvt.rna.relu.tf32.f32 %r1, %f1;", "cvt.rn.f32.e4m3x2 %f1, %h1;", "cvt.rn.satfinite.f16x2.e5m2x2 %r1, %h1;",
    "cvt.rn.satfinite.e5m2x2.f32 %h1, %f1;", "cvt.rn.satfinite.e5m2x2.e4m3x2 %h1, %h2;",
])  # fmt: skip
def test_what_there_is_not(text: str) -> None:
    with pytest.raises(MalformedInput, match="line 11, column 1"):
        import_ptx(kernel(text))
