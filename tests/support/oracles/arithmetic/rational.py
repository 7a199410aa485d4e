"""Exact oracle of IEEE rounding: fractions in, patterns out. Shares nothing with the code under test."""

from __future__ import annotations

from fractions import Fraction

RN, RM, RP, RZ = range(4)
Special = str  # "nan", "+inf", "-inf", "-0"
Value = Fraction | Special


class Format:
    """A binary interchange format: p bits of significand, exponents emin..emax of the leading bit."""

    def __init__(self, width: int, p: int, nan: int) -> None:
        self.width, self.p, self.nan = width, p, nan
        self.emax = (1 << (width - p - 1)) - 1
        self.emin = 1 - self.emax
        self.sign = 1 << (width - 1)
        self.inf = ((1 << (width - p)) - 1) << (p - 1)

    def decode(self, bits: int) -> Value:
        negative = bool(bits & self.sign)
        magnitude = bits & (self.sign - 1)
        if magnitude > self.inf:
            return "nan"
        if magnitude == self.inf:
            return "-inf" if negative else "+inf"
        if magnitude == 0:
            return "-0" if negative else Fraction(0)
        exponent = magnitude >> (self.p - 1)
        mantissa = magnitude & ((1 << (self.p - 1)) - 1)
        if exponent:
            mantissa |= 1 << (self.p - 1)
        value = Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - self.emax - self.p + 1)
        return -value if negative else value

    def encode(self, value: Value, mode: int) -> int:
        """The pattern of `value` rounded by `mode`; "-0" and the infinities keep their signs."""
        if isinstance(value, str):
            return {"nan": self.nan, "+inf": self.inf, "-inf": self.inf | self.sign, "-0": self.sign}[value]
        return round_fraction(value, self, mode)


F16 = Format(16, 11, 0x7FFF)
BF16 = Format(16, 8, 0x7FFF)
F32 = Format(32, 24, 0x7FFFFFFF)
F64 = Format(64, 53, 0x7FF8000000000000)


def round_fraction(value: Fraction, fmt: Format, mode: int) -> int:
    """The pattern of `value` rounded once."""
    if value == 0:
        return 0
    negative, magnitude = value < 0, abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, fmt.emin)
    quantum = Fraction(2) ** (exponent - fmt.p + 1)
    steps, rest = divmod(magnitude, quantum)
    if mode == RN:
        up = rest * 2 > quantum or (rest * 2 == quantum and steps & 1)
    else:
        up = bool(rest) and ((mode == RM and negative) or (mode == RP and not negative))
    steps += up
    sign = fmt.sign if negative else 0
    if steps * quantum >= Fraction(2) ** (fmt.emax + 1):
        stays = mode == RZ or (mode == RM and not negative) or (mode == RP and negative)
        return sign | (fmt.inf - 1 if stays else fmt.inf)
    if steps < 1 << (fmt.p - 1):
        return sign | steps  # subnormal
    if steps == 1 << fmt.p:
        steps, exponent = steps >> 1, exponent + 1
    return sign | ((exponent + fmt.emax) << (fmt.p - 1)) | (steps - (1 << (fmt.p - 1)))


def _negative(v: Value) -> bool:
    return v in ("-0", "-inf") if isinstance(v, str) else v < 0


def _number(v: Value) -> Fraction:
    assert not isinstance(v, str) or v == "-0"
    return Fraction(0) if isinstance(v, str) else v


def _infinite(v: Value) -> bool:
    return v in ("+inf", "-inf")


def multiply(a: Value, b: Value) -> Value:
    """The exact product with its sign."""
    if "nan" in (a, b):
        return "nan"
    negative = _negative(a) != _negative(b)
    if _infinite(a) or _infinite(b):
        if any(not _infinite(v) and _number(v) == 0 for v in (a, b)):
            return "nan"
        return "-inf" if negative else "+inf"
    product = _number(a) * _number(b)
    return "-0" if product == 0 and negative else product


def add(a: Value, b: Value, mode: int) -> Value:
    """The exact sum; the sign of an exact zero as IEEE 754 section 6.3 says for `mode`."""
    if "nan" in (a, b) or (_infinite(a) and _infinite(b) and a != b):
        return "nan"
    if _infinite(a):
        return a
    if _infinite(b):
        return b
    total = _number(a) + _number(b)
    if total == 0:
        both = _negative(a) and _negative(b)
        differ = _negative(a) != _negative(b) or _number(a) != 0
        return "-0" if both or (differ and mode == RM) else Fraction(0)
    return total


def fma(fmt: Format, a: int, b: int, c: int, mode: int) -> int:
    """a*b + c of patterns, rounded once."""
    return fmt.encode(add(multiply(fmt.decode(a), fmt.decode(b)), fmt.decode(c), mode), mode)
