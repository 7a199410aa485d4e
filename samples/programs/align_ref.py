"""The table row by row."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    n, gap, similar = inputs["n"], inputs["gap"], inputs["similar"]
    score = np.zeros((n + 1, n + 1), np.int32)
    score[0] = score[:, 0] = -gap * np.arange(n + 1)
    for y in range(1, n + 1):
        for x in range(1, n + 1):
            match = score[y - 1, x - 1] + similar[y, x]
            score[y, x] = max(match, score[y, x - 1] - gap, score[y - 1, x] - gap)
    return {"score": score}
