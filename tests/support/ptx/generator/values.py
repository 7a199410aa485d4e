"""Random patterns of values, special ones often."""

from __future__ import annotations

import random

from tests.support.ptx.generator.options import BYTES

SPECIAL_INTS = (0, 1, 2, 3, 7, 31, 32, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000)
SPECIAL_F32 = (
    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x4B800001, 0x5F000000, 0xCF000000,
    0x4F7FFFFF, 0x3F000000, 0x3FC00000, 0x40200000, 0x33800000, 0x7E967699, 0x0DA24260,
)  # fmt: skip
SPECIAL_F64 = (
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000,
    0x3FF0000000000000, 0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFF0000000000000,
    0x7FF0000000000000, 0x7FF8000000000000, 0xFFF8000000012345, 0x41DFFFFFFFC00000, 0xC1E0000000000000,
    0x43E0000000000000, 0x3810000000000000, 0x36A0000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000,
    0x3FE0000000000000, 0x4004000000000000, 0x3FF0000010000000, 0x43F0000000000000, 0x2000000000000001,
)  # fmt: skip

SPECIAL_F16 = (
    0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x3BFF, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
    0x7E00, 0xFD23, 0x6400, 0x6801, 0x5BF8, 0xD800, 0x3800, 0x3E00, 0x4100, 0x1400, 0x0801, 0x7800,
)  # fmt: skip
SPECIAL_BF16 = (
    0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x3F7F, 0x3F81, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
    0x7FC0, 0xFFA3, 0x4300, 0x4381, 0x4F00, 0xCF00, 0x4F7F, 0x3F00, 0x3FC0, 0x4020, 0x3B80, 0x0101, 0x5F00, 0x477F,
)  # fmt: skip
"""Of both: neighbours of limits of integers, ties, squares that underflow."""


def random_half(rng: random.Random, c: str) -> int:
    """A pattern of f16 (class x) or bf16 (y)."""
    bias, mantissa, special = (15, 10, SPECIAL_F16) if c == "x" else (127, 7, SPECIAL_BF16)
    pick, sign = rng.random(), rng.getrandbits(1) << 15
    if pick < 0.35:
        return rng.choice(special)
    if pick < 0.55:
        return sign | rng.getrandbits(mantissa)  # subnormal
    if pick < 0.85:
        return sign | bias + rng.randint(-9, 9) << mantissa | rng.getrandbits(mantissa)
    return rng.getrandbits(16)


def random_bits(rng: random.Random, c: str) -> int:
    """A pattern of a class, special ones often."""
    if c in "xy":
        return random_half(rng, c)
    width = 8 * BYTES[c]
    if c in "fg":
        special = SPECIAL_F32 if c == "f" else SPECIAL_F64
        if rng.random() < 0.4:
            return rng.choice(special)
        if rng.random() < 0.5:
            bias, mantissa = (127, 23) if c == "f" else (1023, 52)
            exponent = bias + rng.randint(-20, 20)
            return rng.getrandbits(1) << (width - 1) | exponent << mantissa | rng.getrandbits(mantissa)
        return rng.getrandbits(width)
    if rng.random() < 0.5:
        value = rng.choice(SPECIAL_INTS)
        value = -value if rng.random() < 0.3 else value
        value = ~value << max(0, width - 17) if rng.random() < 0.1 else value
        return value & ((1 << width) - 1)
    return rng.getrandbits(width) >> rng.choice((0, 0, 0, width // 2, width - 6))
