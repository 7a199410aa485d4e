"""What outliers leaves: how many readings of each group of a block are far off, and by how much together."""

from __future__ import annotations

from typing import Any

import numpy as np

GROUPS = 32


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    off = np.abs(inputs["values"].astype(np.int64) - inputs["centre"])
    far = off > 3 * inputs["spread"]
    sensor = np.arange(inputs["sensors"])
    place = sensor // launch.block[0] * GROUPS + sensor % GROUPS
    counts, excess = (np.zeros(launch.grid[0] * GROUPS, np.int64) for _ in range(2))
    np.add.at(counts, place, far.sum(axis=0))
    np.add.at(excess, place, np.where(far, off, 0).sum(axis=0))
    shape = (launch.grid[0], GROUPS)
    return {"counts": counts.astype(np.int32).reshape(shape), "excess": excess.reshape(shape)}
