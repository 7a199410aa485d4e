"""The functions here are the scalar semantics of the conversions I2F, F2I, F2F and FRND (ISA.md, chapter "Semantics").

Needs: operands as (low word, high word) with source modifiers applied, the high word ignored where the operand is 32
bits wide; type and rounding fields as in `ITYPES`, `FTYPES`, `ROUNDINGS`. Leaves: (low word, high word), with high word
0 for 32-bit results.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.bits import (
    bits_from_f32,
    bits_from_f64,
    f32_from_bits,
    f64_from_bits,
    f64_from_i64,
    i64_from_f64,
)
from binalloc.emulator.arithmetic.float32 import flush32, odd_sum, round_to_f32
from binalloc.emulator.arithmetic.integer import signed32
from binalloc.emulator.state.device import device

M32 = 0xFFFFFFFF  # the low 32 bits of a Python int
TWO32 = 4294967296.0  # 2^32, the weight of a 64-bit value's high word
TWO52 = 4503599627370496.0  # 2^52: from here on every f64 is an integer
TWO63 = 9223372036854775808.0  # 2^63, the first number above S64
TWO64 = 18446744073709551616.0  # 2^64, the first number above U64


@device
def round_integral(x: float, rnd: int) -> float:
    """Return `x` rounded to an integral value in mode `rnd`. Zero results keep the sign of `x`; NaN and infinity stay
    as they are."""
    a = abs(x)
    if x == 0.0 or not a < TWO52:
        return x
    t = (a + TWO52) - TWO52  # nearest even
    if rnd != 0:
        if t > a:
            t -= 1.0
        if t < a and ((rnd == 1 and x < 0.0) or (rnd == 2 and x > 0.0)):
            t += 1.0
    return -t if x < 0.0 else t


@device
def round_sum64(x: float, y: float, rnd: int) -> float:
    """Return x + y rounded once in mode `rnd`, for integers below 2^65 in magnitude. Their sum may be zero only as 0 +
    0."""
    s = x + y
    v = s - x
    error = (x - (s - v)) + (y - v)
    if error == 0.0 or rnd == 0:
        return s
    bits = i64_from_f64(s)
    away = 1 if (error > 0.0) == (s > 0.0) else 0  # the exact sum lies farther from zero than s
    if rnd == 3:
        return s if away else f64_from_i64(bits - 1)
    if (rnd == 1) == (error < 0.0):
        return f64_from_i64(bits + 1 if away else bits - 1)
    return s


@device
def narrow_integer(lo: int, ityp: int) -> int:
    """Return the number that an operand of at most 32 bits represents."""
    if ityp == 0:
        return lo & 0xFF
    if ityp == 1:
        return ((lo & 0xFF) ^ 0x80) - 0x80
    if ityp == 2:
        return lo & 0xFFFF
    if ityp == 3:
        return ((lo & 0xFFFF) ^ 0x8000) - 0x8000
    if ityp == 4:
        return lo
    return signed32(lo)


@device
def i2f(lo: int, hi: int, ftyp: int, ityp: int, rnd: int) -> tuple[int, int]:
    """Compute I2F: round an integer once to f32 or f64."""
    if ityp < 6:
        x = float(narrow_integer(lo, ityp))
        if ftyp:
            return bits_from_f64(x)
        return (round_to_f32(x, rnd) if rnd else bits_from_f32(x)), 0
    high = float(hi if ityp == 6 else signed32(hi)) * TWO32
    if ftyp:
        return bits_from_f64(round_sum64(high, float(lo), rnd))
    return round_to_f32(odd_sum(high, float(lo)), rnd), 0


@device
def clamp_float(x: float, low: float, high: float) -> float:
    """Return `x` limited to [low, high]."""
    if x < low:
        return low
    return high if x > high else x


@device
def saturate_integer(r: float, ityp: int) -> tuple[int, int]:
    """Return the integral `r` saturated to the type, as two words: extended to 32 bits with 0 behind it, or split into
    (low, high)."""
    if ityp < 6:
        if ityp == 0:
            r = clamp_float(r, 0.0, 255.0)
        elif ityp == 1:
            r = clamp_float(r, -128.0, 127.0)
        elif ityp == 2:
            r = clamp_float(r, 0.0, 65535.0)
        elif ityp == 3:
            r = clamp_float(r, -32768.0, 32767.0)
        elif ityp == 4:
            r = clamp_float(r, 0.0, 4294967295.0)
        else:
            r = clamp_float(r, -2147483648.0, 2147483647.0)
        return int(r) & M32, 0
    if ityp == 6:
        if r < 0.0:
            return 0, 0
        if r >= TWO64:
            return M32, M32
    elif r >= TWO63:
        return M32, 0x7FFFFFFF
    elif r < -TWO63:
        return 0, 0x80000000
    high = round_integral(r / TWO32, 1)
    return int(r - high * TWO32), int(high) & M32


@device
def load_float(lo: int, hi: int, ftyp: int, ftz: int) -> float:
    """Return the operand of a conversion as a number. .FTZ concerns f32 only."""
    return f64_from_bits(lo, hi) if ftyp else f32_from_bits(flush32(lo, ftz))


@device
def f2i(lo: int, hi: int, ityp: int, ftyp: int, rnd: int, ftz: int) -> tuple[int, int]:
    """Compute F2I: round to an integral value and saturate. NaN gives 0."""
    x = load_float(lo, hi, ftyp, ftz)
    if x != x:
        return 0, 0
    return saturate_integer(round_integral(x, rnd), ityp)


@device
def f2f(lo: int, hi: int, ftyp_d: int, ftyp_s: int, rnd: int, ftz: int) -> tuple[int, int]:
    """Compute F2F: change the format. Only f64 to f32 rounds."""
    x = load_float(lo, hi, ftyp_s, ftz)
    if ftyp_d:
        return bits_from_f64(x)
    return flush32(round_to_f32(x, rnd), ftz), 0


@device
def frnd(lo: int, hi: int, ftyp: int, rnd: int, ftz: int) -> tuple[int, int]:
    """Compute FRND: round to an integral value of the same format."""
    r = round_integral(load_float(lo, hi, ftyp, ftz), rnd)
    if ftyp:
        return bits_from_f64(r)
    return bits_from_f32(r), 0
