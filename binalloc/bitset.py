"""Sets of small numbers as Python integers: bit n set means n is in the set. Needs and leaves nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

_LONG = 2048
"""Length in bits from which taking bits off one by one, each in time of the whole length, is slower than arrays."""


def bits(mask: int) -> list[int]:
    """Positions of the one bits of `mask`, ascending. Near-linear in its length and their number."""
    if mask.bit_length() > _LONG:
        raw = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
        at = np.flatnonzero(raw)
        rows, columns = np.nonzero(np.unpackbits(raw[at], bitorder="little").reshape(-1, 8))
        found: list[int] = (at[rows] * 8 + columns).tolist()
        return found
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def mask_from(numbers: Iterable[int]) -> int:
    """The bitset that holds `numbers`."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def lowest(mask: int) -> int:
    """Smallest member of a set that is not empty."""
    return (mask & -mask).bit_length() - 1
