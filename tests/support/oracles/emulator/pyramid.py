"""Levels of mipmaps, texel by texel: each the mean of those below that it stands for."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def pyramid(texels: Array, levels: int, layered: bool = False) -> tuple[Array, ...]:
    """The levels above the first, of texels (*sides, channels); layered: the first side stays."""
    out, below = [], texels
    for _ in range(levels - 1):
        fixed = int(layered)
        sides = [n if k < fixed else max(n // 2, 1) for k, n in enumerate(below.shape[:-1])]
        level = np.zeros((*sides, below.shape[-1]), below.dtype)
        for place in product(*map(range, sides)):
            spans = [(i,) if k < fixed or below.shape[k] == 1 else (2 * i, 2 * i + 1) for k, i in enumerate(place)]
            for c in range(below.shape[-1]):
                level[place][c] = _mean([below[(*at, c)] for at in product(*spans)], below.dtype)
        out.append(level)
        below = level
    return tuple(out)


def _mean(values: list[Any], dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.float32(sum(float(v) for v in values) / len(values))
    return (2 * sum(int(v) for v in values) + len(values)) // (2 * len(values))  # halves go up
