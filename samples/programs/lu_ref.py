"""Gaussian elimination without pivots, in double precision: multipliers below the diagonal, the rest above."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    n = inputs["n"]
    m = inputs["m"].astype(np.float64)
    np.fill_diagonal(m, [n + i % 7 for i in range(n)])
    for k in range(n - 1):
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return {"m": m.astype(np.float32)}
