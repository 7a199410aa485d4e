"""Floats as files write them: rounded to their type once, from the decimal digits.

Needs nothing but the sizes of types. Leaves true: a float of `rounds_once` gives, rounded to its type, the number of
that type that is nearest to what was written.
"""

from __future__ import annotations

import math
from decimal import Decimal

from binalloc.launch.dtypes import BF16

_DIGITS = {"f16": 11, BF16: 8, "f32": 24}
"""Binary digits of the types that are narrower than Python's floats."""


class Written(float):
    """A float that remembers the text it was written as."""

    text: str

    def __new__(cls, text: str) -> Written:
        made = super().__new__(cls, text)
        made.text = text
        return made

    @property
    def beyond(self) -> bool:
        """Whether digits stand for a number that is larger than any float."""
        return math.isinf(self) and "n" not in self.text.lower()  # as inf and infinity have


def rounds_once(value: int | float, dtype: str) -> float:
    """The value as a float that rounds to `dtype` as the number that was written does. Rounded to 53 bits, a number
    may lie half way between two of a narrower type, to one side of which it was: there it is the next float to that
    side."""
    nearest = float(value)
    digits = _DIGITS.get(dtype)
    if digits is None or nearest == 0 or not math.isfinite(nearest):
        return nearest
    if not (math.frexp(nearest)[0] * 2.0 ** (digits + 1)).is_integer():
        return nearest
    exact = Decimal(value.text) if isinstance(value, Written) else value
    if exact == nearest:
        return nearest
    return math.nextafter(nearest, math.inf if exact > nearest else -math.inf)
