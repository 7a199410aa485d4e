"""Device functions compiled by Numba one at a time, as tests of "compiled equals plain" need them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from binalloc.emulator.bits import PRIMITIVES
from binalloc.emulator.device import REGISTRY


@cache
def compiled() -> dict[str, Callable[..., Any]]:
    """Every registered arithmetic device function by name, compiled on first call, primitives replaced."""
    from numba import njit

    from binalloc.emulator import bits_numba

    table: dict[str, Any] = {name: getattr(bits_numba, name) for name in PRIMITIVES}
    spaces = []
    for function in REGISTRY.values():
        if ".arith_" not in function.__module__ and not function.__module__.endswith(".mufu"):
            continue
        space = dict(vars(sys.modules[function.__module__]))
        spaces.append(space)
        table[function.__name__] = njit(types.FunctionType(function.__code__, space, function.__name__))
    for space in spaces:
        space.update({name: value for name, value in table.items() if name in space})
    return table
