"""Where what a kernel names lies in memory: shared and global variables, parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.ptx.interpreter import calls
from tests.support.ptx.interpreter.errors import InterpreterError
from tests.support.ptx.interpreter.memory import FUNCTIONS, SHARED_WINDOW, Arena
from tests.support.ptx.interpreter.operands import Array
from tests.support.ptx.interpreter.text.tree import Func, Unit, Var
from tests.support.ptx.interpreter.textures import Surface, Texture

# --- launch -----------------------------------------------------------------------------------------------------------


def reachable(unit: Unit, kernel: Func) -> list[Func]:
    found, work = {kernel.name: kernel}, [kernel]
    while work:
        for inst in work.pop().body:
            if inst.op == "call":
                name = calls.call_parts(inst)[1]
                if not isinstance(name, str):  # any function
                    work += [f for f in unit.functions.values() if f.name not in found]
                    found.update(unit.functions)
                    continue
                func = unit.functions.get(name)
                if func is not None and name not in found:
                    found[name] = func
                    work.append(func)
    return list(found.values())


def place_shared(unit: Unit, kernel: Func) -> tuple[dict[str, int], int]:
    """Offsets of all shared variables, statically sized ones first, and the static size."""
    variables = [v for v in unit.variables.values() if v.space == "shared"]
    for func in reachable(unit, kernel):
        variables += [v for v in func.variables.values() if v.space == "shared"]
    places, top = {}, 0
    for var in [v for v in variables if v.size]:
        top = -(-top // var.align) * var.align
        places[var.name] = top
        top += var.size
    dynamic = [v for v in variables if not v.size]
    if dynamic:
        top = -(-top // max(v.align for v in dynamic)) * max(v.align for v in dynamic)
    places.update({v.name: top for v in dynamic})
    return places, top


def place_globals(unit: Unit, kernel: Func, memory: Arena, shared: dict[str, int]) -> dict[str, int]:
    """Addresses of `.global` and `.const` variables, initialised."""
    variables = [v for v in unit.variables.values() if v.space in ("global", "const")]
    for func in reachable(unit, kernel):
        variables += [v for v in func.variables.values() if v.space in ("global", "const")]
    symbols = {v.name: memory.allocate(v.size, max(v.align, 16)) for v in variables}
    for var in variables:
        target = memory.bytes_at(symbols[var.name], var.size)
        target[: len(var.data)] = np.frombuffer(var.data, dtype=np.uint8)
        for offset, name, addend in var.relocations:
            if name in unit.functions:
                value = FUNCTIONS + 64 * list(unit.functions).index(name)
            else:
                value = symbols[name] if name in symbols else SHARED_WINDOW + shared[name]
            target[offset : offset + 8] = np.frombuffer((value + addend).to_bytes(8, "little"), dtype=np.uint8)
    return symbols


def parameter_bytes(
    var: Var, value: Any, pointer: Callable[[Array], int], handle: Callable[[Texture | Surface], int]
) -> bytes:
    if isinstance(value, Texture | Surface):
        data = handle(value).to_bytes(8, "little")[: var.size]
    elif isinstance(value, np.ndarray):
        data = pointer(value).to_bytes(8, "little")
    elif isinstance(value, np.generic):
        data = value.tobytes()
    else:
        data = bytes(value)
    if len(data) != var.size:
        raise InterpreterError(f"parameter {var.name} has {var.size} bytes, the argument {len(data)}")
    return data


def triple(size: int | Sequence[int]) -> tuple[int, int, int]:
    values = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*values, 1, 1)[:3]
    return int(x), int(y), int(z)
