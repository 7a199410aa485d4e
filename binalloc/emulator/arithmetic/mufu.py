"""MUFU computes reciprocal, roots, exponential, logarithm, sine and cosine by an exact recipe (ISA.md, chapter
"Semantics").

Needs: f32 patterns with source modifiers applied (RCP64H, RSQ64H: the high word of an f64). Leaves: the result's
pattern, NaN canonical. Every step is one f64 operation + - * / sqrt rounded to nearest even, in the order written here,
and the last one rounds to f32: no host's libm or fused operation takes part, so results are the same everywhere.

Each polynomial is the truncated Taylor series, its coefficients rounded to f64: EX2 sum ln(2)^k/k! f^k; LG2 the series
2/ln(2) * s^(2k)/(2k+1) of the inverse hyperbolic tangent; SIN and COS the usual ones of 2*pi*t. They are written out as
Horner steps because loops over constant arrays compile to slower code.
"""

from __future__ import annotations

import math

from binalloc.emulator.arithmetic.bits import (
    bits_from_f32,
    bits_from_f64,
    f32_from_bits,
    f64_from_bits,
    f64_from_i64,
    i64_from_f64,
)
from binalloc.emulator.arithmetic.conversion import round_integral
from binalloc.emulator.state.device import device

NAN32 = 0x7FFFFFFF  # the canonical NaN of f32
INF32 = 0x7F800000  # +infinity in f32
NAN64_HI = 0x7FF80000  # high word of the canonical NaN of f64
INFINITY = math.inf
NAN = math.nan
MAN52 = (1 << 52) - 1  # the mask of the mantissa's bits in an f64
SQRT2 = float.fromhex("0x1.6a09e667f3bcdp+0")
"""LG2 takes mantissas from sqrt(1/2) to sqrt(2), where its series converges fastest"""

# E1 to E9: ln(2)^k/k!, of EX2
E1 = float.fromhex("0x1.62e42fefa39efp-1")
E2 = float.fromhex("0x1.ebfbdff82c58fp-3")
E3 = float.fromhex("0x1.c6b08d704a0c0p-5")
E4 = float.fromhex("0x1.3b2ab6fba4e77p-7")
E5 = float.fromhex("0x1.5d87fe78a6731p-10")
E6 = float.fromhex("0x1.430912f86c787p-13")
E7 = float.fromhex("0x1.ffcbfc588b0c7p-17")
E8 = float.fromhex("0x1.62c0223a5c824p-20")
E9 = float.fromhex("0x1.b5253d395e7c4p-24")

# L0 to L6: 2/ln(2)/(2k+1), of LG2
L0 = float.fromhex("0x1.71547652b82fep+1")
L1 = float.fromhex("0x1.ec709dc3a03fdp-1")
L2 = float.fromhex("0x1.2776c50ef9bfep-1")
L3 = float.fromhex("0x1.a61762a7aded9p-2")
L4 = float.fromhex("0x1.484b13d7c02a9p-2")
L5 = float.fromhex("0x1.0c9a84994022dp-2")
L6 = float.fromhex("0x1.c68f568d31760p-3")

# S0 to S5: coefficients of t^(2k+1) in sin(2*pi*t)
S0 = float.fromhex("0x1.921fb54442d18p+2")
S1 = float.fromhex("-0x1.4abbce625be53p+5")
S2 = float.fromhex("0x1.466bc6775aae2p+6")
S3 = float.fromhex("-0x1.32d2cce62bd86p+6")
S4 = float.fromhex("0x1.50783487ee782p+5")
S5 = float.fromhex("-0x1.e3074fde8871fp+3")

# C1 to C6: coefficients of t^(2k) in cos(2*pi*t)
C1 = float.fromhex("-0x1.3bd3cc9be45dep+4")
C2 = float.fromhex("0x1.03c1f081b5ac4p+6")
C3 = float.fromhex("-0x1.55d3c7e3cbffap+6")
C4 = float.fromhex("0x1.e1f506891babbp+5")
C5 = float.fromhex("-0x1.a6d1f2a204a8cp+4")
C6 = float.fromhex("0x1.f9d38a3763cc3p+2")


@device
def reciprocal(x: float) -> float:
    """Return 1/x. A zero gives the infinity of its sign, whatever the host does on division by zero."""
    if x == 0.0:
        return -INFINITY if i64_from_f64(x) < 0 else INFINITY
    return 1.0 / x


@device
def square_root(x: float) -> float:
    """Return the square root. Numbers below zero give NaN; -0 stays."""
    if x < 0.0:
        return NAN
    return math.sqrt(x)


@device
def exp2_f32(x: float) -> float:
    """Return 2^x for an f32 `x`."""
    if x >= 192.0:
        return INFINITY
    if x <= -192.0:
        return 0.0
    if x != x:
        return x
    n = round_integral(x, 0)
    f = x - n
    p = E9 * f + E8
    p = p * f + E7
    p = p * f + E6
    p = p * f + E5
    p = p * f + E4
    p = p * f + E3
    p = p * f + E2
    p = p * f + E1
    p = p * f + 1.0
    return p * f64_from_i64((int(n) + 1023) << 52)


@device
def log2_f32(x: float) -> float:
    """Return log2(x) for an f32 `x`."""
    if x == 0.0:
        return -INFINITY
    if not x > 0.0:
        return NAN
    if x == INFINITY:
        return x
    bits = i64_from_f64(x)
    exponent = (bits >> 52) - 1023
    m = f64_from_i64((bits & MAN52) | (1023 << 52))
    if m > SQRT2:
        m = m * 0.5
        exponent += 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = L6 * z + L5
    p = p * z + L4
    p = p * z + L3
    p = p * z + L2
    p = p * z + L1
    p = p * z + L0
    return float(exponent) + s * p


@device
def sine_turns(x: float, quarter: int) -> float:
    """Return sin(2*pi*(x + quarter/4)) for an f32 `x`. An exact zero is +0."""
    if x - x != 0.0:
        return NAN
    r = x - round_integral(x, 0)
    k = round_integral(r * 4.0, 0)
    t = r - k * 0.25
    u = t * t
    q = (int(k) + quarter) & 3
    if q & 1:
        p = C6 * u + C5
        p = p * u + C4
        p = p * u + C3
        p = p * u + C2
        p = p * u + C1
        p = p * u + 1.0
    else:
        p = S5 * u + S4
        p = p * u + S3
        p = p * u + S2
        p = p * u + S1
        p = p * u + S0
        p = p * t
    if q & 2:
        p = -p
    return p + 0.0


@device
def mufu32(b: int, func: int) -> int:
    """Compute MUFU RCP RSQ SQRT EX2 LG2 SIN COS: an f32 pattern to an f32 pattern."""
    x = f32_from_bits(b)
    if func == 0:
        y = reciprocal(x)
    elif func == 1:
        y = reciprocal(square_root(x))
    elif func == 2:
        y = square_root(x)
    elif func == 3:
        y = exp2_f32(x)
    elif func == 4:
        y = log2_f32(x)
    elif func == 5:
        # on |x|, so that the function is odd to the bit, zeros included
        y = sine_turns(abs(x), 0)
        if b >> 31:
            y = -y
    else:
        y = sine_turns(x, 1)
    return bits_from_f32(y)


@device
def mufu64h(b: int, func: int) -> int:
    """Compute MUFU RCP64H RSQ64H. The operand is the high word of an f64 whose low word is zero; the result is cut off
    to its high word."""
    x = f64_from_bits(0, b)
    y = reciprocal(x) if func == 7 else reciprocal(square_root(x))
    return bits_from_f64(y)[1]


@device
def mufu(b: int, func: int) -> int:
    """Compute MUFU, any function."""
    return mufu64h(b, func) if func >= 7 else mufu32(b, func)
