"""A launch file as a dictionary, and changes of it."""

from __future__ import annotations

import copy
from typing import Any


def base() -> dict[str, Any]:
    return {
        "kernel": "scale",
        "grid": [4, 2],
        "block": 64,
        "dynamic_shared": 256,
        "argument": [
            {"name": "x", "kind": "buffer", "dtype": "f32", "shape": [8, 4], "init": "ones", "compare": "exact"},
            {"name": "n", "kind": "scalar", "dtype": "i32", "value": -3},
            {"name": "a", "kind": "scalar", "dtype": "f64", "value": 2.5},
        ],
        "sizes": {
            "test": {"grid": 1, "argument": {"x": {"shape": 5}, "n": {"value": 7}}},
        },
    }


def changed(*path: Any, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(base())
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return data


def buffer(dtype: str, shape: Any, init: Any, compare: Any = "exact") -> dict[str, Any]:
    entry = {"name": "x", "kind": "buffer", "dtype": dtype, "shape": shape, "init": init, "compare": compare}
    return {"kernel": "k", "grid": 1, "block": 32, "argument": [entry]}
