"""How much is tried for one function: all ways while it is small, what is likely to win where it is large."""

from __future__ import annotations

from binalloc.transform.virtual.analysed import Analysed

LARGE = 5_000
"""Items; a kernel of samples or libraries has hundreds to two thousand."""


def is_large(given: Analysed) -> bool:
    return len(given.flat.items) > LARGE


SEARCHED = 800
"""Items up to which what was chosen is searched further; of a thousand it would take half as long again."""


def is_searched(given: Analysed) -> bool:
    return len(given.flat.items) <= SEARCHED
