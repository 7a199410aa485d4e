"""Marks the functions that run on the emulated machine, so that one source serves both engines.

`@device` returns the function unchanged: the `python` engine calls it as it stands. The `numba` engine rebuilds the
marked functions with their globals rebound to compiled versions of one another (see `engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

REGISTRY: dict[str, Callable[..., Any]] = {}


def device(function: F) -> F:
    """Mark `function` as device code; its module must import other device functions by name."""
    REGISTRY[f"{function.__module__}.{function.__qualname__}"] = function
    return function
