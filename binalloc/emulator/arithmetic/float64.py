"""The functions here are the scalar semantics of the f64 opcodes (ISA.md, chapter "Semantics").

Needs: f64 values as pairs (low word, high word) with source modifiers applied to the high word, or as signed 64-bit
patterns. Leaves: the same, NaN always 0x7ff8000000000000. Rounding modes: 0 nearest even, 1 down, 2 up, 3 toward zero.

Nearest even uses the machine's f64 operations. The other modes go through `fma_exact`, a fused multiply-add in 120-bit
integers held as two 60-bit words: every intermediate value fits a signed 64-bit int, in Python as in compiled code.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.bits import bits_from_f64, f64_fma, f64_from_bits
from binalloc.emulator.arithmetic.float32 import float_compare
from binalloc.emulator.arithmetic.integer import leading_one, signed32
from binalloc.emulator.state.device import device

M32 = 0xFFFFFFFF  # the low 32 bits of a Python int
M60 = (1 << 60) - 1  # the bits of one of the two words that hold 120 bits
MAN52 = (1 << 52) - 1  # the mask of the mantissa's bits
MAX63 = 0x7FFFFFFFFFFFFFFF  # all bits but the sign
MIN64 = -0x8000000000000000  # the sign bit, as a signed 64-bit int
INF64 = 0x7FF << 52  # +infinity, and the mask of the exponent's bits
NAN64 = 0x7FF8 << 48  # the canonical NaN
ONE64_HI = 0x3FF00000  # the high word of 1
SIGN32 = 0x80000000  # the sign bit of a 32-bit word


@device
def long_from_pair(lo: int, hi: int) -> int:
    """Return the pair as one signed 64-bit int."""
    return (signed32(int(hi)) << 32) | int(lo)


@device
def pair_from_long(x: int) -> tuple[int, int]:
    """Return the words (low, high) of the low 64 bits of `x`."""
    return x & M32, (x >> 32) & M32


# -- exact fused multiply-add in integers ------------------------------------------------------------------------------


@device
def unpack64(bits: int) -> tuple[int, int]:
    """Return (exponent, mantissa) of a finite non-zero pattern: |value| = mantissa * 2^(exponent - 1075), 2^52 <=
    mantissa."""
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & MAN52
    if exponent:
        return exponent, mantissa | (1 << 52)
    shift = 52 - leading_one(mantissa)
    return 1 - shift, mantissa << shift


@device
def multiply53(x: int, y: int) -> tuple[int, int]:
    """Return x * y * 2^11 as words (high, low) of 60 bits, for 53-bit x and y."""
    xh, xl = x >> 27, x & 0x7FFFFFF
    yh, yl = y >> 27, y & 0x7FFFFFF
    top = xh * yh
    middle = xh * yl + xl * yh
    low = xl * yl + ((middle & ((1 << 33) - 1)) << 27) + ((top & 63) << 54)
    high = (top >> 6) + (middle >> 33) + (low >> 60)
    low &= M60
    return (high << 11) | (low >> 49), (low << 11) & M60


@device
def shift_right_jam(hi: int, lo: int, n: int) -> tuple[int, int]:
    """Return words (hi, lo) shifted right by n >= 0. Bits shifted out are ORed into bit 0."""
    if n >= 120:
        return 0, 1 if hi | lo else 0
    if n >= 60:
        rest = lo | (hi & ((1 << (n - 60)) - 1))
        return 0, (hi >> (n - 60)) | (1 if rest else 0)
    rest = lo & ((1 << n) - 1)
    return hi >> n, (lo >> n) | ((hi << (60 - n)) & M60) | (1 if rest else 0)


@device
def round_pack64(negative: int, hi: int, lo: int, x: int, rnd: int) -> int:
    """Return the pattern of (hi * 2^60 + lo) * 2^x rounded once. The number is not zero, hi < 2^60, and bit 0 of lo may
    be sticky."""
    if hi == 0:
        hi = lo
        lo = 0
        x -= 60
    top = leading_one(hi)
    exponent = x + 60 + top  # of the leading bit
    # m: the leading 62 bits, the rest jammed into bit 0
    if top == 0:
        m = (1 << 61) | (lo << 1)
    else:
        m = (hi << (61 - top)) | (lo >> (top - 1))
        if lo & ((1 << (top - 1)) - 1):
            m |= 1
    if exponent > 1023:
        result = INF64
    else:
        shift = 9
        if exponent < -1022:
            shift = min(9 - 1022 - exponent, 63)
            exponent = -1023
            result = 0
        result = m >> shift
        half = 1 << (shift - 1)
        rest = m & (half * 2 - 1 if shift < 63 else MAX63)
        if exponent > -1023:
            result += (exponent + 1022) << 52  # the hidden bit of the mantissa adds the missing 1
        if rnd == 0:
            if rest > half or (rest == half and result & 1):
                result += 1
        elif rest and ((rnd == 1 and negative) or (rnd == 2 and not negative)):
            result += 1
    if result >= INF64:
        result = INF64
        if rnd == 3 or (rnd == 1 and not negative) or (rnd == 2 and negative):
            result -= 1
    return result + MIN64 if negative else result


@device
def add_words(sp: int, ph: int, pl: int, sc: int, ch: int, cl: int) -> tuple[int, int, int]:
    """Return (negative, high, low) of the sum of two signed 120-bit magnitudes (sp, ph, pl) and (sc, ch, cl)."""
    if sp == sc:
        lo = pl + cl
        return sp, ph + ch + (lo >> 60), lo & M60
    if ph > ch or (ph == ch and pl >= cl):
        lo = pl - cl
        return sp, ph - ch + (lo >> 60), lo & M60
    lo = cl - pl
    return sc, ch - ph + (lo >> 60), lo & M60


@device
def fma_special(a: int, b: int, c: int, rnd: int) -> int:
    """Return a*b + c where an operand is NaN or infinite, or a*b is zero."""
    ma, mb, mc = a & MAX63, b & MAX63, c & MAX63
    sp = 1 if (a < 0) != (b < 0) else 0
    sc = 1 if c < 0 else 0
    if ma > INF64 or mb > INF64 or mc > INF64:
        return NAN64
    if ma == INF64 or mb == INF64:
        if ma == 0 or mb == 0 or (mc == INF64 and sp != sc):
            return NAN64
        return INF64 + MIN64 if sp else INF64
    if mc != 0:
        return c  # infinite, or the product is zero
    negative = sp if sp == sc else (1 if rnd == 1 else 0)
    return MIN64 if negative else 0


@device
def fma_exact(a: int, b: int, c: int, rnd: int) -> int:
    """Return a*b + c rounded once in mode `rnd`. All are signed 64-bit patterns of f64."""
    ma, mb, mc = a & MAX63, b & MAX63, c & MAX63
    if ma >= INF64 or mb >= INF64 or mc >= INF64 or ma == 0 or mb == 0:
        return fma_special(a, b, c, rnd)
    ea, fa = unpack64(ma)
    eb, fb = unpack64(mb)
    sp = 1 if (a < 0) != (b < 0) else 0
    sc = 1 if c < 0 else 0
    ph, pl = multiply53(fa, fb)
    x = ea + eb - 2161
    if mc == 0:
        return round_pack64(sp, ph, pl, x, rnd)
    ec, fc = unpack64(mc)
    # both numbers have their leading bit at 115 or 116; the smaller one is shifted right, lost bits kept as sticky
    ch, cl = fc << 4, 0
    d = x - (ec - 1139)
    if d > 0:
        ch, cl = shift_right_jam(ch, cl, d)
    else:
        ph, pl = shift_right_jam(ph, pl, -d)
        x -= d
    negative, hi, lo = add_words(sp, ph, pl, sc, ch, cl)
    if hi == 0 and lo == 0:
        return MIN64 if rnd == 1 else 0
    return round_pack64(negative, hi, lo, x, rnd)


# -- DADD, DMUL, DFMA --------------------------------------------------------------------------------------------------


@device(inline=True)
def dadd_rn(alo: int, ahi: int, blo: int, bhi: int) -> tuple[int, int]:
    """Compute DADD to nearest."""
    return bits_from_f64(f64_from_bits(alo, ahi) + f64_from_bits(blo, bhi))


@device(inline=True)
def dmul_rn(alo: int, ahi: int, blo: int, bhi: int) -> tuple[int, int]:
    """Compute DMUL to nearest."""
    return bits_from_f64(f64_from_bits(alo, ahi) * f64_from_bits(blo, bhi))


@device(inline=True)
def dfma_rn(alo: int, ahi: int, blo: int, bhi: int, clo: int, chi: int) -> tuple[int, int]:
    """Compute DFMA to nearest."""
    return bits_from_f64(f64_fma(f64_from_bits(alo, ahi), f64_from_bits(blo, bhi), f64_from_bits(clo, chi)))


@device
def dadd(alo: int, ahi: int, blo: int, bhi: int, rnd: int) -> tuple[int, int]:
    """Compute DADD in any mode, as 1*a + b."""
    if rnd == 0:
        return dadd_rn(alo, ahi, blo, bhi)
    one = ONE64_HI << 32
    return pair_from_long(fma_exact(one, long_from_pair(alo, ahi), long_from_pair(blo, bhi), rnd))


@device
def dmul(alo: int, ahi: int, blo: int, bhi: int, rnd: int) -> tuple[int, int]:
    """Compute DMUL in any mode, as a*b plus the zero of the product's sign."""
    if rnd == 0:
        return dmul_rn(alo, ahi, blo, bhi)
    zero = MIN64 if (ahi ^ bhi) & SIGN32 else 0
    return pair_from_long(fma_exact(long_from_pair(alo, ahi), long_from_pair(blo, bhi), zero, rnd))


@device
def dfma(alo: int, ahi: int, blo: int, bhi: int, clo: int, chi: int, rnd: int) -> tuple[int, int]:
    """Compute DFMA in any mode."""
    if rnd == 0:
        return dfma_rn(alo, ahi, blo, bhi, clo, chi)
    a, b, c = long_from_pair(alo, ahi), long_from_pair(blo, bhi), long_from_pair(clo, chi)
    return pair_from_long(fma_exact(a, b, c, rnd))


# -- DMNMX, DSETP ------------------------------------------------------------------------------------------------------


@device
def dmnmx(alo: int, ahi: int, blo: int, bhi: int, ps0: int) -> tuple[int, int]:
    """Compute DMNMX: IEEE minNum where ps0 is set, else maxNum. -0 < +0, and only two NaNs give NaN."""
    a, b = long_from_pair(alo, ahi), long_from_pair(blo, bhi)
    if (a & MAX63) > INF64:
        return pair_from_long(NAN64 if (b & MAX63) > INF64 else b)
    if (b & MAX63) > INF64:
        return alo, ahi
    ka = a ^ MAX63 if a < 0 else a
    kb = b ^ MAX63 if b < 0 else b
    if (ka < kb) == (ps0 != 0):
        return alo, ahi
    return blo, bhi


@device
def dcompare(alo: int, ahi: int, blo: int, bhi: int, fcmp: int) -> int:
    """Return DSETP's comparison. Its predicates follow by `bool_op`, as for ISETP."""
    return float_compare(f64_from_bits(alo, ahi), f64_from_bits(blo, bhi), fcmp)
