"""Bit scans of non-negative masks: the `python` engine's side (`scan_numba.py` holds the compiled counterparts)."""

from __future__ import annotations


def lowest_bit(x: int) -> int:
    """Index of the lowest one bit; x > 0."""
    x = int(x)
    return (x & -x).bit_length() - 1


def count_bits(x: int) -> int:
    """Number of one bits; x >= 0."""
    return int(x).bit_count()
