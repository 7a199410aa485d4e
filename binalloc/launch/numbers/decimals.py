"""Floats of files are rounded to their type once, from the decimal digits that are written.

Needs nothing but the sizes of types. Leaves true: a float from `rounds_once`, rounded to its type, is the number of
that type nearest to the written digits.
"""

from __future__ import annotations

import math
from decimal import Decimal

from binalloc.launch.numbers.dtypes import BF16

_DIGITS = {"f16": 11, BF16: 8, "f32": 24}  # binary digits of the types that are narrower than Python's floats


class WrittenFloat(float):
    """A written float remembers its text in the file."""

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        made = super().__new__(cls, text)
        made.text = text
        return made

    @property
    def beyond(self) -> bool:
        """Return whether its digits stand for a number that is larger than any float."""
        return math.isinf(self) and "n" not in self.text.lower()  # inf, infinity and nan have an n, digits have none


def rounds_once(value: int | float, dtype: str) -> float:
    """Return the value as a float that rounds to `dtype` as the written digits do. Rounded to 53 bits, a number may
    come to lie exactly half way between two of a narrower type, though it was to one side. There the result is the next
    float to that side."""
    nearest = float(value)
    digits = _DIGITS.get(dtype)
    if digits is None or nearest == 0 or not math.isfinite(nearest):
        return nearest
    if not (math.frexp(nearest)[0] * 2.0 ** (digits + 1)).is_integer():
        return nearest
    exact = Decimal(value.text) if isinstance(value, WrittenFloat) else value
    if exact == nearest:
        return nearest
    return math.nextafter(nearest, math.inf if exact > nearest else -math.inf)
