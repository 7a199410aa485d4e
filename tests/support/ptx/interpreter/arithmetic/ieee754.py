"""IEEE 754 arithmetic on bit patterns by unbounded integers, one value at a time.

A finite pattern is taken apart into (sign, m, e) with value (-1)^sign * m * 2^e; every operation forms its exact result
(division and square root: with a sticky bit) and rounds it once in `pack`. NaN results are canonical.
"""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

RN, RZ, RM, RP = "rn", "rz", "rm", "rp"


class Format(NamedTuple):
    """An interchange format: width in bits, precision, exponent of the smallest subnormal, the canonical NaN."""

    width: int
    precision: int
    least: int
    nan: int

    @property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        return ((1 << (self.width - self.precision)) - 1) << (self.precision - 1)


F32 = Format(32, 24, -149, 0x7FFFFFFF)
F64 = Format(64, 53, -1074, 0x7FF8000000000000)


def is_nan(x: int, f: Format) -> bool:
    return x & (f.sign_bit - 1) > f.infinity


def is_inf(x: int, f: Format) -> bool:
    return x & (f.sign_bit - 1) == f.infinity


def unpack(x: int, f: Format) -> tuple[int, int, int]:
    """(sign, m, e) of a finite pattern; m is 0 for zeros."""
    field = (x & (f.sign_bit - 1)) >> (f.precision - 1)
    m = x & ((1 << (f.precision - 1)) - 1)
    if field:
        return x >> (f.width - 1), m | 1 << (f.precision - 1), field - 1 + f.least
    return x >> (f.width - 1), m, f.least


def round_bits(sign: int, m: int, shift: int, mode: str) -> int:
    """m / 2^shift rounded to an integer magnitude; sign says which way rm and rp go."""
    if shift <= 0:
        return m << -shift
    q, rest = m >> shift, m & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    if mode == RN:
        up = rest > half or (rest == half and q & 1 == 1)
    else:
        up = rest != 0 and mode == (RM if sign else RP)
    return q + up


def pack(sign: int, m: int, e: int, f: Format, mode: str) -> int:
    """The pattern of (-1)^sign * m * 2^e rounded once; m = 0 gives the zero of that sign."""
    s = f.sign_bit if sign else 0
    if m == 0:
        return s
    low = max(e + m.bit_length() - f.precision, f.least)
    q = round_bits(sign, m, low - e, mode)
    if q.bit_length() > f.precision:
        q, low = q >> 1, low + 1
    if q.bit_length() < f.precision:
        return s | q
    bits = ((low - f.least + 1) << (f.precision - 1)) | (q & ((1 << (f.precision - 1)) - 1))
    if bits < f.infinity:
        return s | bits
    to_infinity = mode == RN or mode == (RM if sign else RP)
    return s | (f.infinity if to_infinity else f.infinity - 1)


def exact_sum(x: tuple[int, int, int], y: tuple[int, int, int], f: Format, mode: str) -> int:
    """x + y of two exact finite values, rounded once; zero sums by IEEE 754 section 6.3."""
    (sx, mx, ex), (sy, my, ey) = x, y
    e = min(ex, ey)
    total = (-mx if sx else mx) * (1 << (ex - e)) + (-my if sy else my) * (1 << (ey - e))
    if total == 0:
        sign = sx if sx == sy and mx == my == 0 else int(mode == RM)
        return pack(sign, 0, 0, f, mode)
    return pack(int(total < 0), abs(total), e, f, mode)


def add(a: int, b: int, f: Format, mode: str) -> int:
    if is_nan(a, f) or is_nan(b, f):
        return f.nan
    if is_inf(a, f) or is_inf(b, f):
        if is_inf(a, f) and is_inf(b, f):
            return a if a == b else f.nan
        return a if is_inf(a, f) else b
    return exact_sum(unpack(a, f), unpack(b, f), f, mode)


def mul(a: int, b: int, f: Format, mode: str) -> int:
    if is_nan(a, f) or is_nan(b, f):
        return f.nan
    sign = (a ^ b) & f.sign_bit
    zero = f.sign_bit - 1
    if is_inf(a, f) or is_inf(b, f):
        return f.nan if a & zero == 0 or b & zero == 0 else sign | f.infinity
    (_, ma, ea), (_, mb, eb) = unpack(a, f), unpack(b, f)
    return pack(int(sign != 0), ma * mb, ea + eb, f, mode)


def fma(a: int, b: int, c: int, f: Format, mode: str) -> int:
    if is_nan(a, f) or is_nan(b, f) or is_nan(c, f):
        return f.nan
    zero = f.sign_bit - 1
    if is_inf(a, f) or is_inf(b, f):
        product = f.nan if a & zero == 0 or b & zero == 0 else ((a ^ b) & f.sign_bit) | f.infinity
        return add(product, c, f, mode)
    if is_inf(c, f):
        return c
    (sa, ma, ea), (sb, mb, eb) = unpack(a, f), unpack(b, f)
    return exact_sum((sa ^ sb, ma * mb, ea + eb), unpack(c, f), f, mode)


def div(a: int, b: int, f: Format, mode: str) -> int:
    if is_nan(a, f) or is_nan(b, f):
        return f.nan
    sign = (a ^ b) & f.sign_bit
    zero = f.sign_bit - 1
    if is_inf(a, f) or is_inf(b, f):
        if is_inf(a, f) and is_inf(b, f):
            return f.nan
        return sign | f.infinity if is_inf(a, f) else sign
    if b & zero == 0:
        return f.nan if a & zero == 0 else sign | f.infinity
    (_, ma, ea), (_, mb, eb) = unpack(a, f), unpack(b, f)
    extra = 2 * f.precision + 2
    q, rest = divmod(ma << extra, mb)
    return pack(int(sign != 0), q << 1 | (rest != 0), ea - eb - extra - 1, f, mode)


def sqrt(a: int, f: Format, mode: str) -> int:
    if is_nan(a, f):
        return f.nan
    if a & (f.sign_bit - 1) == 0:
        return a
    if a & f.sign_bit:
        return f.nan
    if is_inf(a, f):
        return a
    _, m, e = unpack(a, f)
    extra = 2 * f.precision + 4 + (e & 1)
    root = isqrt(m << extra)
    sticky = root * root != m << extra
    return pack(0, root << 1 | sticky, (e - extra) // 2 - 1, f, mode)


def from_integer(value: int, f: Format, mode: str) -> int:
    return pack(int(value < 0), abs(value), 0, f, mode)


def convert(a: int, source: Format, target: Format, mode: str) -> int:
    """a of one format in another, rounded once."""
    if is_nan(a, source):
        return target.nan
    sign = target.sign_bit if a & source.sign_bit else 0
    if is_inf(a, source):
        return sign | target.infinity
    s, m, e = unpack(a, source)
    return pack(s, m, e, target, mode)
