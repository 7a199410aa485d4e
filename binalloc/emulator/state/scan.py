"""Bit scans of non-negative masks, and division of what is not negative: the `python` engine's side (`scan_numba.py`
holds the compiled counterparts)."""

from __future__ import annotations


def lowest_bit(x: int) -> int:
    """Index of the lowest one bit; x > 0."""
    x = int(x)
    return (x & -x).bit_length() - 1


def count_bits(x: int) -> int:
    """Number of one bits; x >= 0."""
    return int(x).bit_count()


def quotient(x: int, y: int) -> int:
    """x // y; x >= 0, y > 0."""
    return x // y
