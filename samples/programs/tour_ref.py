"""The shortest tour by dynamic programming over the sets of cities that a way goes through (Held and Karp)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    distance, n = inputs["distance"].astype(int), inputs["cities"]
    ways = {(1 << k, k): (int(distance[0, k]), (k,)) for k in range(1, n)}
    for size in range(2, n):
        for through in combinations(range(1, n), size):
            seen = sum(1 << k for k in through)
            for last in through:
                before = [(ways[seen & ~(1 << last), k], k) for k in through if k != last]
                ways[seen, last] = min((way[0] + int(distance[k, last]), (*way[1], last)) for way, k in before)
    every = (1 << n) - 2
    whole = [(ways[every, k][0] + int(distance[k, 0]), (0, *ways[every, k][1])) for k in range(1, n)]
    length, tour = min(whole)
    away = distance + np.where(np.eye(n, dtype=bool), 1 << 30, 0)
    return {
        "bound": np.array([length], np.int32),
        "tour": np.array(tour, np.int8),
        "least": away.min(axis=1).astype(np.int32),
        "open": np.zeros(1, np.int32),
    }
