"""Which numbers of a floating-point type a range has.

Needs the dtypes. Leaves true: what has been rounded to the type lies in the range that it was drawn from, and what did
so before is as it was.
"""

from __future__ import annotations

import numpy as np

from binalloc.launch.dtypes import Array, plain_bits, rounded, shown


def ends(low: float, high: float, dtype: str) -> tuple[Array, Array]:
    """The elements of a floating-point type that are nearest to the ends of a range, `high` not in it: the first that
    is no less than `low`, and the last that is less than `high`. The first is above the last where the range has
    none. Integers are taken as they are."""
    first, last = (_ordered(rounded(float(end), dtype)) for end in (low, high))
    while _number(first, dtype) < low:
        first += 1
    while _number(last, dtype) >= high:
        last -= 1
    return _element(first, dtype), _element(last, dtype)


def has_numbers(low: float, high: float, dtype: str) -> bool:
    """Whether the type has any number of low <= number < high."""
    first, last = (float(shown(end, dtype)) for end in ends(low, high, dtype))
    return first <= last


def held(elements: Array, low: float, high: float, dtype: str) -> Array:
    """Elements with the range's nearest in place of those that rounding has put outside of it."""
    first, last = ends(low, high, dtype)
    numbers = shown(elements, dtype)
    return np.where(numbers < shown(first, dtype), first, np.where(numbers > shown(last, dtype), last, elements))


def _ordered(element: Array) -> int:
    """A number for each element, the next one for the next larger: both zeros have 0."""
    bits, sign = int(plain_bits(element.reshape(1))[0]), 1 << 8 * element.dtype.itemsize - 1
    return bits if bits < sign else sign - bits


def _element(ordered: int, dtype: str) -> Array:
    """The element that has that number."""
    like = rounded(0.0, dtype).dtype
    sign = 1 << 8 * like.itemsize - 1
    return np.array(ordered if ordered >= 0 else sign - ordered, f"<u{like.itemsize}").view(like)


def _number(ordered: int, dtype: str) -> float:
    return float(shown(_element(ordered, dtype), dtype))
