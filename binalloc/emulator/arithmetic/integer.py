"""The functions here are the scalar semantics of the integer and predicate opcodes (ISA.md, chapter "Semantics").

Needs: every 32-bit register value as an int in 0..2^32-1, every predicate and modifier as a small int, a 64-bit value
as the pair (low word, high word). Leaves: results of the same form. A function that also yields a carry returns the sum
`t` before truncation: rd = t & M32, carry = t >> 32.

Every function runs alike as plain Python and compiled by Numba, where ints are 64 bits wide and wrap. For this reason
only low bits are used of an intermediate result that may exceed 64 bits, and shift counts stay below 64. `int()` around
an operand does nothing in compiled code. In plain Python it turns a NumPy integer, which would warn of its overflow,
into a Python int.
"""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.layout import LUT_BITS

M32 = 0xFFFFFFFF  # the low 32 bits of a Python int
SIGN32 = 0x80000000  # the sign bit of a word
MAX63 = 0x7FFFFFFFFFFFFFFF  # all bits of a 64-bit word but the sign


@device(inline=True)
def signed32(x: int) -> int:
    """Return the 32-bit pattern `x` read as a two's complement number."""
    return (x ^ SIGN32) - SIGN32


# -- sums ------------------------------------------------------------------------------------------------------------


@device(inline=True)
def iadd3(a: int, b: int, c: int, nega: int, negb: int, negc: int, x: int, ps0: int, ps1: int) -> int:
    """Compute IADD3. Returns t: rd = t & M32, pd0 = t >> 32 >= 1, pd1 = t >> 32 >= 2."""
    t = (a ^ (M32 * nega)) + (b ^ (M32 * negb)) + (c ^ (M32 * negc))
    return t + (ps0 + ps1 if x else nega + negb + negc)


@device(inline=True)
def sum3(a: int, b: int, c: int, nega: int, negb: int, negc: int) -> int:
    """Compute IADD3 without .X. Only the low word of the result is meaningful."""
    return (a ^ -nega) + (b ^ -negb) + (c ^ -negc) + (nega + negb + negc)


@device(inline=True)
def imad(a: int, b: int, c: int, negc: int) -> int:
    """Compute IMAD: the low word of a*b + c or a*b - c. It is the same for signed and unsigned operands."""
    return (int(a) * int(b) + int((c ^ (M32 * negc)) + negc)) & M32


@device(inline=True)
def imad_wide(a: int, b: int, clo: int, chi: int, u32: int) -> tuple[int, int]:
    """Compute IMAD.WIDE: (low, high) of a*b + c mod 2^64. a and b are signed unless `u32`."""
    if u32:
        t = int(a) * int(b) + ((int(chi) << 32) + int(clo))
    else:
        t = signed32(int(a)) * signed32(int(b)) + ((int(chi) << 32) + int(clo))
    return t & M32, (t >> 32) & M32


@device
def imad_hi(a: int, b: int, c: int, u32: int) -> int:
    """Compute IMAD.HI: bits 32..63 of a*b, plus c, mod 2^32."""
    if u32:
        t = int(a) * int(b)
    else:
        t = signed32(int(a)) * signed32(int(b))
    return ((t >> 32) + c) & M32


@device(inline=True)
def lea(a: int, b: int, shift: int, nega: int, x: int, ps0: int) -> int:
    """Compute LEA. Returns t = ((a or -a) << shift mod 2^32) + b (+ ps0 under .X): rd = t & M32, pd0 = t >> 32."""
    return ((((a ^ (M32 * nega)) + nega) << shift) & M32) + b + (ps0 & x)


@device
def lea_hi(a: int, b: int, c: int, shift: int, x: int, ps0: int) -> int:
    """Compute LEA.HI. Returns t = high word of ({c,a} << shift) + b (+ ps0 under .X): rd = t & M32, pd0 = t >> 32."""
    return (((c << shift) | (a >> (32 - shift))) & M32) + b + (ps0 & x)


@device
def iabs(b: int) -> int:
    """Compute IABS: the absolute value. The most negative number stays."""
    return SIGN32 * 2 - b if b & SIGN32 else b


@device(inline=True)
def imnmx(a: int, b: int, ps0: int, u32: int) -> int:
    """Compute IMNMX: the smaller of a and b where ps0 is set, else the larger."""
    flip = 0 if u32 else SIGN32
    less = (a ^ flip) < (b ^ flip)
    if ps0:
        return a if less else b
    return b if less else a


# -- shifts and bits -------------------------------------------------------------------------------------------------


@device(inline=True)
def shf(a: int, b: int, c: int, right: int, stype: int, hi: int, wrap: int) -> int:
    """Compute SHF: a funnel shift of {c,a}. `right` is field dir, `stype` is U32, S32, U64 or S64."""
    wide = stype >> 1
    if wrap:
        n = b & (31 + 32 * wide)
    else:
        n = min(b, 32 + 32 * wide)
    v = (signed32(c) << 32) | a
    if not right:
        half = n >> 1
        x = (v << half) << (n - half)
    elif stype & 1:
        x = v >> min(n, 63)
    elif n == 0:
        x = v
    else:
        x = ((v >> 1) & MAX63) >> (n - 1)
    return (x >> 32) & M32 if hi else x & M32


@device(inline=True)
def lop3(a: int, b: int, c: int, m0: int, m1: int, m2: int, m3: int, m4: int, m5: int, m6: int, m7: int) -> int:
    """Compute LOP3: bit i of the result is lut[(a_i << 2) | (b_i << 1) | c_i].

    `m0` to `m7` are the bits of the lut, each repeated to a word of 32 bits (`table_masks`). From single bits a
    compiler would make branches.
    """
    nc = ~c
    r00 = (c & m1) | (nc & m0)
    r01 = (c & m3) | (nc & m2)
    r10 = (c & m5) | (nc & m4)
    r11 = (c & m7) | (nc & m6)
    return ((a & ((b & r11) | (~b & r10))) | (~a & ((b & r01) | (~b & r00)))) & M32


def table_masks(lut: int) -> list[int]:
    """Return the 8 bits of a lut as 8 words for `lop3`: all ones for 1, 0 for 0."""
    return [M32 * (lut >> i & 1) for i in range(LUT_BITS)]


@device
def popc(b: int) -> int:
    """Compute POPC: the number of one bits."""
    x = b - ((b >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return ((x * 0x01010101) >> 24) & 0xFF


@device
def leading_one(x: int) -> int:
    """Return the index of the highest one bit of x in 0..2^63-1, or -1 for 0."""
    pos = -1
    step = 32
    while step:
        if x >> step:
            x >>= step
            pos += step
        step >>= 1
    return pos + x


@device
def flo(b: int, u32: int, sh: int) -> int:
    """Compute FLO: the index of the leading one, or all ones if there is none. It is looked for in ~b if b is negative
    and not `u32`. .SH gives 31 - index."""
    x = b if u32 or b < SIGN32 else b ^ M32
    pos = leading_one(x)
    if pos < 0:
        return M32
    return 31 - pos if sh else pos


@device
def brev(b: int) -> int:
    """Compute BREV: bit 31-i of the result is bit i of b."""
    x = ((b >> 1) & 0x55555555) | ((b & 0x55555555) << 1)
    x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2)
    x = ((x >> 4) & 0x0F0F0F0F) | ((x & 0x0F0F0F0F) << 4)
    x = ((x >> 8) & 0x00FF00FF) | ((x & 0x00FF00FF) << 8)
    return (x >> 16) | ((x & 0xFFFF) << 16)


@device
def prmt_byte(v_lo: int, v_hi: int, nibble: int) -> int:
    """Return one byte of {v_hi,v_lo} chosen by a selector nibble. Bit 3 replicates the byte's sign."""
    word = v_hi if nibble & 4 else v_lo
    byte = (word >> (8 * (nibble & 3))) & 0xFF
    if nibble & 8:
        return 0xFF * (byte >> 7)
    return byte


@device
def prmt(a: int, b: int, c: int, mode: int) -> int:
    """Compute PRMT: four bytes of {c,a} chosen by selector b. The modes are "" F4E B4E RC8 ECL ECR RC16."""
    s = b & 3
    result = 0
    for j in range(4):
        if mode == 0:
            pick = (b >> (4 * j)) & 15
        elif mode == 1:
            pick = s + j
        elif mode == 2:
            pick = (s - j) & 7
        elif mode == 3:
            pick = s
        elif mode == 4:
            pick = max(s, j)
        elif mode == 5:
            pick = min(s, j)
        else:
            pick = ((s & 1) << 1) | (j & 1)
        result |= prmt_byte(a, c, pick) << (8 * j)
    return result


@device(inline=True)
def sel(a: int, b: int, ps0: int) -> int:
    """Compute SEL: a where ps0 is set, else b."""
    return a if ps0 else b


@device(inline=True)
def mov(b: int) -> int:
    """Compute MOV: copy b."""
    return b


# -- predicates ------------------------------------------------------------------------------------------------------


@device(inline=True)
def icompare(a: int, b: int, icmp: int, u32: int, ex: int, ps1: int) -> int:
    """Return ISETP's comparison, 0 or 1. `icmp` is a mask: 1 less, 2 equal, 4 greater. EX: on equality ps1 decides."""
    flip = 0 if u32 else SIGN32
    x = a ^ flip
    y = b ^ flip
    if x < y:
        return icmp & 1
    if x > y:
        return icmp >> 2
    if ex and icmp != 0 and icmp != 7:
        return ps1
    return (icmp >> 1) & 1


@device(inline=True)
def bool_op(r: int, p: int, bop: int) -> int:
    """Combine a comparison with a predicate by AND, OR or XOR. pd0 = bool_op(r, ps0), pd1 = bool_op(1 - r, ps0)."""
    if bop == 0:
        return r & p
    if bop == 1:
        return r | p
    return r ^ p


@device
def plop3(p0: int, p1: int, p2: int, lut: int) -> int:
    """Return one result of PLOP3: lut[(p0 << 2) | (p1 << 1) | p2]."""
    return (lut >> ((p0 << 2) | (p1 << 1) | p2)) & 1


@device
def p2r(a: int, preds: int, mask: int) -> int:
    """Compute P2R: replace the bits of `a` under the 7-bit mask by predicates (bit i = P_i)."""
    return (a & (M32 ^ mask)) | (preds & mask)


# -- warp ------------------------------------------------------------------------------------------------------------


@device
def shfl_source(mode: int, lane: int, b: int, c: int) -> tuple[int, int]:
    """Return (source lane, in range) of SHFL for lane `lane`. The modes are IDX UP DOWN BFLY; c = clamp | segment mask
    << 8."""
    delta = b & 31
    seg = (c >> 8) & 31
    last = (lane & seg) | (c & 31 & ~seg)
    if mode == 0:
        j = (lane & seg) | (delta & ~seg)
        inside = j <= last
    elif mode == 1:
        j = lane - delta
        inside = j >= last
    elif mode == 2:
        j = lane + delta
        inside = j <= last
    else:
        j = lane ^ delta
        inside = j <= last
    return (j, 1) if inside else (lane, 0)
