"""The pressure by elimination, row of cells by row of cells, in double precision; and the matrix, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

WALLS = (1.0, 0.0, 0.25, 0.5)  # west, east, north, south


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    k = inputs["permeability"].astype(np.float64)
    down, across = k.shape
    faces = np.zeros((4, down, across))  # towards west, east, north, south
    beside, below = (2 * a * b / (a + b) for a, b in ((k[:, 1:], k[:, :-1]), (k[1:], k[:-1])))
    faces[0, :, 1:], faces[1, :, :-1], faces[2, 1:], faces[3, :-1] = beside, beside, below, below
    open_ = faces == 0
    diagonal = np.where(open_, 2 * k, faces).sum(axis=0)
    right = inputs["source"] + np.where(open_, 2 * k * np.reshape(WALLS, (4, 1, 1)), 0).sum(axis=0)

    found, factors = np.zeros((down, across)), []
    for y in range(down):  # each row of cells, less what those above it leave
        block = np.diag(diagonal[y]) - np.diag(faces[1, y, :-1], 1) - np.diag(faces[0, y, 1:], -1)
        if y:
            up = faces[2, y]
            block -= up[:, None] * factors[-1]
            right[y] += up * found[y - 1]
        found[y] = np.linalg.solve(block, right[y])
        factors.append(np.linalg.solve(block, np.diag(faces[3, y])))
    for y in reversed(range(down - 1)):
        found[y] += factors[y] @ found[y + 1]

    at = np.arange(down * across)
    steps = np.reshape((-1, 1, -across, across), (4, 1))
    columns = np.concatenate([at[None], at + np.where(open_.reshape(4, -1), 0, steps)])
    return {"x": found.astype(np.float32), "columns": columns.astype(np.int32)}
