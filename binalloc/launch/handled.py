"""Textures and surfaces from Python values: NumPy arrays for texels, and how they are read.

Leaves true: what is made of them passes the checks of launch files, where it goes as entries of `[[argument]]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.dtypes import Array, name_of
from binalloc.launch.linked import require_array
from binalloc.launch.textures import level_shape
from binalloc.launch.types import MOST_LEVELS, Launch

Entry = dict[str, Any]
"""An `[[argument]]` of a launch file, without its name."""
_MIPMAP = {"levels": 1, "level_filter": "point", "bias": 0.0, "clamp": [0.0, float(MOST_LEVELS)]}
"""What a mipmap has, by default."""


@dataclass(frozen=True, eq=False)
class SurfaceArray:
    """A surface object for a kernel's parameter: texels that the kernel may write to.

    data: one to three axes, outermost first, then the channels where there are several, in C order. It changes in
    place. channels: 1, 2 or 4; layers: none, array or cube.
    """

    data: Array
    channels: int = 1
    layers: str = "none"


@dataclass(frozen=True, eq=False)
class TextureArray:
    """A texture object for a kernel's parameter: texels, and how they are read.

    data: one to three axes, outermost first, then the channels where there are several, which are copied; or a surface
    of the same launch, whose memory is read (of a `Device`, a surface or an array of it). The rest as in launch files:
    channels 1, 2 or 4; filter point or linear; address clamp, border, wrap or mirror, or one of these per axis, x
    first; normalized: coordinates run from 0 to 1; read: element or normalized_float; layers: none, array or cube. Of a
    mipmap: levels, `data` among them; level_data: texels of level 1, 2 and so on, those left are made from the level
    below; level_filter point or linear; bias, clamp: of the level of detail.
    """

    data: Any
    channels: int | None = None
    filter: str = "point"
    address: str | Sequence[str] = "clamp"
    normalized: bool = False
    read: str = "element"
    layers: str | None = None
    levels: int = 1
    level_data: Sequence[Array] = ()
    level_filter: str = "point"
    bias: float = 0.0
    clamp: tuple[float, float] = (0.0, float(MOST_LEVELS))


def texels_of(value: object, where: str) -> Array:
    """An array of texels in C order; a copy where it is not."""
    return np.ascontiguousarray(require_array(value, where))


def texture_entry(texture: TextureArray, where: str, array: str = "") -> Entry:
    """The entry of a texture, but for its contents; array: the argument whose memory it reads, instead of its own.
    UsageError for texels of levels that are none."""
    out: Entry = {
        "kind": "texture", "filter": texture.filter, "normalized": texture.normalized, "read": texture.read,
        "address": texture.address if isinstance(texture.address, str) else list(texture.address),
    }  # fmt: skip
    shape = {"channels": texture.channels, "layers": texture.layers}
    mipmap = {
        "levels": texture.levels, "level_filter": texture.level_filter, "bias": texture.bias, "clamp": texture.clamp,
    }  # fmt: skip
    out |= {key: value for key, value in shape.items() if value is not None}
    out |= {key: plain(value) for key, value in mipmap.items() if plain(value) != _MIPMAP[key]}
    if array:
        out["array"] = array
        return out
    data = texels_of(texture.data, where)
    out |= {"dtype": name_of(data.dtype), "shape": list(data.shape)}
    if len(texture.level_data):
        levels = [texels_of(v, f"{where}.level_data[{i}]") for i, v in enumerate(texture.level_data)]
        for i, level in enumerate(levels):
            if level.dtype != data.dtype:
                raise UsageError(
                    "a level of another dtype", place=f"{where}.level_data[{i}]", found=level.dtype, expected=data.dtype
                )
        out["level_init"] = [{"values": level.reshape(-1).tolist()} for level in levels]
    return out


def surface_entry(surface: SurfaceArray, data: Array) -> Entry:
    """The entry of a surface with these texels."""
    return {
        "kind": "surface", "dtype": name_of(data.dtype), "shape": list(data.shape), "channels": surface.channels,
        "layers": surface.layers,
    }  # fmt: skip


def require_levels(launch: Launch, name: str, texture: TextureArray, where: str) -> None:
    """UsageError for texels of a mipmap's levels in another shape than theirs."""
    made = launch.argument(name).texture
    for i, data in enumerate(texture.level_data):
        assert made is not None
        shape = level_shape(made, i + 1)
        if np.shape(data) != shape:
            raise UsageError(
                "a level of another shape", place=f"{where}.level_data[{i}]", found=list(np.shape(data)),
                expected=list(shape),
            )  # fmt: skip


def plain(value: object) -> object:
    """NumPy's numbers as Python's, tuples as lists; all else as it is: the schema says what is wrong with it."""
    if isinstance(value, np.generic):
        return value.item()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value
