"""Nearest centres, changes and sums of distances in kmeans.cu's order and roundings."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

THREADS = 576


def reference(inputs, launch):
    features, points = inputs["features"], inputs["points"]
    distances = np.zeros((inputs["clusters"], points), np.float32)
    for d in range(inputs["dimensions"]):
        off = features[d] - inputs["centres"][:, d, None]
        distances = fma32(off, off, distances)
    cluster = np.argmin(distances, axis=0).astype(np.int32)

    def over_blocks(values):
        out = np.zeros(launch.grid[0] * THREADS, values.dtype)
        out[:points] = values
        out = out.reshape(-1, THREADS)
        while out.shape[1] > 9:
            half = out.shape[1] // 2
            out = out[:, :half] + out[:, half:]
        total = out[:, 0]
        for i in range(1, 9):
            total = total + out[:, i]
        return total

    changes = over_blocks((cluster != inputs["cluster"]).astype(np.int32))
    return {"cluster": cluster, "changes": changes, "sums": over_blocks(distances.min(axis=0))}
