"""The depth of every node that can be reached from node 0, -1 for the others, by a queue."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    n, degree = inputs["n"], inputs["degree"]
    edges = inputs["edges"].reshape(n, degree)
    depth = np.full(n, -1, np.int32)
    depth[0] = 0
    queue = deque([0])
    while queue:
        i = queue.popleft()
        for to in edges[i]:
            if depth[to] < 0:
                depth[to] = depth[i] + 1
                queue.append(int(to))
    reached = (depth >= 0).astype(np.int8)
    empty = np.zeros(n, np.int8)
    return {"depth": depth, "seen": reached, "frontier": empty, "found": empty, "more": np.zeros(1, np.int32)}
