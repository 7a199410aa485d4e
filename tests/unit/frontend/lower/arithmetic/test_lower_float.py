"""PTX add, sub, mul, fma, min, max, neg, abs, copysign and testp on f32 and f64: to the bit, in every rounding."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from tests.support.oracles.arithmetic.hard_to_round import FORMATS, MODES, flush, patterns, specials
from tests.support.oracles.arithmetic.rational import Format, add, fma, multiply
from tests.support.ptx.float_runs import evaluate

ROUNDINGS = ("", ".rn", ".rz", ".rm", ".rp")
Operation = Callable[[Format, int, int, int], int]


def mode_of(rounding: str) -> int:
    return MODES[rounding[1:] or "rn"]


def exact_add(fmt: Format, a: int, b: int, mode: int) -> int:
    return fmt.encode(add(fmt.decode(a), fmt.decode(b), mode), mode)


def exact_sub(fmt: Format, a: int, b: int, mode: int) -> int:
    return exact_add(fmt, a, b ^ fmt.sign, mode)


def exact_mul(fmt: Format, a: int, b: int, mode: int) -> int:
    return fmt.encode(multiply(fmt.decode(a), fmt.decode(b)), mode)


def saturated(fmt: Format, bits: int) -> int:
    one = fmt.emax << (fmt.p - 1)
    if fmt.decode(bits) == "nan" or bits & fmt.sign:
        return 0
    return min(bits, one)


OPERATIONS: dict[str, Operation] = {"add": exact_add, "sub": exact_sub, "mul": exact_mul}


def operands(fmt: Format, seed: int) -> tuple[list[int], list[int]]:
    """Specials with one another, random patterns, and pairs of like magnitude, whose sums cancel and round."""
    rng = random.Random(seed)
    edges = specials(fmt)
    pairs = [(a, b) for a in edges for b in edges[seed % 3 :: 3]]
    wild = patterns(fmt, rng, 400)
    pairs += list(zip(wild, wild[200:], strict=False))
    for a in wild[:200]:
        near = (a + (rng.randrange(-3, 4) << (fmt.p - 1))) & (2 * fmt.sign - 1)
        pairs.append((a, near ^ rng.getrandbits(fmt.p - 1)))
    return [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.rotates
@pytest.mark.parametrize("t", ["f32", "f64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_sums_and_products_round_once(op: str, t: str) -> None:
    fmt = FORMATS[t]
    a, b = operands(fmt, 1)
    results = evaluate([f"{op}{r}.{t} %d, %a, %b;" for r in ROUNDINGS], t, a, b)
    for rounding, found in zip(ROUNDINGS, results, strict=True):
        expected = [OPERATIONS[op](fmt, x, y, mode_of(rounding)) for x, y in zip(a, b, strict=True)]
        assert found == expected, rounding


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_ftz_and_sat(op: str) -> None:
    fmt = FORMATS["f32"]
    a, b = operands(fmt, 2)
    forms = [(r, ftz, sat) for r in (".rn", ".rp") for ftz in ("", ".ftz") for sat in ("", ".sat")]
    results = evaluate([f"{op}{''.join(form)}.f32 %d, %a, %b;" for form in forms], "f32", a, b)
    for (rounding, ftz, sat), found in zip(forms, results, strict=True):
        for x, y, got in zip(a, b, found, strict=True):
            if ftz:
                x, y = flush(fmt, x), flush(fmt, y)
            expected = OPERATIONS[op](fmt, x, y, mode_of(rounding))
            expected = flush(fmt, expected) if ftz else expected
            assert got == (saturated(fmt, expected) if sat else expected), (rounding, ftz, sat, hex(x), hex(y))


@pytest.mark.rotates
@pytest.mark.parametrize("t", ["f32", "f64"])
@pytest.mark.parametrize("op", ["fma", "mad"])
def test_fma_is_fused(op: str, t: str) -> None:
    fmt = FORMATS[t]
    rng = random.Random(3)
    a, b = operands(fmt, 4)
    c = []
    for x, y in zip(a, b, strict=True):  # a sum that cancels the product, or decides a tie of it
        product = exact_mul(fmt, x, y, rng.randrange(4))
        smaller = product - (rng.randrange(70) << (fmt.p - 1))
        c.append(rng.choice((product ^ fmt.sign, smaller, rng.choice(specials(fmt)))))
    c = [value & (2 * fmt.sign - 1) for value in c]
    results = evaluate([f"{op}{r}.{t} %d, %a, %b, %c;" for r in ROUNDINGS[1:]], t, a, b, c)
    for rounding, found in zip(ROUNDINGS[1:], results, strict=True):
        assert found == [fma(fmt, *v, mode_of(rounding)) for v in zip(a, b, c, strict=True)], rounding


def test_fma_ftz_and_sat() -> None:
    fmt = FORMATS["f32"]
    a, b = operands(fmt, 5)
    c = [exact_mul(fmt, x, y, 0) ^ 0x80000001 for x, y in zip(a, b, strict=True)]
    plain, both = evaluate(["fma.rm.ftz.f32 %d, %a, %b, %c;", "fma.rn.ftz.sat.f32 %d, %a, %b, %c;"], "f32", a, b, c)
    for x, y, z, one, two in zip(a, b, c, plain, both, strict=True):
        flushed = [flush(fmt, v) for v in (x, y, z)]
        assert one == flush(fmt, fma(fmt, *flushed, MODES["rm"]))
        assert two == saturated(fmt, flush(fmt, fma(fmt, *flushed, MODES["rn"])))


@settings(max_examples=25)
@given(st.data())
def test_any_patterns(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(["f32", "f64"]))
    fmt = FORMATS[t]
    pattern = st.integers(0, 2 * fmt.sign - 1)
    triples = data.draw(st.lists(st.tuples(pattern, pattern, pattern), min_size=1, max_size=40))
    a, b, c = ([v[k] for v in triples] for k in range(3))
    text = [f"{op}{r}.{t} %d, %a, %b;" for op in OPERATIONS for r in ROUNDINGS]
    text += [f"fma{r}.{t} %d, %a, %b, %c;" for r in ROUNDINGS[1:]]
    results = iter(evaluate(text, t, a, b, c))
    for op in OPERATIONS.values():
        for rounding in ROUNDINGS:
            assert next(results) == [op(fmt, x, y, mode_of(rounding)) for x, y in zip(a, b, strict=True)]
    for rounding in ROUNDINGS[1:]:
        assert next(results) == [fma(fmt, *v, mode_of(rounding)) for v in triples]


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_signs_and_order(t: str) -> None:
    fmt = FORMATS[t]
    a, b = operands(fmt, 6)
    text = [f"{op}.{t} %d, %a;" for op in ("neg", "abs")]
    text += [f"{op}.{t} %d, %a, %b;" for op in ("copysign", "min", "max")]
    negated, absolute, copied, least, most = evaluate(text, t, a, b)
    assert negated == [x ^ fmt.sign for x in a]
    assert absolute == [x & ~fmt.sign for x in a]
    assert copied == [(x & fmt.sign) | (y & ~fmt.sign) for x, y in zip(a, b, strict=True)]
    assert least == [ordered(fmt, x, y, larger=False) for x, y in zip(a, b, strict=True)]
    assert most == [ordered(fmt, x, y, larger=True) for x, y in zip(a, b, strict=True)]


def ordered(fmt: Format, a: int, b: int, *, larger: bool) -> int:
    """minNum, maxNum with -0 below +0."""
    unordered = [fmt.decode(v) == "nan" for v in (a, b)]
    if any(unordered):
        return fmt.nan if all(unordered) else (b if unordered[0] else a)
    key = {v: (-(v & ~fmt.sign) - 1 if v & fmt.sign else v) for v in (a, b)}
    return max(a, b, key=key.__getitem__) if larger else min(a, b, key=key.__getitem__)


def test_ftz_of_signs_and_order() -> None:
    fmt = FORMATS["f32"]
    a, b = operands(fmt, 7)
    forms = ("neg.ftz", "abs.ftz", "min.ftz", "max.ftz", "min.NaN", "max.ftz.NaN")
    results = evaluate([f"{f}.f32 %d, %a{', %b' if f[0] == 'm' else ''};" for f in forms], "f32", a, b)
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        negated, absolute, least, most, least_nan, most_nan = (r[k] for r in results)
        fx, fy = flush(fmt, x), flush(fmt, y)
        if fmt.decode(x) != "nan":
            assert (negated, absolute) == (fx ^ fmt.sign, fx & ~fmt.sign)
        else:
            assert fmt.decode(negated) == fmt.decode(absolute) == "nan"
        assert (least, most) == (ordered(fmt, fx, fy, larger=False), ordered(fmt, fx, fy, larger=True))
        if "nan" in (fmt.decode(x), fmt.decode(y)):
            assert least_nan == most_nan == fmt.nan
        else:
            assert (least_nan, most_nan) == (ordered(fmt, x, y, larger=False), most)


def classes(fmt: Format, bits: int) -> dict[str, bool]:
    magnitude, value, lowest = bits & ~fmt.sign, fmt.decode(bits), 1 << (fmt.p - 1)
    return {
        "finite": magnitude < fmt.inf,
        "infinite": magnitude == fmt.inf,
        "number": value != "nan",
        "notanumber": value == "nan",
        "normal": lowest <= magnitude < fmt.inf,
        "subnormal": 0 < magnitude < lowest,
    }


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_testp(t: str) -> None:
    fmt = FORMATS[t]
    a = specials(fmt) + patterns(fmt, random.Random(8), 200)
    if t == "f64":  # what the low word alone decides
        a += [1 << 32, 0x7FF0000000000001, 0xFFF0000080000000, 0x80000000, 0xFFFFFFFF]
    asked = list(classes(fmt, 0))
    constants = {"f32": ("0f3F800000", "0f00000000"), "f64": ("0d3FF0000000000000", "0d0000000000000000")}[t]
    text = [f"testp.{q}.{t} %p1, %a; mov.{t} %d, {constants[1]}; @%p1 mov.{t} %d, {constants[0]};" for q in asked]
    for question, found in zip(asked, evaluate(text, t, a), strict=True):
        assert [v != 0 for v in found] == [classes(fmt, x)[question] for x in a], question


def test_constants_and_a_destination_that_is_a_source() -> None:
    fmt = FORMATS["f32"]
    a = specials(fmt)
    text = [
        "sub.f32 %d, 0f3F800000, %a;",
        "fma.rn.f32 %d, 0f40400000, %a, 0fBF800000;",
        "mov.f32 %d, %a; fma.rn.f32 %d, %d, %d, %d;",
        "mov.f32 %d, %a; add.f32 %d, 0f80000000, %d;",
        "setp.lt.f32 %p1, %a, 0f00000000; mov.f32 %d, %a; @%p1 mul.f32 %d, %d, 0f40000000;",
    ]
    first, second, third, fourth, fifth = evaluate(text, "f32", a)
    one, three, minus_one, two = 0x3F800000, 0x40400000, 0xBF800000, 0x40000000
    assert first == [exact_sub(fmt, one, x, 0) for x in a]
    assert second == [fma(fmt, three, x, minus_one, 0) for x in a]
    assert third == [fma(fmt, x, x, x, 0) for x in a]
    assert fourth == [exact_add(fmt, fmt.sign, x, 0) for x in a]
    negative = [fmt.decode(x) in ("-inf",) or (not isinstance(v := fmt.decode(x), str) and v < 0) for x in a]
    assert fifth == [exact_mul(fmt, two, x, 0) if less else x for x, less in zip(a, negative, strict=True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fma.f32 %d, %a, %b, %c;", "needs a rounding"),
        ("mad.f32 %d, %a, %b, %c;", "needs a rounding"),
        ("add.rni.f32 %d, %a, %b;", "rni"),
        ("add.f32 %d, %a;", "operands"),
        ("div.f32 %d, %a, %b;", "needs a rounding"),
        ("sin.f32 %d, %a;", "approx"),
        ("add.f32 %d, %a, %q1;", ".b64"),
        ("testp.f32 %p1, %a;", "testp"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MalformedInput, match=reason) as caught:
        evaluate([text], "f32", [0], [0], [0])
    assert "line 25, column 5" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["add.ftz.f64 %d, %a, %b;", "rcp.rn.ftz.f64 %d, %a;", "rcp.approx.f64 %d, %a;", "mul.sat.f64 %d, %a, %b;"]
)
def test_what_f64_refuses(text: str) -> None:
    with pytest.raises(MalformedInput):
        evaluate([text], "f64", [0], [0])
