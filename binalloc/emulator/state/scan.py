"""This module has bit scans of non-negative masks and divisions of non-negative numbers for the `python` engine.
`scan_numba.py` has their compiled counterparts."""

from __future__ import annotations


def lowest_bit(x: int) -> int:
    """Return the index of the lowest one bit of x, which is above 0."""
    x = int(x)
    return (x & -x).bit_length() - 1


def count_bits(x: int) -> int:
    """Return the number of one bits of x, which is not negative."""
    return int(x).bit_count()


def quotient(x: int, y: int) -> int:
    """Return x // y, where x is not negative and y is above 0."""
    return x // y
