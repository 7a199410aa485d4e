"""Orders of blocks are defined here a second time, for the checker alone: by sorting, with no arithmetic of an order.

A block of a grid has a key, and the blocks are dealt in ascending order of their keys. So what is defined is always a
permutation.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Three = tuple[int, int, int]
_ORDER = re.compile(r"tile:(?P<w>[1-9][0-9]{0,9})x(?P<h>[1-9][0-9]{0,9})|mod:(?P<m>[1-9][0-9]{0,9})"
                    r"|stride:(?P<n>[1-9][0-9]{0,9})", re.ASCII)  # fmt: skip


def numbers_of(order: str, grid: Three, sms: int) -> Numbers | None:
    """Return as which block each dealt one works, by number; None for what is no order. sms: to which hardware deals
    blocks in turn."""
    found = _ORDER.fullmatch(order)
    if found is None:
        return None
    block = np.arange(grid[0] * grid[1] * grid[2], dtype=np.int64)
    x, y, z = block % grid[0], block // grid[0] % grid[1], block // (grid[0] * grid[1])
    given = {name: int(value) for name, value in found.groupdict().items() if value is not None}
    if "m" in given:
        return _sorted(block % given["m"], block)
    if "n" in given:
        stride = given["n"]
        group = block // (stride * sms)
        whole = group < block.size // (stride * sms)  # the blocks behind the last whole group stay in order
        within = block % (stride * sms)
        return _sorted(group, np.where(whole, within % stride, 0), np.where(whole, within // stride, within))
    wide, high = given["w"], given["h"]
    return _sorted(z, y // high, x // wide, y, x)


def _sorted(*keys: Numbers) -> Numbers:
    """Return the blocks by their keys, the first key before all others."""
    return np.lexsort(keys[::-1]).astype(np.int64)
