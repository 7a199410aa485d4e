"""What geluLayernorm computes, in f64, rounded once at the end: halves differ in their last bits."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    x, residual, bias, gamma, beta = (
        inputs[name].astype(np.float64) for name in ("x", "residual", "bias", "gamma", "beta")
    )
    v = x + bias
    v = 0.5 * v * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (v + 0.044715 * v**3))) + residual
    v -= v.mean(axis=1, keepdims=True)
    v /= np.sqrt((v * v).mean(axis=1, keepdims=True) + inputs["epsilon"])
    return {"y": (v * gamma + beta).astype(np.float16)}
