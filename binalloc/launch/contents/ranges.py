"""The numbers of a floating-point type in a range are found here.

Needs the dtypes. Leaves true: rounding moves no number out of the range from which it was drawn; numbers in the range
stay as they are.
"""

from __future__ import annotations

import numpy as np

from binalloc.launch.numbers.dtypes import Array, plain_bits, rounded, shown


def ends(low: float, high: float, dtype: str) -> tuple[Array, Array]:
    """Return the elements of a floating-point type at the ends of a range without `high`: the first not less than
    `low`, and the last less than `high`. The first is above the last where the range has none. Integers are taken as
    they are."""
    first, last = (_ordered(rounded(float(end), dtype)) for end in (low, high))
    while _number(first, dtype) < low:
        first += 1
    while _number(last, dtype) >= high:
        last -= 1
    return _element(first, dtype), _element(last, dtype)


def has_numbers(low: float, high: float, dtype: str) -> bool:
    """Return whether the type has any number with low <= number < high."""
    first, last = (float(shown(end, dtype)) for end in ends(low, high, dtype))
    return first <= last


def held(elements: Array, low: float, high: float, dtype: str) -> Array:
    """Return the elements, with the nearest ones of the range in place of those that rounding has moved out of it."""
    first, last = ends(low, high, dtype)
    numbers = shown(elements, dtype)
    return np.where(numbers < shown(first, dtype), first, np.where(numbers > shown(last, dtype), last, elements))


def _ordered(element: Array) -> int:
    """Return a number for each element, so that the next larger element has the next number. Both zeros have 0."""
    bits, sign = int(plain_bits(element.reshape(1))[0]), 1 << 8 * element.dtype.itemsize - 1
    return bits if bits < sign else sign - bits


def _element(ordered: int, dtype: str) -> Array:
    """Return the element that has that number."""
    like = rounded(0.0, dtype).dtype
    sign = 1 << 8 * like.itemsize - 1
    return np.array(ordered if ordered >= 0 else sign - ordered, f"<u{like.itemsize}").view(like)


def _number(ordered: int, dtype: str) -> float:
    """Return the value of the element that has that number."""
    return float(shown(_element(ordered, dtype), dtype))
