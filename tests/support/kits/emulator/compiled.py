"""Device functions compiled by Numba one at a time, as tests of "compiled equals plain" need them."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from binalloc.emulator.state.device import REGISTRY

MODULES = ("integer", "float32", "float64", "half", "conversion", "atomic", "mufu")
PRIMITIVES = (
    "f32_from_bits",
    "bits_from_f32",
    "f64_from_bits",
    "bits_from_f64",
    "i64_from_f64",
    "f64_from_i64",
    "f64_fma",
    "f32_fma",
)
"""Names of `bits` that the `numba` engine takes from `bits_numba` instead."""
ARITHMETIC = "binalloc.emulator.arithmetic."


@cache
def compiled() -> dict[str, Callable[..., Any]]:
    """Every registered arithmetic device function by name, compiled on first call, primitives replaced."""
    from numba import njit

    for name in MODULES:
        importlib.import_module(ARITHMETIC + name)
    from binalloc.emulator.arithmetic import bits, bits_numba

    table: dict[str, Any] = {name: getattr(bits_numba, name) for name in PRIMITIVES}
    # intrinsics are callable only from compiled code
    for name in PRIMITIVES:
        count = getattr(bits, name).__code__.co_argcount
        names = ", ".join("xyz"[:count])
        table["call_" + name] = njit(eval(f"lambda {names}: primitive({names})", {"primitive": table[name]}))
    spaces = []
    for function in REGISTRY.values():
        if not function.__module__.startswith(ARITHMETIC):
            continue
        assert function.__name__ not in table, function.__name__
        space = dict(vars(sys.modules[function.__module__]))
        spaces.append(space)
        table[function.__name__] = njit(types.FunctionType(function.__code__, space, function.__name__))
    for space in spaces:
        space.update({name: value for name, value in table.items() if name in space})
    return table
