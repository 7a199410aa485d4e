"""Sets of small numbers as Python integers: bit n set means n is in the set. Needs and leaves nothing else."""

from __future__ import annotations

from collections.abc import Iterable


def bits(mask: int) -> list[int]:
    """Positions of the one bits of `mask`, ascending."""
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
