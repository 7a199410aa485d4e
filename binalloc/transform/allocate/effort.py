"""How much is tried for one function: all ways while it is small, what is likely to win where it is large."""

from __future__ import annotations

from binalloc.transform.virtual.analysed import Analysed

LARGE = 5_000
"""Items; a kernel of samples or libraries has hundreds to two thousand."""


def is_large(given: Analysed) -> bool:
    return len(given.flat.items) > LARGE
