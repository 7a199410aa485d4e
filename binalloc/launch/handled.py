"""Textures and surfaces of Python values are described here: NumPy arrays of texels, and how they are read.

Leaves true: their entries of `[[argument]]` go through the checks of launch files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.linked import require_array
from binalloc.launch.numbers.dtypes import Array, name_of
from binalloc.launch.textures import level_shape
from binalloc.launch.types import MOST_LEVELS, Launch

Entry = dict[str, Any]  # an `[[argument]]` of a launch file, without its name
_MIPMAP = {"levels": 1, "level_filter": "point", "bias": 0.0, "clamp": [0.0, float(MOST_LEVELS)]}
"""Keys of a mipmap, with their defaults."""


@dataclass(frozen=True, eq=False)
class SurfaceArray:
    """A surface object for a kernel's parameter has texels that the kernel may write to."""

    #: texels: one to three axes, outermost first, then the channels where there are several, in C order; it changes in
    #: place
    data: Array
    channels: int = 1  #: 1, 2 or 4
    layers: str = "none"  #: none, array or cube


@dataclass(frozen=True, eq=False)
class TextureArray:
    """A texture object for a kernel's parameter has texels, and attributes that say how they are read. These are as in
    launch files."""

    #: texels, which are copied: one to three axes, outermost first, then the channels where there are several. Or a
    #: surface of the same launch, whose memory is read; of a `Device`, a surface or an array of it.
    data: Any
    channels: int | None = None  #: 1, 2 or 4
    filter: str = "point"  #: point or linear
    address: str | Sequence[str] = "clamp"  #: clamp, border, wrap or mirror, or one of these per axis, x first
    normalized: bool = False  #: coordinates run from 0 to 1
    read: str = "element"  #: element or normalized_float
    layers: str | None = None  #: none, array or cube
    levels: int = 1  #: of a mipmap: levels, `data` among them
    #: of a mipmap: texels of level 1, 2 and so on; each further level is made from the one below
    level_data: Sequence[Array] = ()
    level_filter: str = "point"  #: point or linear
    bias: float = 0.0  #: added to the level of detail
    clamp: tuple[float, float] = (0.0, float(MOST_LEVELS))  #: range of the level of detail


def texels_of(value: object, where: str) -> Array:
    """Return an array of texels in C order; a copy where it is not in C order. where: its name, for messages."""
    return np.ascontiguousarray(require_array(value, where))


def texture_entry(texture: TextureArray, where: str, array: str = "") -> Entry:
    """Return the entry of a texture, without its contents. array: the argument whose memory it reads, instead of its
    own. UsageError for levels whose texels are of another type."""
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
    """Return the entry of a surface with these texels."""
    return {
        "kind": "surface", "dtype": name_of(data.dtype), "shape": list(data.shape), "channels": surface.channels,
        "layers": surface.layers,
    }  # fmt: skip


def require_levels(launch: Launch, name: str, texture: TextureArray, where: str) -> None:
    """Raise UsageError for texels of a mipmap's level in another shape than the level's."""
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
    """Return NumPy's numbers as Python's, tuples as lists, and all else as it is: the schema refuses what is wrong."""
    if isinstance(value, np.generic):
        return value.item()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value
