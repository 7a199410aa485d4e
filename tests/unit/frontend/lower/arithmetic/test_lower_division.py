"""PTX div, rcp and sqrt with a rounding, f32 and f64: to the bit, in line and in the library, hardest operands too."""

from __future__ import annotations

import random
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.oracles.arithmetic.hard_to_round import (
    FORMATS,
    MODES,
    compose,
    divide,
    flush,
    hard_quotients,
    hard_roots,
    patterns,
    root,
    specials,
)
from tests.support.oracles.arithmetic.rational import Format
from tests.support.ptx.float_runs import evaluate

TYPES = ("f32", "f64")


def ranges(fmt: Format) -> list[list[int]]:
    """At each exponent where a fast path ends, and next to it, significands of several kinds."""
    ends = (1, 53, 65, 190, 252) if fmt.p == 24 else (1, 54, 513, 1533, 2044)
    exponents = sorted({e + k for e in ends for k in (-3, -2, -1, 0, 1, 2, 3)} & {*range(1, 2 * fmt.emax + 1)})
    top = 1 << (fmt.p - 1)
    rng = random.Random(10)
    return [[e << (fmt.p - 1) | m for m in (0, 1, rng.getrandbits(fmt.p - 1), top - 1)] for e in exponents]


def flat(groups: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(groups))


def quotients(fmt: Format) -> list[tuple[int, int]]:
    """Pairs of specials; random patterns; range ends; quotients next to midpoints of normal and subnormal numbers."""
    rng = random.Random(11)
    edges = specials(fmt)
    out = [(a, b) for a in edges for b in edges]
    wild = patterns(fmt, rng, 500)
    out += zip(wild, wild[250:], strict=False)
    ends = ranges(fmt)
    out += [(rng.choice(x), rng.choice(y) ^ rng.choice((0, fmt.sign))) for x in ends for y in ends]
    for a, b in hard_quotients(fmt, rng, 300):
        exponents = rng.randrange(fmt.emin, fmt.emax - fmt.p), rng.randrange(fmt.emin, fmt.emax - fmt.p)
        out.append((compose(fmt, a, exponents[0]), compose(fmt, b, exponents[1], bool(rng.getrandbits(1)))))
    for bits in [*range(1, fmt.p)] * 6:  # a quotient with `bits` bits before the last place of the subnormals
        ((a, b),) = hard_quotients(fmt, rng, 1, bits)
        shift = fmt.emin - fmt.p + bits + (a < b)
        low = max(fmt.emin - fmt.p + 1, fmt.emin - fmt.p + 1 - shift)
        exponent = rng.randrange(low, min(fmt.emax - fmt.p, fmt.emax - fmt.p - shift) + 1)
        out.append((compose(fmt, a, exponent + shift, bool(rng.getrandbits(1))), compose(fmt, b, exponent)))
    for odd in range(1, 200, 2):  # quotients that are subnormal midpoints exactly
        out.append((odd, compose(fmt, 1, 1 + odd % 4)))
        out.append((compose(fmt, odd, fmt.emin - fmt.p + 3), compose(fmt, 1, 3 + odd % 4)))
        out.append((compose(fmt, 3 * odd, fmt.emin - fmt.p + 1), compose(fmt, 3, 1, bool(odd & 2))))
    return out


def just_below_two(fmt: Format) -> list[tuple[int, int]]:
    """Both significands within 15 units of 2, where the first quotient is off by most of 1.5 units."""
    two = (fmt.emax + 1) << (fmt.p - 1)
    return [(two - j, two - k) for j in range(16) for k in range(16)]


@pytest.mark.rotates("long")
@pytest.mark.parametrize("t", TYPES)
def test_division(t: str) -> None:
    fmt = FORMATS[t]
    pairs = quotients(fmt) + just_below_two(fmt)
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    for mode, found in zip(MODES, evaluate([f"div.{m}.{t} %d, %a, %b;" for m in MODES], t, a, b), strict=True):
        wrong = [
            (hex(x), hex(y), hex(got))
            for x, y, got in zip(a, b, found, strict=True)
            if got != divide(fmt, x, y, MODES[mode])
        ]
        assert not wrong, (mode, wrong[:5])


@pytest.mark.parametrize("t", TYPES)
def test_reciprocal(t: str) -> None:
    fmt = FORMATS[t]
    rng = random.Random(12)
    a = specials(fmt) + flat(ranges(fmt)) + patterns(fmt, rng, 600) + [b for _, b in just_below_two(fmt)[:16]]
    # 1/b next to a midpoint: b times an odd number of p + 1 bits is nearly a power of two
    for n in range(-15, 16, 2):
        for size in (2 * fmt.p, 2 * fmt.p - 1, 2 * fmt.p + 1):
            for d in divisors((1 << size) + n, fmt.p):
                a += [compose(fmt, d, 0), compose(fmt, d, fmt.emax - fmt.p), compose(fmt, d, fmt.emin)]
    one = fmt.emax << (fmt.p - 1)
    text = [f"rcp.{m}.{t} %d, %a;" for m in MODES]
    constant = {"f32": "0f3F800000", "f64": "0d3FF0000000000000"}[t]
    text += [f"div.{m}.{t} %d, {constant}, %a;" for m in MODES]
    results = evaluate(text, t, a)
    for mode, found in zip([*MODES, *MODES], results, strict=True):
        assert found == [divide(fmt, one, x, MODES[mode]) for x in a], mode


def divisors(n: int, bits: int) -> list[int]:
    """Factors of n of exactly `bits` bits, among products of its primes below 10,000 and what is left."""
    primes, rest = [], n
    for p in range(2, 10_000):
        while rest % p == 0:
            primes.append(p)
            rest //= p
    products = {1}
    for p in [*primes, rest]:
        products |= {q * p for q in products}
    return sorted(q for q in products if q.bit_length() == bits)


@pytest.mark.parametrize("t", TYPES)
def test_square_root(t: str) -> None:
    fmt = FORMATS[t]
    rng = random.Random(13)
    a = specials(fmt) + flat(ranges(fmt)) + patterns(fmt, rng, 600)
    for x in hard_roots(fmt):  # [1, 4): there, anywhere, and where remainders begin to be subnormal
        for even in (0, rng.randrange(1 - fmt.emax, fmt.emax - 1) & -2, 2 * rng.randrange(fmt.p) - fmt.emax + 1):
            a.append(x + (even << (fmt.p - 1)))
    a += [k * k for k in range(1, 1 << (fmt.p // 2), (1 << (fmt.p // 2)) // 40)]
    a = [x & (2 * fmt.sign - 1) for x in a]
    for mode, found in zip(MODES, evaluate([f"sqrt.{m}.{t} %d, %a;" for m in MODES], t, a), strict=True):
        wrong = [(hex(x), hex(got)) for x, got in zip(a, found, strict=True) if got != root(fmt, x, MODES[mode])]
        assert not wrong, (mode, wrong[:5])


def test_the_roots_nearest_to_midpoints_of_all() -> None:
    """x = 1 + 2^-52 and 4 - 2^-51, of which the in-line code's error bound says nothing."""
    a = [0x3FF0000000000001, 0x400FFFFFFFFFFFFF]
    ((one, two),) = evaluate(["sqrt.rn.f64 %d, %a;"], "f64", a)
    assert (one, two) == (0x3FF0000000000000, 0x3FFFFFFFFFFFFFFF)


def test_ftz_of_f32_forms() -> None:
    fmt = FORMATS["f32"]
    pairs = quotients(fmt)[::2]
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    one = fmt.emax << (fmt.p - 1)
    text = [f"{op}.{m}.ftz.f32 %d, %a{', %b' if op == 'div' else ''};" for op in ("div", "rcp", "sqrt") for m in MODES]
    results = evaluate(text, "f32", a, b)
    fa, fb = ([flush(fmt, x) for x in source] for source in (a, b))
    for k, mode in enumerate(MODES.values()):
        expected = [flush(fmt, divide(fmt, x, y, mode)) for x, y in zip(fa, fb, strict=True)]
        assert results[k] == expected
        assert results[4 + k] == [flush(fmt, divide(fmt, one, x, mode)) for x in fa]
        assert results[8 + k] == [root(fmt, x, mode) for x in fa]


@settings(max_examples=25)
@given(st.data())
def test_any_patterns(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(TYPES))
    fmt = FORMATS[t]
    pattern = st.integers(0, 2 * fmt.sign - 1)
    pairs = data.draw(st.lists(st.tuples(pattern, pattern), min_size=1, max_size=40))
    a, b = ([p[k] for p in pairs] for k in range(2))
    text = [f"{op}.{m}.{t} %d, %a{', %b' if op == 'div' else ''};" for op in ("div", "sqrt") for m in MODES]
    results = evaluate(text, t, a, b)
    for k, mode in enumerate(MODES.values()):
        assert results[k] == [divide(fmt, x, y, mode) for x, y in pairs]
        assert results[4 + k] == [root(fmt, x, mode) for x in a]


@pytest.mark.parametrize("t", TYPES)
def test_unoptimised_code_and_constants(t: str) -> None:
    """Constant operands leave out their range checks; the destination may be an operand."""
    fmt = FORMATS[t]
    a = specials(fmt) + flat(ranges(fmt)[::3])
    letter, digits = {"f32": ("0f", 8), "f64": ("0d", 16)}[t]
    three, tiny = compose(fmt, 3, 0), compose(fmt, 3, fmt.emin - 1)
    spelled = [f"{letter}{x:0{digits}X}" for x in (three, tiny)]
    text = [f"div.rn.{t} %d, %a, {spelled[0]};", f"div.rn.{t} %d, {spelled[0]}, %a;"]
    text += [f"div.rn.{t} %d, %a, {spelled[1]};"]
    text += [f"mov.{t} %d, %a; div.rn.{t} %d, {spelled[0]}, %d;", f"mov.{t} %d, %a; sqrt.rn.{t} %d, %d;"]
    text += [f"mov.{t} %d, %a; setp.lt.{t} %p1, %a, {spelled[0]}; @%p1 rcp.rn.{t} %d, %d;"]
    for optimised in (True, False):
        by_three, three_by, by_tiny, in_place, roots, guarded = evaluate(text, t, a, optimised=optimised)
        assert by_three == [divide(fmt, x, three, 0) for x in a]
        assert three_by == in_place == [divide(fmt, three, x, 0) for x in a]
        assert by_tiny == [divide(fmt, x, tiny, 0) for x in a]
        assert roots == [root(fmt, x, 0) for x in a]
        one = fmt.emax << (fmt.p - 1)
        values = [fmt.decode(x) for x in a]
        less = [v in ("-inf", "-0") if isinstance(v, str) else v < 3 for v in values]
        assert guarded == [divide(fmt, one, x, 0) if p else x for x, p in zip(a, less, strict=True)]
