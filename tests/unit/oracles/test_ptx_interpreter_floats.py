"""The PTX interpreter's floating point against exact fractions."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracles.arithmetic import rational
from tests.support.ptx.interpreter.arithmetic.operations import evaluate

MODES = {"rn": rational.RN, "rm": rational.RM, "rp": rational.RP, "rz": rational.RZ}
FORMATS = {"f32": rational.F32, "f64": rational.F64}
UINT = {"f32": np.uint32, "f64": np.uint64}


def special_patterns(t: str) -> list[int]:
    f = FORMATS[t]
    one = ((1 << (f.width - f.p - 1)) - 1) << (f.p - 1)
    low = [0, 1, 2, (1 << (f.p - 1)) - 1, 1 << (f.p - 1), one - 1, one, one + 1, f.inf - 1, f.inf, f.nan, f.inf | 1]
    return low + [x | f.sign for x in low]


def patterns(t: str) -> st.SearchStrategy[int]:
    f = FORMATS[t]
    near_one = st.integers(-(1 << (f.p + 4)), 1 << (f.p + 4)).map(lambda d: special_patterns(t)[6] + d)
    return st.one_of(st.sampled_from(special_patterns(t)), st.integers(0, (1 << f.width) - 1), near_one)


def triples(t: str) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    return st.lists(st.tuples(*[patterns(t)] * 3), min_size=1, max_size=8)


def run(text: str, t: str, *columns: tuple[int, ...]) -> list[int]:
    result = evaluate(text, *[np.array(c, dtype=UINT[t]) for c in columns])
    return result.view(UINT[t] if result.dtype.kind == "f" else result.dtype).tolist()


def is_special(x: rational.Value) -> bool:
    return isinstance(x, str) and x != "-0"


def fraction(x: rational.Value) -> Fraction:
    return Fraction(0) if x == "-0" else x  # type: ignore[return-value]


def number(bits: int, t: str) -> float:
    return struct.unpack("<f" if t == "f32" else "<d", bits.to_bytes(FORMATS[t].width // 8, "little"))[0]


def expected_fma(a: int, b: int, c: int, t: str, mode: str) -> int:
    """a * b + c: specials by Python's floats (whose infinities and NaN are IEEE's), the rest by fractions."""
    f = FORMATS[t]
    values = [f.decode(x) for x in (a, b, c)]
    if any(is_special(v) for v in values):
        # Finite factors are reduced to their signs, so that nothing overflows on the way.
        x, y, z = (
            number(p, t) if is_special(v) else (number(p, t) > 0) - (number(p, t) < 0)
            for p, v in zip((a, b, c), values, strict=True)
        )
        product = float("nan") if (x == 0 and y in (float("inf"), -float("inf"))) else x * y
        product = float("nan") if (y == 0 and x in (float("inf"), -float("inf"))) else product
        total = product + z
        if total != total:
            return f.nan
        return f.inf | (f.sign if total < 0 else 0)
    exact = fraction(values[0]) * fraction(values[1]) + fraction(values[2])
    if exact == 0:
        product_sign, sign = (a ^ b) & f.sign, c & f.sign
        zero = fraction(values[2]) == 0
        if zero and product_sign == sign:
            return sign
        return f.sign if mode == "rm" else 0
    return f.encode(exact, MODES[mode])


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_fma_rounds_once(t: str, mode: str) -> None:
    @settings(max_examples=50, derandomize=True)
    @given(triples(t))
    def check(rows: list[tuple[int, int, int]]) -> None:
        found = run(f"fma.{mode}.{t}", t, *zip(*rows, strict=True))
        assert found == [expected_fma(*row, t, mode) for row in rows]

    check()


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_fma_of_all_specials(t: str, mode: str) -> None:
    points = special_patterns(t)
    rows = [(a, b, c) for a in points for b in points for c in points[::3]]
    assert run(f"fma.{mode}.{t}", t, *zip(*rows, strict=True)) == [expected_fma(*row, t, mode) for row in rows]


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_add_sub_mul_are_cases_of_fma(t: str, mode: str) -> None:
    f = FORMATS[t]
    one = special_patterns(t)[6]

    @settings(max_examples=50, derandomize=True)
    @given(triples(t))
    def check(rows: list[tuple[int, int, int]]) -> None:
        a, b, _ = zip(*rows, strict=True)
        assert run(f"add.{mode}.{t}", t, a, b) == [expected_fma(x, one, y, t, mode) for x, y, _ in rows]
        minus = [x if (x & (f.sign - 1)) > f.inf else x ^ f.sign for x in b]
        assert run(f"sub.{mode}.{t}", t, a, b) == [
            expected_fma(x, one, y, t, mode) for x, y in zip(a, minus, strict=True)
        ]
        zero = [(x ^ y) & f.sign for x, y in zip(a, b, strict=True)]
        assert run(f"mul.{mode}.{t}", t, a, b) == [
            expected_fma(x, y, z, t, mode) for x, y, z in zip(a, b, zero, strict=True)
        ]

    check()


def expected_div(a: int, b: int, t: str, mode: str) -> int:
    f = FORMATS[t]
    x, y = f.decode(a), f.decode(b)
    sign = (a ^ b) & f.sign
    if "nan" in (x, y):
        return f.nan
    if is_special(x):
        return f.nan if is_special(y) else sign | f.inf
    if is_special(y):
        return sign
    if fraction(y) == 0:
        return f.nan if fraction(x) == 0 else sign | f.inf
    quotient = fraction(x) / fraction(y)
    return f.encode(quotient, MODES[mode]) if quotient else sign


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_division_and_reciprocal(t: str, mode: str) -> None:
    one = special_patterns(t)[6]

    @settings(max_examples=50, derandomize=True)
    @given(triples(t))
    def check(rows: list[tuple[int, int, int]]) -> None:
        a, b, _ = zip(*rows, strict=True)
        assert run(f"div.{mode}.{t}", t, a, b) == [expected_div(x, y, t, mode) for x, y, _ in rows]
        assert run(f"rcp.{mode}.{t}", t, a) == [expected_div(one, x, t, mode) for x in a]

    check()


def expected_sqrt(a: int, t: str, mode: str) -> int:
    f = FORMATS[t]
    x = f.decode(a)
    if x == "nan" or x == "-inf" or (not is_special(x) and fraction(x) < 0):
        return f.nan
    if is_special(x) or fraction(x) == 0:
        return a
    # A rational within 2^-400 of the root, on the right side of it, rounds as the root does.
    value = fraction(x)
    scale = 1 << 1600
    root = isqrt(value.numerator * scale * scale // value.denominator)
    exact = Fraction(root, scale)
    if exact * exact != value:
        exact += Fraction(1, 2 * scale)
    return f.encode(exact, MODES[mode])


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_square_root(t: str, mode: str) -> None:
    @settings(max_examples=40, derandomize=True)
    @given(triples(t))
    def check(rows: list[tuple[int, int, int]]) -> None:
        a = [x for row in rows for x in row]
        assert run(f"sqrt.{mode}.{t}", t, tuple(a)) == [expected_sqrt(x, t, mode) for x in a]

    check()


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
def test_f64_to_f32(mode: str) -> None:
    @settings(max_examples=80, derandomize=True)
    @given(st.lists(st.one_of(patterns("f64"), patterns("f32").map(lambda x: _widen(x) ^ 1)), min_size=1, max_size=8))
    def check(values: list[int]) -> None:
        result = evaluate(f"cvt.{mode}.f32.f64", np.array(values, dtype=np.uint64)).view(np.uint32).tolist()
        for a, found in zip(values, result, strict=True):
            x = rational.F64.decode(a)
            sign = (a >> 63) << 31
            expected = rational.F32.encode(x, MODES[mode]) if is_special(x) or fraction(x) else sign
            assert found == (expected | (sign if expected == 0 else 0))

    check()


def _widen(bits: int) -> int:
    return int.from_bytes(struct.pack("<d", number(bits, "f32")), "little")


def test_f32_to_f64_is_exact_and_nan_is_canonical() -> None:
    points = special_patterns("f32")
    found = evaluate("cvt.f64.f32", np.array(points, dtype=np.uint32)).view(np.uint64).tolist()
    for a, b in zip(points, found, strict=True):
        x = rational.F32.decode(a)
        assert b == (rational.F64.nan if x == "nan" else _widen(a))


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("target", ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_float_to_integer(t: str, target: str, mode: str) -> None:
    f = FORMATS[t]
    width, signed = int(target[1:]), target[0] == "s"
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    edges = [float(low), float(high), high + 1.0, low - 1.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 1e30, -1e30]
    edge_bits = [int.from_bytes(struct.pack("<f" if t == "f32" else "<d", e), "little") for e in edges]
    values = special_patterns(t) + [e + d for e in edge_bits for d in (-1, 0, 1) if e + d >= 0]
    found = evaluate(f"cvt.{mode}.{target}.{t}", np.array(values, dtype=UINT[t])).tolist()
    for a, got in zip(values, found, strict=True):
        x = f.decode(a)
        if x == "nan":
            of_nan = 1 << (width - 1) if t == "f64" or width == 64 else 0
            assert got & ((1 << width) - 1) == of_nan
            continue
        if is_special(x):
            expected = high if x == "+inf" else low
        else:
            v = fraction(x)
            floor = v.numerator // v.denominator
            rounded = {
                "rni": round(v),
                "rmi": floor,
                "rpi": -(-v.numerator // v.denominator),
                "rzi": floor if v >= 0 else -(-v.numerator // v.denominator),
            }[mode]
            expected = min(max(rounded, low), high)
        assert got == expected, (hex(a), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_integer_to_float(t: str, source: str, mode: str) -> None:
    width, signed = int(source[1:]), source[0] == "s"
    dtype = np.dtype(f"{'i' if signed else 'u'}{width // 8}")
    rng = np.random.default_rng(5)
    values = rng.integers(0, 1 << 64, 200, dtype=np.uint64) >> rng.integers(0, 64, 200).astype(np.uint64)
    edges = [0, 1, 2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 2**63 - 1, 2**63, 2**64 - 1, 2**31 - 1, 2**31, 2**40 + 1]
    data = np.concatenate([values, np.array(edges, dtype=np.uint64)]).astype(dtype)
    found = evaluate(f"cvt.{mode}.{t}.{source}", data).view(UINT[t]).tolist()
    assert found == [FORMATS[t].encode(Fraction(v), MODES[mode]) if v else 0 for v in data.tolist()]


def test_integral_rounding_keeps_the_sign_of_zero() -> None:
    values = np.array([-0.25, 0.25, -0.5, 1.5, 2.5, -1.5, np.inf, -2.7], dtype=np.float32)
    assert evaluate("cvt.rni.f32.f32", values).tolist() == [0, 0, 0, 2, 2, -2, np.inf, -3]
    assert np.signbit(evaluate("cvt.rni.f32.f32", values)).tolist() == [
        True,
        False,
        True,
        False,
        False,
        True,
        False,
        True,
    ]
    assert evaluate("cvt.rzi.f32.f32", values).tolist() == [0, 0, 0, 1, 2, -1, np.inf, -2]
    assert evaluate("cvt.rmi.f32.f32", values).tolist() == [-1, 0, -1, 1, 2, -2, np.inf, -3]
    assert evaluate("cvt.rpi.f32.f32", values).tolist() == [0, 1, 0, 2, 3, -1, np.inf, -2]


def bits32(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def test_flush_to_zero_of_operands_and_results() -> None:
    tiny, least = 0x007FFFFF, 0x00800000
    assert evaluate("add.ftz.f32", bits32(tiny, tiny | 1 << 31), bits32(0, 1 << 31)).view(np.uint32).tolist() == [
        0,
        1 << 31,
    ]
    half = 0x3F000000
    assert evaluate("mul.f32", bits32(least), bits32(half)).view(np.uint32).tolist() == [0x00400000]
    assert evaluate("mul.ftz.f32", bits32(least), bits32(half)).view(np.uint32).tolist() == [0]
    assert evaluate("abs.ftz.f32", bits32(tiny | 1 << 31)).view(np.uint32).tolist() == [0]
    assert evaluate("neg.ftz.f32", bits32(tiny)).view(np.uint32).tolist() == [1 << 31]
    assert evaluate("setp.gt.ftz.f32", bits32(tiny), bits32(0)).tolist() == [False]
    assert evaluate("setp.gt.f32", bits32(tiny), bits32(0)).tolist() == [True]
    assert evaluate("cvt.ftz.f64.f32", bits32(tiny | 1 << 31)).view(np.uint64).tolist() == [1 << 63]
    assert evaluate("cvt.ftz.rpi.s32.f32", bits32(tiny)).tolist() == [0]
    assert evaluate("cvt.rpi.s32.f32", bits32(tiny)).tolist() == [1]


def test_saturation() -> None:
    values = np.array([-1.0, -0.0, 0.25, 1.0, 1.5, np.inf, -np.inf, np.nan], dtype=np.float32)
    found = evaluate("cvt.sat.f32.f32", values)
    assert (
        found.view(np.uint32).tolist()
        == np.array([0, 0, 0.25, 1, 1, 1, 0, 0], dtype=np.float32).view(np.uint32).tolist()
    )
    assert evaluate("add.sat.f32", values, values).tolist() == [0, 0, 0.5, 1, 1, 1, 0, 0]


def test_min_max_nan_and_zeros() -> None:
    nan, inf = 0x7FC12345, 0x7F800000
    a, b = bits32(nan, 0x3F800000, nan, 1 << 31, 0, inf), bits32(0x40000000, nan, nan, 0, 1 << 31, 0xFF800000)
    assert evaluate("min.f32", a, b).view(np.uint32).tolist() == [
        0x40000000,
        0x3F800000,
        0x7FFFFFFF,
        1 << 31,
        1 << 31,
        0xFF800000,
    ]
    assert evaluate("max.f32", a, b).view(np.uint32).tolist() == [0x40000000, 0x3F800000, 0x7FFFFFFF, 0, 0, inf]
    assert evaluate("max.NaN.f32", a, b).view(np.uint32).tolist() == [0x7FFFFFFF] * 3 + [0, 0, inf]


def test_copysign_takes_the_sign_of_its_first_operand() -> None:
    assert evaluate("copysign.f32", bits32(1 << 31, 0), bits32(0x3F800000, 0xBF800000)).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("how", "less", "equal", "greater", "unordered"),
    [
        ("eq", 0, 1, 0, 0), ("ne", 1, 0, 1, 0), ("lt", 1, 0, 0, 0), ("le", 1, 1, 0, 0), ("gt", 0, 0, 1, 0),
        ("ge", 0, 1, 1, 0), ("equ", 0, 1, 0, 1), ("neu", 1, 0, 1, 1), ("ltu", 1, 0, 0, 1), ("leu", 1, 1, 0, 1),
        ("gtu", 0, 0, 1, 1), ("geu", 0, 1, 1, 1), ("num", 1, 1, 1, 0), ("nan", 0, 0, 0, 1),
    ],
)  # fmt: skip
def test_float_comparisons(how: str, less: int, equal: int, greater: int, unordered: int) -> None:
    nan = np.nan
    for t in ("f32", "f64"):
        dtype = np.dtype(f"f{FORMATS[t].width // 8}")
        a = np.array([1, -0.0, 3, nan, 1, nan], dtype=dtype)
        b = np.array([2, 0.0, -np.inf, 1, nan, nan], dtype=dtype)
        expected = [bool(x) for x in (less, equal, greater, unordered, unordered, unordered)]
        assert evaluate(f"setp.{how}.{t}", a, b).tolist() == expected


def test_testp() -> None:
    a = bits32(0, 1, 0x00800000, 0x3F800000, 0x7F800000, 0xFF800001)
    answers = {
        "finite": [1, 1, 1, 1, 0, 0], "infinite": [0, 0, 0, 0, 1, 0], "number": [1, 1, 1, 1, 1, 0],
        "notanumber": [0, 0, 0, 0, 0, 1], "normal": [0, 0, 1, 1, 0, 0], "subnormal": [0, 1, 0, 0, 0, 0],
    }  # fmt: skip
    for name, expected in answers.items():
        assert evaluate(f"testp.{name}.f32", a).tolist() == [bool(x) for x in expected], name


def test_approximations_are_those_of_the_function() -> None:
    x = np.array([0.25, 1.0, 2.0, 3.0, 10.0], dtype=np.float32)
    for name, function in {
        "ex2": np.exp2,
        "lg2": np.log2,
        "sin": np.sin,
        "cos": np.cos,
        "tanh": np.tanh,
        "sqrt": np.sqrt,
        "rsqrt": lambda v: 1 / np.sqrt(v),
        "rcp": lambda v: 1 / v,
    }.items():
        assert evaluate(f"{name}.approx.f32", x).tolist() == function(x.astype(np.float64)).astype(np.float32).tolist()
    zero, inf = np.array([0.0, -0.0], dtype=np.float32), np.inf
    assert evaluate("rcp.approx.f32", zero).tolist() == [inf, -inf]
    assert evaluate("rsqrt.approx.f32", zero).tolist() == [inf, -inf]
    assert evaluate("lg2.approx.f32", zero).tolist() == [-inf, -inf]
    assert np.isnan(evaluate("rsqrt.approx.f32", -x)).all()
    huge = np.array([2.0**127], dtype=np.float32)
    assert evaluate("div.approx.f32", huge, huge).tolist() == [0.0]
    assert evaluate("div.full.f32", huge, huge).tolist() == [1.0]
    assert evaluate("div.approx.f32", x, np.full(5, 4, np.float32)).tolist() == (x / 4).tolist()
