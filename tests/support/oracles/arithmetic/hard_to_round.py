"""Exact quotients and roots, and the operands that are hardest to round. Shares nothing with the code under test.

Patterns in, patterns out, by `rational`'s formats. Hard operands come from number theory: with P = 2^(p+1), a quotient
A/B is next to a rounding midpoint M/P where A P - M B = N for a small N, that is M = -N / B modulo P; a root next to M
where M^2 - X P = N, that is M a square root of N modulo P.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

from tests.support.oracles.arithmetic.rational import F32, F64, RM, RN, RP, RZ, Format, Value

MODES = {"rn": RN, "rz": RZ, "rm": RM, "rp": RP}
FORMATS = {"f32": F32, "f64": F64}


def divide(fmt: Format, a: int, b: int, mode: int) -> int:
    """a / b of patterns, rounded once; specials as IEEE 754 has them."""
    x, y = fmt.decode(a), fmt.decode(b)
    negative = bool((a ^ b) & fmt.sign)
    infinite: Value = "-inf" if negative else "+inf"
    nothing: Value = "-0" if negative else Fraction(0)
    if "nan" in (x, y):
        return fmt.nan
    if x in ("+inf", "-inf"):
        return fmt.nan if y in ("+inf", "-inf") else fmt.encode(infinite, mode)
    if y in ("+inf", "-inf"):
        return fmt.encode(nothing, mode)
    zero_x, zero_y = (v == "-0" or v == 0 for v in (x, y))
    if zero_y:
        return fmt.nan if zero_x else fmt.encode(infinite, mode)
    if zero_x:
        return fmt.encode(nothing, mode)
    assert isinstance(x, Fraction)
    assert isinstance(y, Fraction)
    return fmt.encode(x / y, mode)


def root(fmt: Format, a: int, mode: int) -> int:
    """sqrt(a) of a pattern, rounded once. An irrational root is replaced by a fraction between it and the next
    number of 300 bits, which rounds alike."""
    x = fmt.decode(a)
    if x == "-0" or x == "+inf":
        return a
    if isinstance(x, str) or x < 0:
        return fmt.nan
    scaled = x * Fraction(4) ** 1200
    assert scaled.denominator == 1
    whole = math.isqrt(scaled.numerator)
    exact = Fraction(whole) if whole * whole == scaled else whole + Fraction(1, 2)
    return fmt.encode(exact / 2**1200, mode)


def flush(fmt: Format, bits: int) -> int:
    """A subnormal as the zero of its sign."""
    return bits if bits & fmt.inf else bits & fmt.sign


def compose(fmt: Format, significand: int, exponent: int, negative: bool = False) -> int:
    """The pattern of significand * 2^exponent, which must be a number of the format."""
    bits = fmt.encode(Fraction(significand) * Fraction(2) ** exponent, RZ)
    assert fmt.decode(bits) == Fraction(significand) * Fraction(2) ** exponent or not significand
    return bits | (fmt.sign if negative else 0)


def specials(fmt: Format) -> list[int]:
    """Zeros, infinities, NaN, the ends of the subnormal and normal ranges, powers of two, ones; both signs."""
    lowest, one = 1 << (fmt.p - 1), fmt.emax << (fmt.p - 1)
    edges = [0, 1, 2, 3, lowest - 1, lowest, lowest + 1, 2 * lowest, one - 1, one, one + 1, 2 * one - 1]
    edges += [fmt.inf - 1, fmt.inf - lowest, fmt.inf - 2 * lowest, fmt.inf - 3 * lowest - 1, fmt.inf, fmt.inf + 1]
    edges += [fmt.nan & (fmt.sign - 1), lowest >> 1, lowest >> 2]
    return [bits | sign for bits in edges for sign in (0, fmt.sign)]


def patterns(fmt: Format, rng: random.Random, count: int) -> list[int]:
    """Random patterns: all exponents alike, mantissas dense, sparse, or nearly all ones."""
    out = []
    for _ in range(count):
        mantissa = rng.getrandbits(fmt.p - 1)
        kind = rng.randrange(4)
        if kind == 0:
            mantissa &= ~((1 << rng.randrange(fmt.p - 1)) - 1)
        elif kind == 1:
            mantissa = (1 << (fmt.p - 1)) - 1 - rng.getrandbits(4)
        elif kind == 2:
            mantissa = rng.getrandbits(3)
        exponent = rng.randrange(2 * fmt.emax + 1)
        out.append(rng.getrandbits(1) * fmt.sign | exponent << (fmt.p - 1) | mantissa)
    return out


def hard_quotients(fmt: Format, rng: random.Random, count: int, bits: int | None = None) -> list[tuple[int, int]]:
    """(A, B) of p bits each, A/B (times a power of two) nearest to a midpoint of numbers of `bits` bits (default p),
    or for an even N next to such a number itself."""
    p, out = fmt.p, []
    size = (bits or p) + 1  # of the midpoint's numerator
    while len(out) < count:
        b = rng.getrandbits(p) | 1 << (p - 1) | 1
        if rng.random() < 0.3:
            b = (1 << p) - 1 - 2 * rng.getrandbits(6)
        n = rng.choice((-1, 1)) * rng.randrange(1, 9)
        below = rng.getrandbits(1)  # quotient below one
        shift = size if below else size - 1
        m = -n * pow(b, -1, 1 << shift) % (1 << shift)
        m = m | 1 << (size - 1) if not below else m
        a, rest = divmod(n + m * b, 1 << shift)
        if rest == 0 and m >> (size - 1) == 1 and a >> (p - 1) == 1:
            out.append((a, b))
    return out


def _square_roots(n: int, bits: int) -> list[int]:
    """All m in 1 .. 2^bits with m^2 = n modulo 2^bits, n = 1 mod 8 (Hensel's lifting)."""
    m = 1
    for k in range(3, bits):
        if (m * m - n) % (1 << (k + 1)):
            m += 1 << (k - 1)
    top = 1 << bits
    return sorted({m % top, -m % top, (m + top // 2) % top, (-m + top // 2) % top})


def hard_roots(fmt: Format) -> list[int]:
    """X of p or p + 1 bits (an even number of powers of two left out) whose root is nearest to a midpoint, as the
    pattern of a number in [1, 4); and those whose root is nearest to a number of the format."""
    out = []
    for size in (fmt.p, fmt.p + 1):  # of the root that is nearly met
        for n in range(-255, 256, 8):
            for unit in (size - 1, size):
                for m in _square_roots(n, unit):
                    m |= 1 << (size - 1) if unit == size - 1 else 0
                    x = m * m - n
                    excess = x.bit_length() - fmt.p
                    if m >> (size - 1) == 1 and x % (1 << excess) == 0:
                        exponent = -2 * (size - 1) + excess
                        out.append(compose(fmt, x >> excess, exponent))
    return sorted(set(out))
