"""PTX through the importer and the emulator: the one place where tests launch what was imported.

`launched` runs a kernel of a module with plain values; `run_ptx` imports the text first. `elementwise`, `bodies`,
`float_runs` and `differential` build kernels on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch import types as launches
from binalloc.models.machines.model import Machine
from tests.support.kits.emulator.small import DTYPE_NAMES
from tests.support.kits.machines import roomy_machine
from tests.support.ptx.interpreter.placement import triple
from tests.support.ptx.interpreter.textures import Surface, Texture
from tests.support.ptx.patterns import Array

MACHINE = roomy_machine()


@cache
def imported(text: str, optimised: bool = True) -> Module:
    """The scheduled module of a PTX text."""
    return import_ptx(text, "test.ptx", optimised=optimised, machine="gtx680").module


def launched(
    module: Module, kernel: str, names: Sequence[str], values: Sequence[Any], *, grid: int | Sequence[int] = 1,
    block: int | Sequence[int] = 32, dynamic: int = 0, machine: Machine = MACHINE, engine: str = "numba",
    printed: str | None = None, **options: Any,
) -> dict[str, Array]:  # fmt: skip
    """The buffers among the values, by name, as a launch leaves them. A value is what the interpreter takes, too: an
    array is a buffer, a NumPy scalar or bytes the value itself, a Texture a texture, a Surface a surface, which is
    among the buffers. printed: also, under that name,
    the lines that were printed."""
    arguments = tuple(argument(name, value) for name, value in zip(names, values, strict=True))
    buffers: dict[str, Array] = {}
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Surface):
            buffers[name] = value.texels.reshape(_shape(value.texels))
        elif isinstance(value, np.ndarray) and value.ndim:
            buffers[name] = value
    textures = {name: v.texels for name, v in zip(names, values, strict=True) if isinstance(v, Texture)}
    launch = launches.Launch(kernel, triple(grid), triple(block), dynamic, arguments)
    result = run(module, kernel, launch, machine, engine=engine, buffers=buffers, textures=textures, **options)
    said = {} if printed is None else {printed: np.array(result.printed.text.split("\n"))}
    return {name: result.buffers[name] for name in buffers} | said


def argument(name: str, value: Any) -> launches.Argument:
    """A value as an argument of a launch. A scalar goes as its pattern, so that a NaN keeps its payload."""
    if isinstance(value, bytes):
        member = launches.CellField(0, "u8", tuple(value), name="bytes", listed=True)
        return launches.Argument(name, "struct", "u8", fields=(member,), size=len(value))
    if isinstance(value, Texture):
        return _texture(name, value)
    if isinstance(value, Surface):
        array = launches.Texture(
            value.texels.shape[:-1], value.texels.shape[-1], layers="array" if value.layers else "none"
        )
        kind = DTYPE_NAMES[value.texels.dtype]
        return launches.Argument(name, "surface", kind, _shape(value.texels), texture=array)
    if value.ndim:
        return launches.Argument(name, "buffer", DTYPE_NAMES[value.dtype], value.shape)
    kind = f"u{8 * value.itemsize}"
    pattern = int(np.array([value]).view(launches.DTYPES[kind])[0])
    return launches.Argument(name, "scalar", kind, value=pattern)


def _texture(name: str, texture: Texture) -> launches.Argument:
    """A texture of the interpreter as a launch's argument."""
    how = launches.Texture(
        texture.texels.shape[:-1], texture.texels.shape[-1], "linear" if texture.linear else "point",
        (texture.address * 3)[: texture.texels.ndim - 1 - (texture.layers != "none")], texture.normalized,
        "normalized_float" if texture.as_float else "element", texture.layers, 1 + len(texture.levels),
        "linear" if texture.blend else "point", texture.bias, texture.clamp,
    )  # fmt: skip
    return launches.Argument(
        name, "texture", DTYPE_NAMES[texture.texels.dtype], _shape(texture.texels), texture=how
    )


def _shape(texels: Array) -> tuple[int, ...]:
    """Without channels where there is one."""
    return texels.shape if texels.shape[-1] > 1 else texels.shape[:-1]


def run_ptx(
    text: str,
    kernel: str,
    arrays: Sequence[Any],
    *,
    grid: int = 1,
    block: int = 32,
    optimised: bool = True,
    engine: str = "numba",
) -> list[Array]:
    """The buffers after a launch, in the order of the arguments; arrays: a value per parameter."""
    module = imported(text, optimised)
    names = [parameter.name for parameter in module.function(kernel).info.params]
    return list(launched(module, kernel, names, arrays, grid=grid, block=block, engine=engine).values())
