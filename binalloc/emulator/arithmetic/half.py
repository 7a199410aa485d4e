"""The functions here are the scalar semantics of the f16 and bf16 opcodes and of their conversions (ISA.md, chapter
"Semantics").

Needs: words of two halves, or patterns of floats, with negation and absolute value already applied. Leaves: words of
two halves, a NaN always 0x7fff. Field `hfmt` is the format: 0 f16 (5 bits of exponent), 1 bf16 (8, as f32).

The arithmetic on halves is done in f64, which holds sums and products of two halves exactly. A sum with a product is
first rounded to odd (`float32`), so that the one rounding to a half is right.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.bits import bits_from_f32, f32_from_bits, i64_from_f64
from binalloc.emulator.arithmetic.conversion import load_float, narrow_integer
from binalloc.emulator.arithmetic.float32 import MAN52, float_compare, odd_sum
from binalloc.emulator.arithmetic.integer import signed32
from binalloc.emulator.state.device import device

HALF = 0xFFFF  # the low half of a word
SIGN16 = 0x8000  # the sign bit of a half
REST16 = 0x7FFF  # all bits of a half but the sign
NAN16 = 0x7FFF  # the canonical NaN of both formats
TWO32 = 4294967296.0  # 2^32, the weight of a 64-bit value's high word
SMALLEST16 = 5.960464477539063e-08  # 2^-24, the smallest f16 above 0: the unit of a subnormal's mantissa


@device(inline=True)
def infinity16(hfmt: int) -> int:
    """Return the pattern of +infinity."""
    return 0x7F80 if hfmt else 0x7C00


@device(inline=True)
def one16(hfmt: int) -> int:
    """Return the pattern of 1."""
    return 0x3F80 if hfmt else 0x3C00


@device
def number_from_half(h: int, hfmt: int) -> float:
    """Return the half with pattern `h`, exactly."""
    if hfmt:
        return f32_from_bits(h << 16)
    exponent = (h >> 10) & 0x1F
    if exponent == 0:
        x = float(h & 0x3FF) * SMALLEST16
        return -x if h & SIGN16 else x
    if exponent == 0x1F:
        exponent = 0xFF - 112
    return f32_from_bits((h & SIGN16) << 16 | (exponent + 112) << 23 | (h & 0x3FF) << 13)


@device
def round_to_half(x: float, hfmt: int, rnd: int) -> int:
    """Return the pattern of the f64 `x` rounded once to a half in mode `rnd`."""
    bits = i64_from_f64(x)
    if x != x:
        return NAN16
    infinite = infinity16(hfmt)
    sign = SIGN16 if bits < 0 else 0
    exponent = (bits >> 52) & 0x7FF
    if exponent == 0x7FF:
        return sign | infinite
    mantissa = bits & MAN52
    if exponent == 0:
        exponent = 1
    else:
        mantissa |= 1 << 52
    kept = 7 if hfmt else 10
    biased = exponent - (896 if hfmt else 1008)  # 1023 - 127, 1023 - 15
    shift = 52 - kept
    result = 0
    if biased < 1:
        shift = min(shift + 1 - biased, 60)
    else:
        result = (biased - 1) << kept  # the hidden bit of the mantissa adds the missing 1
    rest = mantissa & ((1 << shift) - 1)
    result += mantissa >> shift
    half = 1 << (shift - 1)
    if rnd == 0:
        if rest > half or (rest == half and result & 1):
            result += 1
    elif rest and ((rnd == 1 and sign) or (rnd == 2 and not sign)):
        result += 1
    if result >= infinite:
        inward = rnd == 3 or (rnd == 1 and not sign) or (rnd == 2 and sign)
        result = infinite - 1 if inward else infinite
    return sign | result


@device(inline=True)
def flush16(h: int, hfmt: int, ftz: int) -> int:
    """Return `h`, or under .FTZ the zero of its sign where `h` is subnormal."""
    return h & SIGN16 if ftz and (h & infinity16(hfmt)) == 0 else h


@device
def finish16(h: int, hfmt: int, ftz: int, sat: int, relu: int) -> int:
    """Apply the modifiers that follow the rounding of a half: .FTZ, then .SAT or .RELU. .SAT clamps to [0, 1]; NaN and
    -0 give +0. .RELU turns numbers less than +0 into +0; NaN stays."""
    h = flush16(h, hfmt, ftz)
    if sat:
        if h > infinity16(hfmt):
            return 0  # negative or NaN
        return min(h, one16(hfmt))
    if relu and h & SIGN16:
        return 0
    return h


# -- HADD2, HMUL2, HFMA2 -------------------------------------------------------------------------------------------


@device
def hadd(a: int, b: int, hfmt: int, ftz: int, sat: int) -> int:
    """Compute one half of HADD2."""
    x = number_from_half(flush16(a, hfmt, ftz), hfmt)
    y = number_from_half(flush16(b, hfmt, ftz), hfmt)
    return finish16(round_to_half(odd_sum(x, y), hfmt, 0), hfmt, ftz, sat, 0)


@device
def hmul(a: int, b: int, hfmt: int, ftz: int, sat: int) -> int:
    """Compute one half of HMUL2."""
    x = number_from_half(flush16(a, hfmt, ftz), hfmt)
    y = number_from_half(flush16(b, hfmt, ftz), hfmt)
    return finish16(round_to_half(x * y, hfmt, 0), hfmt, ftz, sat, 0)


@device
def hfma(a: int, b: int, c: int, hfmt: int, ftz: int, sat: int, relu: int) -> int:
    """Compute one half of HFMA2: a*b + c rounded once."""
    x = number_from_half(flush16(a, hfmt, ftz), hfmt)
    y = number_from_half(flush16(b, hfmt, ftz), hfmt)
    z = number_from_half(flush16(c, hfmt, ftz), hfmt)
    return finish16(round_to_half(odd_sum(x * y, z), hfmt, 0), hfmt, ftz, sat, relu)


@device
def hadd2(a: int, b: int, hfmt: int, ftz: int, sat: int) -> int:
    """Compute HADD2, each half by itself."""
    return hadd(a & HALF, b & HALF, hfmt, ftz, sat) | hadd(a >> 16, b >> 16, hfmt, ftz, sat) << 16


@device
def hmul2(a: int, b: int, hfmt: int, ftz: int, sat: int) -> int:
    """Compute HMUL2, each half by itself."""
    return hmul(a & HALF, b & HALF, hfmt, ftz, sat) | hmul(a >> 16, b >> 16, hfmt, ftz, sat) << 16


@device
def hfma2(a: int, b: int, c: int, hfmt: int, ftz: int, sat: int, relu: int) -> int:
    """Compute HFMA2, each half by itself."""
    low = hfma(a & HALF, b & HALF, c & HALF, hfmt, ftz, sat, relu)
    return low | hfma(a >> 16, b >> 16, c >> 16, hfmt, ftz, sat, relu) << 16


# -- HMNMX2, HSETP2 -------------------------------------------------------------------------------------------------


@device
def hmnmx(a: int, b: int, ps0: int, hfmt: int, ftz: int, hnan: int, xsign: int) -> int:
    """Compute one half of HMNMX2, which follows FMNMX. With .NAN one NaN gives NaN. With .XORSIGN magnitudes are
    compared, and the result has the product's sign."""
    a = flush16(a, hfmt, ftz)
    b = flush16(b, hfmt, ftz)
    sign = (a ^ b) & SIGN16 if xsign else 0
    if xsign:
        a, b = a & REST16, b & REST16
    infinite = infinity16(hfmt)
    unordered_a, unordered_b = (a & REST16) > infinite, (b & REST16) > infinite
    if (unordered_a and unordered_b) or (hnan and (unordered_a or unordered_b)):
        return NAN16
    if unordered_a or unordered_b:
        return sign | (b if unordered_a else a)
    # sign-magnitude to two's complement order: negative patterns reversed
    ka = -(a & REST16) - 1 if a & SIGN16 else a
    kb = -(b & REST16) - 1 if b & SIGN16 else b
    if ps0:
        return sign | (a if ka < kb else b)
    return sign | (b if ka < kb else a)


@device
def hmnmx2(a: int, b: int, ps0: int, hfmt: int, ftz: int, hnan: int, xsign: int) -> int:
    """Compute HMNMX2, each half by itself."""
    low = hmnmx(a & HALF, b & HALF, ps0, hfmt, ftz, hnan, xsign)
    return low | hmnmx(a >> 16, b >> 16, ps0, hfmt, ftz, hnan, xsign) << 16


@device
def hcompare2(a: int, b: int, fcmp: int, hfmt: int, ftz: int) -> int:
    """Return HSETP2's comparisons: of the low halves in bit 0, of the high ones in bit 1."""
    found = 0
    for k in range(2):
        x = number_from_half(flush16((a >> 16 * k) & HALF, hfmt, ftz), hfmt)
        y = number_from_half(flush16((b >> 16 * k) & HALF, hfmt, ftz), hfmt)
        found |= float_compare(x, y, fcmp) << k
    return found


# -- conversions ----------------------------------------------------------------------------------------------------


@device
def f2h(lo: int, hi: int, ftyp: int, hfmt: int, rnd: int, ftz: int, sat: int, relu: int) -> int:
    """Compute F2H: round an f32 or f64 once to a half. The high half is 0. .FTZ concerns the f32."""
    return finish16(round_to_half(load_float(lo, hi, ftyp, ftz), hfmt, rnd), hfmt, 0, sat, relu)


@device
def f2h2(a: int, b: int, hfmt: int, rnd: int, ftz: int, sat: int, relu: int) -> int:
    """Compute F2H2: convert two f32, a into the high half, b into the low one."""
    return f2h(b, 0, 0, hfmt, rnd, ftz, sat, relu) | f2h(a, 0, 0, hfmt, rnd, ftz, sat, relu) << 16


@device
def h2f(b: int, hfmt: int, hsel: int) -> int:
    """Compute H2F: convert the low or the high half to f32, exactly."""
    return bits_from_f32(number_from_half((b >> 16 if hsel else b) & HALF, hfmt))


@device
def i2h(lo: int, hi: int, hfmt: int, ityp: int, rnd: int) -> int:
    """Compute I2H: round an integer once to a half. The high half is 0."""
    if ityp < 6:
        return round_to_half(float(narrow_integer(lo, ityp)), hfmt, rnd)
    high = float(hi if ityp == 6 else signed32(hi)) * TWO32
    return round_to_half(odd_sum(high, float(lo)), hfmt, rnd)


# -- atomics --------------------------------------------------------------------------------------------------------


@device
def hadd2_atomic(old: int, operand: int, hfmt: int) -> int:
    """Return the word that an atomic addition stores: both halves, each as in HADD2. A half keeps its pattern where -0
    is added to it, so that an addition to one half leaves the other unchanged."""
    low, high = old & HALF, old >> 16
    if operand & HALF != SIGN16:
        low = hadd(low, operand & HALF, hfmt, 0, 0)
    if operand >> 16 != SIGN16:
        high = hadd(high, operand >> 16, hfmt, 0, 0)
    return low | high << 16
