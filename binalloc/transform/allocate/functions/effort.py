"""This module decides how much is tried for one function: everything for a small one, the likely winners for a large
one."""

from __future__ import annotations

from binalloc.transform.virtual.analysed import Analysed

LARGE = 5_000
"""upper limit of items of code that is not large; a kernel of samples or libraries has hundreds to two thousand"""


def is_large(given: Analysed) -> bool:
    return len(given.flat.items) > LARGE


SEARCHED = 800
"""Upper limit of items for which a choice is searched further. For a thousand items it would take half as long
again."""


def is_searched(given: Analysed) -> bool:
    return len(given.flat.items) <= SEARCHED
