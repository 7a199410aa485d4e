"""Textures and surfaces of launch files are read here: their keys, and the levels of mipmaps.

Leaves true: attributes of a texture or surface are combined only as CUDA allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from binalloc.launch.sampling import AddressMode, TextureFilter, TextureLayers, TextureRead
from binalloc.launch.types import DTYPES, MOST_LEVELS, Argument, ArgumentKind, Array, Texture
from binalloc.launch.values import At, a_name, a_number, a_value

SURFACE_KEYS = ("channels", "layers")
TEXTURE_KEYS = (
    *SURFACE_KEYS, "filter", "address", "normalized", "read", "array", "levels", "level_filter", "level_init", "bias",
    "clamp",
)  # fmt: skip
_MIPMAP_KEYS = ("level_filter", "level_init", "bias", "clamp")  # keys of a texture with several levels alone
_INHERITED = ("dtype", "shape", "channels", "layers")  # keys that a texture takes from the argument that it reads
SURFACE_DTYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "f16", "f32")  # types of a surface's channels, as in CUDA
TEXTURE_DTYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "f32")
"""Types of a texture's channels; f16 is not read by TEX."""
_SIDES = (1 << 27, 1 << 16, 1 << 14)  # longest side of textures of one, two and three dimensions, as in CUDA
_LAYERED = {
    TextureLayers.ARRAY: ((2, 3), "[layers, width] or [layers, height, width]"),
    TextureLayers.CUBE: ((3,), "[faces, side, side]"),
}
"""The numbers of sides of textures with layers or faces, and the meaning of the sides."""
_LAYERS = 2048  # most layers, as in CUDA
_FACES = 6  # faces of a cube


def inherited(entry: dict[str, Any], entries: list[Any], changes: dict[str, Any], at: At) -> dict[str, Any]:
    """Return the table of a texture that names an `array`. Where the table lacks a key for the contents, that
    argument's key is used."""
    if "init" in entry:
        at.sub("init").fail("the texture has no contents of its own", "init", "an init of the argument it names")
    other = a_name(entry["array"], at.sub("array"))
    kinds = (ArgumentKind.BUFFER, ArgumentKind.SURFACE)
    named = {e.get("name"): e for e in entries if isinstance(e, dict) and e.get("kind") in kinds}
    if other not in named:
        at.sub("array").fail("no such buffer or surface", other, ", ".join(map(str, named)) or "one of the launch")
    base = dict(named[other])
    if isinstance(changes.get(other), dict):
        base |= changes[other]
    return {key: base[key] for key in _INHERITED if key in base} | entry


def require_fits(argument: Argument, arguments: Sequence[Argument], at: At) -> None:
    """Refuse a texture that reads another argument's contents and is larger than they are."""
    array = "" if argument.texture is None else argument.texture.array
    for other in arguments:
        if other.name == array and argument.bytes > other.bytes:
            found, expected = f"{argument.bytes} bytes", f"at most the {other.bytes} of {array}"
            at.sub("shape").fail("the texture is larger than what it reads", found, expected)


def parse_surface(entry: dict[str, Any], shape: tuple[int, ...], at: At) -> Texture:
    """Return the shape of a surface's array."""
    channels, sides, layers, _ = _array(entry, shape, at)
    return Texture(sides, channels, layers=layers)


def parse_texture(
    entry: dict[str, Any], dtype: str, shape: tuple[int, ...], given: int, at: At
) -> Texture:
    """Return the attributes of a CUDA texture object, checked by CUDA's rules on their combination. given: how many
    levels of a mipmap above the first have contents of their own."""
    at.sub("dtype").one_of(dtype, TEXTURE_DTYPES)
    channels, sides, layers, axes = _array(entry, shape, at)
    normalized = at.sub("normalized").typed(entry.get("normalized", False), bool)
    if layers == TextureLayers.CUBE and not normalized:
        at.sub("normalized").fail("coordinates on a cube's face are normalized", False, "normalized = true")
    read = at.sub("read").one_of(entry.get("read", "element"), TextureRead)
    if read != TextureRead.ELEMENT and DTYPES[dtype].itemsize > 2:
        at.sub("read").fail("only 8- and 16-bit elements are read as normalized floats", dtype, "element")
    filter_ = at.sub("filter").one_of(entry.get("filter", "point"), TextureFilter)
    if filter_ == TextureFilter.LINEAR and dtype != "f32" and read == TextureRead.ELEMENT:
        at.sub("filter").fail(
            "only floats can be interpolated", f"linear, {dtype}", 'point, or read "normalized_float"'
        )
    wanted = entry.get("address", "clamp")
    modes = wanted if isinstance(wanted, list) else [wanted] * axes
    if len(modes) != axes:
        at.sub("address").fail("not one mode per axis", len(modes), f"{axes}, in the order x, y, z")
    address = [at.sub("address").one_of(m, AddressMode) for m in modes]
    if not normalized and {AddressMode.WRAP, AddressMode.MIRROR} & set(address):
        at.sub("address").fail("wrap and mirror need normalized coordinates", wanted, "normalized = true")
    array = str(entry.get("array", ""))
    single = Texture(sides, channels, filter_, tuple(address), normalized, read, layers, array=array)
    return _mipmap(single, entry, dtype, given, at)


def _array(
    entry: dict[str, Any], shape: tuple[int, ...], at: At
) -> tuple[int, tuple[int, ...], TextureLayers, int]:
    """Return channels, sides, layers and number of axes (without layers) of a CUDA array."""
    channels = at.sub("channels").integer(entry.get("channels", 1), 1, 4)
    if channels == 3:
        at.sub("channels").fail("no texture has three channels", 3, "1, 2 or 4")
    sides = shape if channels == 1 else shape[:-1]
    if not 1 <= len(sides) <= 3 or (channels > 1 and shape[-1] != channels):
        expected = "1 to 3 sides" + (f", then the {channels} channels" if channels > 1 else "")
        at.sub("shape").fail("not a texture's shape", list(shape), expected)
    layers = at.sub("layers").one_of(entry.get("layers", "none"), TextureLayers)
    axes = len(sides) - (layers != TextureLayers.NONE)
    if layers != TextureLayers.NONE:
        _layers(sides, layers, at)
    longest = max(sides[len(sides) - axes :])
    if longest > _SIDES[axes - 1]:
        at.sub("shape").fail("a side is too long", longest, f"at most {_SIDES[axes - 1]}")
    return channels, sides, layers, axes


def _layers(sides: tuple[int, ...], layers: TextureLayers, at: At) -> None:
    """Check the sides of a texture with layers or faces."""
    cube = layers == TextureLayers.CUBE
    ranks, expected = _LAYERED[layers]
    if len(sides) not in ranks:
        at.sub("shape").fail(f'not the shape of a texture with layers = "{layers}"', list(sides), expected)
    if sides[0] > _LAYERS:
        at.sub("shape").fail("too many layers", sides[0], f"at most {_LAYERS}")
    if cube and (sides[0] % _FACES or sides[1] != sides[2]):
        at.sub("shape").fail("not the shape of cubes", list(sides), f"{_FACES} square faces for each cube")


def _mipmap(texture: Texture, entry: dict[str, Any], dtype: str, given: int, at: At) -> Texture:
    """Return the texture with the levels of its table."""
    axes = texture.sides[texture.layers != TextureLayers.NONE :]
    most = max(axes).bit_length()
    levels = at.sub("levels").integer(entry.get("levels", 1), 1, most)
    if levels == 1:
        for key in _MIPMAP_KEYS:
            if key in entry:
                expected = f"levels = 2 to {most}" if most > 1 else "no such key"
                at.sub(key).fail("only a mipmap has this key", key, expected)
        return texture
    if not texture.normalized:
        at.sub("normalized").fail("coordinates of a mipmap are normalized", False, "normalized = true")
    if texture.array:
        at.sub("levels").fail("a mipmap has contents of its own", f"array = {texture.array}", "no array, or one level")
    if given > levels - 1:
        at.sub("level_init").fail("more contents than levels", given, f"at most {levels - 1}, of levels from 1 on")
    blend = at.sub("level_filter").one_of(entry.get("level_filter", "point"), TextureFilter)
    if blend == TextureFilter.LINEAR and dtype != "f32" and texture.read == TextureRead.ELEMENT:
        expected = 'point, or read "normalized_float"'
        at.sub("level_filter").fail("only floats can be interpolated", f"linear, {dtype}", expected)
    low, high = _clamp(entry.get("clamp", [0.0, MOST_LEVELS]), at.sub("clamp"))
    bias = _finite(entry.get("bias", 0.0), at.sub("bias"))
    return replace(texture, levels=levels, blend=blend, bias=bias, clamp=(low, high))


def _clamp(value: object, at: At) -> tuple[float, float]:
    """Return a range of levels of detail."""
    if not isinstance(value, list) or len(value) != 2:
        at.fail("not two levels", value, "[least, most]")
    low, high = (_finite(v, at) for v in value)
    if not 0 <= low <= high:
        at.fail("not a range of levels", value, "[least, most], 0 or more, the least first")
    return low, high


def _finite(value: object, at: At) -> float:
    """Return a number that is finite as f32, too: the table of textures has f32."""
    return float(a_value(a_number(value, at), "f32", at).real)


def level_shape(texture: Texture, level: int) -> tuple[int, ...]:
    """Return the shape of a level's contents: each side is half the one of the level below, rounded down, but 1 at
    least. Each level has the same number of layers."""
    fixed = int(texture.layers != TextureLayers.NONE)
    sides = texture.sides[:fixed] + tuple(max(n >> level, 1) for n in texture.sides[fixed:])
    return (*sides, texture.channels) if texture.channels > 1 else sides


def upper_levels(
    argument: Argument, first: Array, contents_of: Callable[[Argument], Array] | None = None
) -> list[Array]:
    """Return the contents of a texture's levels above the first, which is `first`. contents_of: makes contents of the
    levels with an init.

    Raises MalformedInput as `Launch.make_textures` does.
    """
    texture, out = argument.texture, [first]
    assert texture is not None
    for level in range(1, texture.levels):
        if level <= len(texture.given):
            assert contents_of is not None
            out.append(contents_of(replace(argument, shape=level_shape(texture, level), init=texture.given[level - 1])))
        else:
            out.append(_halved(out[-1], len(texture.sides) - int(texture.layers != TextureLayers.NONE), texture))
    return out[1:]


def _halved(below: Array, axes: int, texture: Texture) -> Array:
    """Return a level from the one below, in f64. Each texel is the mean of 2 texels along each axis (of an axis of one
    texel, that one). It is rounded to f32, or to an integer, halves up."""
    fixed = len(texture.sides) - axes
    total: Array = below.astype(np.float64)
    count = 1
    with np.errstate(all="ignore"):
        for axis in range(fixed, fixed + axes):
            if below.shape[axis] > 1:
                half = below.shape[axis] // 2
                total = total.take(range(0, 2 * half, 2), axis) + total.take(range(1, 2 * half, 2), axis)
                count *= 2
        mean = total / count
        return (mean if below.dtype.kind == "f" else np.floor(mean + 0.5)).astype(below.dtype)
