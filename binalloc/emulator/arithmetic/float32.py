"""The functions here are the scalar semantics of the f32 opcodes (ISA.md, chapter "Semantics").

Needs: f32 patterns as ints in 0..2^32-1 with negation and absolute value already applied. Leaves: f32 patterns, NaN
always 0x7fffffff. Rounding modes are field values: 0 nearest even, 1 down, 2 up, 3 toward zero.

The arithmetic on f32 numbers is done in f64. A sum that needs another rounding than one to nearest is first rounded to
odd in f64 (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", section 3). Since f64 has more than
two bits beyond f32, any later rounding to f32, normal or subnormal, is the correct one.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.bits import bits_from_f32, f32_fma, f32_from_bits, f64_from_i64, i64_from_f64
from binalloc.emulator.state.device import device

NAN32 = 0x7FFFFFFF  # the canonical NaN
INF32 = 0x7F800000  # +infinity, and the mask of the exponent's bits
ONE32 = 0x3F800000  # the pattern of 1, the upper end of .SAT
SIGN32 = 0x80000000  # the sign bit
MAN52 = (1 << 52) - 1  # the mask of the mantissa's bits in an f64


@device(inline=True)
def flush32(x: int, ftz: int) -> int:
    """Return `x`, or under .FTZ the zero of its sign where `x` is subnormal."""
    return x & SIGN32 if ftz and (x & INF32) == 0 else x


@device
def saturate32(x: int) -> int:
    """Apply .SAT: clamp to [0, 1]. NaN and -0 give +0."""
    if x > INF32:
        return 0  # negative or NaN
    return min(x, ONE32)


@device
def finish32(x: int, ftz: int, sat: int) -> int:
    """Apply the modifiers that follow the rounding of an f32 result: .FTZ, then .SAT."""
    x = flush32(x, ftz)
    return saturate32(x) if sat else x


@device
def round_to_f32(x: float, rnd: int) -> int:
    """Return the pattern of the f64 `x` rounded once to f32 in mode `rnd`."""
    bits = i64_from_f64(x)
    if x != x:
        return NAN32
    sign = SIGN32 if bits < 0 else 0
    exponent = (bits >> 52) & 0x7FF
    if exponent == 0x7FF:
        return sign | INF32
    mantissa = bits & MAN52
    if exponent == 0:
        exponent = 1
    else:
        mantissa |= 1 << 52
    biased = exponent - 896  # 1023 - 127
    shift = 29
    result = 0
    if biased < 1:
        shift = min(30 - biased, 60)
    else:
        result = (biased - 1) << 23  # the hidden bit of the mantissa adds the missing 1
    rest = mantissa & ((1 << shift) - 1)
    result += mantissa >> shift
    half = 1 << (shift - 1)
    if rnd == 0:
        if rest > half or (rest == half and result & 1):
            result += 1
    elif rest and ((rnd == 1 and sign) or (rnd == 2 and not sign)):
        result += 1
    if result >= INF32:
        if rnd == 3 or (rnd == 1 and not sign) or (rnd == 2 and sign):
            result = INF32 - 1
        else:
            result = INF32
    return sign | result


@device
def odd_sum(x: float, y: float) -> float:
    """Return x + y rounded to odd in f64. Needs |x|, |y| < 2^1000 and no bit of either below 2^-1000, or a non-finite
    sum."""
    s = x + y
    if s - s != 0.0:
        return s
    v = s - x
    error = (x - (s - v)) + (y - v)
    if error != 0.0:
        bits = i64_from_f64(s)
        if bits & 1 == 0:
            s = f64_from_i64(bits + (1 if (error > 0.0) == (s > 0.0) else -1))
    return s


@device
def round_sum32(x: float, y: float, rnd: int) -> int:
    """Return the pattern of x + y rounded once to f32. x and y are f32 numbers or exact products of two."""
    s = odd_sum(x, y)
    if s == 0.0 and rnd == 1:
        # an exact zero is -0 when rounding down, unless both parts are +0
        return 0 if x == 0.0 and i64_from_f64(x) == 0 and i64_from_f64(y) == 0 else SIGN32
    return round_to_f32(s, rnd)


# -- FADD, FMUL, FFMA ------------------------------------------------------------------------------------------------


@device(inline=True)
def fadd_rn(a: int, b: int) -> int:
    """Compute FADD to nearest without modifiers. Rounding to f64 first is harmless: 53 >= 2*24 + 2, and subnormal sums
    are exact."""
    return bits_from_f32(f32_from_bits(a) + f32_from_bits(b))


@device(inline=True)
def fmul_rn(a: int, b: int) -> int:
    """Compute FMUL to nearest without modifiers. The product is exact in f64."""
    return bits_from_f32(f32_from_bits(a) * f32_from_bits(b))


@device(inline=True)
def ffma_rn(a: int, b: int, c: int) -> int:
    """Compute FFMA to nearest without modifiers."""
    return f32_fma(a, b, c)


@device
def fadd(a: int, b: int, rnd: int, ftz: int, sat: int) -> int:
    """Compute FADD in any mode."""
    x = f32_from_bits(flush32(a, ftz))
    y = f32_from_bits(flush32(b, ftz))
    return finish32(round_sum32(x, y, rnd) if rnd else bits_from_f32(x + y), ftz, sat)


@device
def fmul(a: int, b: int, rnd: int, ftz: int, sat: int) -> int:
    """Compute FMUL in any mode."""
    x = f32_from_bits(flush32(a, ftz))
    y = f32_from_bits(flush32(b, ftz))
    return finish32(round_to_f32(x * y, rnd) if rnd else bits_from_f32(x * y), ftz, sat)


@device
def ffma(a: int, b: int, c: int, rnd: int, ftz: int, sat: int) -> int:
    """Compute FFMA in any mode: a*b + c rounded once."""
    a, b, c = flush32(a, ftz), flush32(b, ftz), flush32(c, ftz)
    if rnd == 0:
        return finish32(f32_fma(a, b, c), ftz, sat)
    return finish32(round_sum32(f32_from_bits(a) * f32_from_bits(b), f32_from_bits(c), rnd), ftz, sat)


# -- FMNMX, FSETP ----------------------------------------------------------------------------------------------------


@device
def fmnmx(a: int, b: int, ps0: int, ftz: int) -> int:
    """Compute FMNMX: IEEE minNum where ps0 is set, else maxNum. -0 < +0, and only two NaNs give NaN."""
    a = flush32(a, ftz)
    b = flush32(b, ftz)
    if (a & (SIGN32 - 1)) > INF32:
        return NAN32 if (b & (SIGN32 - 1)) > INF32 else b
    if (b & (SIGN32 - 1)) > INF32:
        return a
    # sign-magnitude to two's complement order: negative patterns reversed
    ka = -(a & (SIGN32 - 1)) - 1 if a & SIGN32 else a
    kb = -(b & (SIGN32 - 1)) - 1 if b & SIGN32 else b
    if ps0:
        return a if ka < kb else b
    return b if ka < kb else a


@device(inline=True)
def float_compare(x: float, y: float, fcmp: int) -> int:
    """Return the comparison of FSETP and DSETP, 0 or 1. `fcmp` is a mask: 1 less, 2 equal, 4 greater, 8 unordered."""
    if x < y:
        return fcmp & 1
    if x == y:
        return (fcmp >> 1) & 1
    if x > y:
        return (fcmp >> 2) & 1
    return fcmp >> 3


@device(inline=True)
def fcompare(a: int, b: int, fcmp: int, ftz: int) -> int:
    """Return FSETP's comparison. Its predicates follow by `bool_op`, as for ISETP."""
    return float_compare(f32_from_bits(flush32(a, ftz)), f32_from_bits(flush32(b, ftz)), fcmp)
