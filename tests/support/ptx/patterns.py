"""Operands as bit patterns: what breaks things of each PTX type, and random ones of all magnitudes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
NUMPY: dict[str, Any] = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "pred": np.dtype(np.uint32),
}
"""PTX type -> dtype of its array; a predicate is a word, 0 or 1 on output, any number on input."""


def specials(type_: str) -> list[int]:
    """Bit patterns of a type that break things: zeros, ones, extremes, powers of two and their neighbours; of floats
    infinities, NaN, subnormals, halves, limits of the integer types."""
    if type_ in ("f32", "f64"):
        return _float_specials(type_)
    bits = 8 * NUMPY[type_].itemsize
    mask = (1 << bits) - 1
    out = {0, 1, 2, 3, 7, 10, 31, 32, 33, 63, 64, 100, 255, mask, mask - 1, 1 << bits - 1, (1 << bits - 1) - 1}
    out |= {(1 << k) & mask for k in range(0, bits, max(1, bits // 16))}
    out |= {((1 << k) - 1) & mask for k in range(0, bits + 1, max(1, bits // 8))}
    out |= {(-(1 << k)) & mask for k in range(0, bits, max(1, bits // 8))} | {-3 & mask, -7 & mask}
    out |= {0x5555555555555555 & mask, 0xDEADBEEFCAFEF00D & mask, 0x8000000000000001 & mask}
    return sorted(out)


def _float_specials(type_: str) -> list[int]:
    limits = [2.0**k for k in (0, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, -1, -2, -24, -25)]
    values = [0.0, 0.5, 1.5, 2.5, 3.5, 0.49999997, 0.1, 1 / 3, 3.0, 100.25, 1e10, 1e30]
    values += [x * s for x in limits for s in (1.0, 1 + 2.0**-23, 1 - 2.0**-24)] + [x - 0.5 for x in limits[1:]]
    dtype, word = (np.float32, np.uint32) if type_ == "f32" else (np.float64, np.uint64)
    patterns = [int(x) for x in np.array(values, dtype).view(word)]
    if type_ == "f32":
        patterns += [0x7F800000, 0x7FC00000, 0x7F800001, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF]
        sign = 1 << 31
    else:
        patterns += [0x7FF << 52, 0x7FF8 << 48, (0x7FF << 52) + 1, 1, (1 << 52) - 1, 1 << 52, (0x7FF << 52) - 1]
        patterns += [0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x3690000000000000, 0x3690000000000001, 0x380FFFFFE0000000]
        sign = 1 << 63
    return sorted({*patterns, *(p | sign for p in patterns)})


def pairs_of(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
    """All combinations, as two lists."""
    return [x for x in a for _ in b], [y for _ in a for y in b]


def patterns(values: Sequence[int], type_: str) -> Array:
    """Bit patterns as an array of the type."""
    size = NUMPY[type_].itemsize
    return np.array(values, dtype=f"u{size}").view(NUMPY[type_])


def random_patterns(type_: str, count: int, seed: int) -> list[int]:
    """Random patterns of all magnitudes, some near one another."""
    rng = random.Random(f"{type_} {seed}")
    bits = 8 * NUMPY[type_].itemsize
    if type_ in ("f32", "f64"):
        return [rng.getrandbits(bits) for _ in range(count)]
    return [rng.getrandbits(rng.randint(1, bits)) ^ (rng.choice((0, (1 << bits) - 1))) for _ in range(count)]
