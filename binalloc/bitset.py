"""Sets of small numbers are Python integers here: bit n is set where n is in the set. Needs and leaves nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

_LONG = 2048  # bits of a mask from which on arrays are faster: taking one bit off a mask copies all of it
_BYTES = 1 << 22  # bytes of masks that `rows_of_bits` unpacks in one step: bounds its memory; chosen by hand


def bits(mask: int) -> list[int]:
    """Return the positions of the one bits of `mask`, ascending, in time near-linear in the mask's length and their
    number."""
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


def rows_of_bits(masks: Sequence[int]) -> list[list[int]]:
    """Return `bits` of each mask, all in one step. That is much faster for many long masks with few members."""
    longest = max((mask.bit_length() for mask in masks), default=0)
    if longest <= _LONG:
        return [bits(mask) for mask in masks]
    width = (longest + 7) // 8
    some = max(1, _BYTES // width)
    found: list[list[int]] = []
    for first in range(0, len(masks), some):
        part = masks[first : first + some]
        raw = np.frombuffer(b"".join([mask.to_bytes(width, "little") for mask in part]), np.uint8)
        at = np.flatnonzero(raw)
        which, column = np.nonzero(np.unpackbits(raw[at], bitorder="little").reshape(-1, 8))
        row, numbers = at[which] // width, (at[which] % width * 8 + column).tolist()
        ends = np.cumsum(np.bincount(row, minlength=len(part))).tolist()
        found += [numbers[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return found


def mask_from(numbers: Iterable[int]) -> int:
    """Return the bitset that holds `numbers`."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def long_mask(numbers: Collection[int]) -> int:
    """Return the same as `mask_from`, in time of the count of numbers plus the largest, not of their product."""
    raw = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        raw[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(raw, "little")


def lowest(mask: int) -> int:
    """Return the smallest member of a set that is not empty."""
    return (mask & -mask).bit_length() - 1
