"""What transformer computes, in f64, rounded once at the end: halves differ in their last bits."""

from __future__ import annotations

from typing import Any

import numpy as np

HEAD = 32


def reference(inputs: dict[str, Any], launch: Any) -> dict[str, Any]:
    given = {name: array.astype(np.float64) for name, array in inputs.items() if isinstance(array, np.ndarray)}
    x = given["x"]
    shape = (inputs["sequences"], inputs["tokens"], inputs["width"] // HEAD, HEAD)

    def normal(layer: int, which: int) -> Any:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        return scaled * given["gamma"][layer, which] + given["beta"][layer, which]

    def dense(v: Any, name: str, layer: int) -> Any:
        return v @ given[f"w_{name}"][layer] + given[f"b_{name}"][layer]

    for layer in range(inputs["layers"]):
        parts = np.split(dense(normal(layer, 0), "qkv", layer), 3, axis=1)
        q, k, v = (part.reshape(shape).transpose(0, 2, 1, 3) for part in parts)
        weights = np.exp(q @ k.transpose(0, 1, 3, 2) / np.sqrt(HEAD))
        mixed = (weights / weights.sum(axis=3, keepdims=True)) @ v
        x = x + dense(mixed.transpose(0, 2, 1, 3).reshape(x.shape), "out", layer)
        up = dense(normal(layer, 1), "up", layer)
        up = 0.5 * up * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up**3)))
        x = x + dense(up, "down", layer)
    return {"x": x.astype(np.float16)}
