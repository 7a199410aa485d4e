"""The functions here compute what an atomic operation stores (ISA.md, chapter "Semantics"). They do not access memory:
their callers do.

Needs: old value and operands as words, 64-bit ones as pairs (low, high); fields aop and atyp as in `ATOMIC_OPS` and
`ATOMIC_TYPES`, in a combination for which `atomic_legal` is 1. Leaves: the word or pair to store. The instruction's
result is the old value.
"""

from __future__ import annotations

from binalloc.emulator.arithmetic.float32 import fadd_rn
from binalloc.emulator.arithmetic.float64 import MIN64, dadd_rn, long_from_pair, pair_from_long
from binalloc.emulator.arithmetic.half import hadd2_atomic
from binalloc.emulator.arithmetic.integer import SIGN32
from binalloc.emulator.state.device import device

M32 = 0xFFFFFFFF  # the low 32 bits of a Python int


@device
def atomic_legal(aop: int, atyp: int) -> int:
    """Return 1 if the operation exists for the type, else 0. Floats have ADD, EXCH and CAS only; INC and DEC exist for
    unsigned 32 bits only."""
    if aop > 9 or atyp > 7:
        return 0
    if atyp >= 4:
        return 1 if aop == 0 or aop >= 8 else 0
    if aop == 3 or aop == 4:
        return 1 if atyp == 0 else 0
    return 1


@device(inline=True)
def adds_halves(aop: int, atyp: int) -> int:
    """Return 1 if the operation adds to the two halves of a word, each by itself, else 0."""
    return 1 if aop == 0 and atyp >= 6 else 0


@device
def atomic32(aop: int, atyp: int, old: int, b: int, c: int) -> int:
    """Return the 32-bit word to store. CAS stores c where old equals b."""
    if adds_halves(aop, atyp):
        return hadd2_atomic(old, b, atyp - 6)
    if aop == 0:
        return fadd_rn(old, b) if atyp == 4 else (old + b) & M32
    if aop == 1 or aop == 2:
        flip = SIGN32 if atyp == 1 else 0
        return b if ((b ^ flip) < (old ^ flip)) == (aop == 1) else old
    if aop == 3:
        return 0 if old >= b else old + 1
    if aop == 4:
        return b if old == 0 or old > b else old - 1
    if aop == 5:
        return old & b
    if aop == 6:
        return old | b
    if aop == 7:
        return old ^ b
    if aop == 8:
        return b
    return c if old == b else old


@device
def atomic64(aop: int, atyp: int, olo: int, ohi: int, blo: int, bhi: int, clo: int, chi: int) -> tuple[int, int]:
    """Return the 64-bit pair (low, high) to store. CAS stores c where old equals b."""
    if aop == 0:
        if atyp == 5:
            return dadd_rn(olo, ohi, blo, bhi)
        return pair_from_long(long_from_pair(olo, ohi) + long_from_pair(blo, bhi))
    if aop == 1 or aop == 2:
        flip = MIN64 if atyp == 2 else 0
        less = (long_from_pair(blo, bhi) ^ flip) < (long_from_pair(olo, ohi) ^ flip)
        return (blo, bhi) if less == (aop == 1) else (olo, ohi)
    if aop == 5:
        return olo & blo, ohi & bhi
    if aop == 6:
        return olo | blo, ohi | bhi
    if aop == 7:
        return olo ^ blo, ohi ^ bhi
    if aop == 8:
        return blo, bhi
    return (clo, chi) if olo == blo and ohi == bhi else (olo, ohi)
