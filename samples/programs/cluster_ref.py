"""Means of clusters, for the host step; and the whole of it in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def centre(arguments: dict[str, Any]) -> None:
    """Each cluster's mean in single precision; a cluster without points keeps its centre."""
    points, cluster, means = arguments["points"], arguments["cluster"], arguments["means"]
    for k in range(len(means)):
        if (cluster == k).any():
            means[k] = points[cluster == k].mean(axis=0, dtype=np.float64)


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    points, k = inputs["points"], inputs["k"]
    centres, cluster, means = points[:k].copy(), np.full(len(points), -1, np.int32), np.zeros((k, 2), np.float32)
    moved = len(points)
    while moved > inputs["few"]:
        nearest = np.argmin(((points[:, None] - centres[None]) ** 2).sum(axis=2), axis=1).astype(np.int32)
        moved = int((nearest != cluster).sum())
        cluster = nearest
        centre({"points": points, "cluster": cluster, "means": means})
        centres = means
    return {"cluster": cluster, "means": means, "centres": means}
