"""Launches from Python values: NumPy arrays for buffers, numbers for scalars, one for each parameter of a kernel.

Needs the kernel's record in the binary, which has names, offsets and sizes of its parameters and nothing else: what has
the right size is taken to be of the right type, as a driver does. Leaves true: the `Launch` has passed the checks of
launch files, and every array's contents are at hand in the order of its memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo
from binalloc.launch.dtypes import DTYPE_NAMES
from binalloc.launch.scalars import KINDS, is_scalar, scalar_entry, takes
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import HANDLE_BYTES, POINTER_BYTES, Argument, Array, Launch
from binalloc.printable import count, quoted

Entry = dict[str, Any]
"""An `[[argument]]` of a launch file, without its name."""


@dataclass(frozen=True)
class TextureArray:
    """A texture object for a kernel's parameter: texels, and how they are read.

    data: one to three axes, outermost first, then the channels where there are several. The rest as in launch files:
    channels 1, 2 or 4; filter point or linear; address clamp, border, wrap or mirror, or one of these per axis, x
    first; normalized: coordinates run from 0 to 1; read: element or normalized_float; layers: none, array or cube.
    """

    data: Array
    channels: int = 1
    filter: str = "point"
    address: str | Sequence[str] = "clamp"
    normalized: bool = False
    read: str = "element"
    layers: str = "none"


@dataclass(frozen=True)
class ArrayLaunch:
    """A launch with its contents. arrays: the caller's arrays by argument; one that was given twice is there once.
    buffers: the same memory as one axis, in its order. textures: texels by argument."""

    launch: Launch
    buffers: dict[str, Array]
    textures: dict[str, Array]
    arrays: dict[str, Array]

    def write_back(self, left: Mapping[str, Array]) -> None:
        """Put what a run left in the buffers into the caller's arrays. UsageError, and no array is changed, where the
        kernel wrote to one that is read-only."""
        changed = [name for name, before in self.buffers.items() if (before.view("u1") != left[name].view("u1")).any()]
        for name in changed:
            if not self.arrays[name].flags.writeable:
                raise UsageError(
                    "the kernel wrote to an array that is read-only", place=name, remedy="Pass a copy of the array."
                )
        for name in changed:
            self.buffers[name].view("u1")[:] = left[name].view("u1")


def bind_arrays(
    info: FunctionInfo,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object],
    *,
    dynamic_shared: int = 0,
    symbols: Mapping[str, Array] | None = None,
) -> ArrayLaunch:
    """The launch of `kernel`, whose record is `info`, with `args` for its parameters, in order.

    symbols: contents of variables of the binary. Raises UsageError that names argument and parameter, what was given
    and what is expected: for another number of arguments, one that does not fit its parameter, arrays that are not
    contiguous or lie over one another in part, and whatever launch files refuse.
    """
    _require_as_many(info, kernel, args)
    found = ArrayLaunch(Launch(kernel, (1, 1, 1), (1, 1, 1)), {}, {}, {})
    entries = []
    for i, (param, value) in enumerate(zip(info.params, args, strict=True)):
        where = f"args[{i}] (parameter {param.name})"
        entries.append({"name": param.name} | _argument(found, param.name, value, param.size, where))
    for name, value in (symbols or {}).items():
        entries.append({"name": name} | _buffer(found, name, value, "symbol", f"symbols[{name!r}]"))
    table = {
        "kernel": kernel, "grid": _dimensions(grid), "block": _dimensions(block),
        "dynamic_shared": _plain(dynamic_shared), "argument": entries,
    }  # fmt: skip
    try:
        launch = parse_launch(table)
    except MalformedInput as e:
        place = (e.place or "").replace("argument[", "args[")
        raise UsageError(e.message, place=place, found=e.found, expected=e.expected, remedy=e.remedy) from None
    return ArrayLaunch(launch, found.buffers, found.textures, found.arrays)


def array_on_device(value: object, where: str) -> Array:
    """A copy of an array, in C order, if a kernel can make anything of its bytes; UsageError elsewhere."""
    return np.array(_require_array(value, where), order="C")


def texture_argument(name: str, texture: TextureArray) -> tuple[Argument, Array]:
    """A texture as an argument of a launch file, and a copy of its texels. UsageError for whatever launch files
    refuse."""
    found = ArrayLaunch(Launch("", (1, 1, 1), (1, 1, 1)), {}, {}, {})
    entry = {"name": name} | _texture(found, name, texture, "texture")
    try:
        launch = parse_launch({"kernel": "texture", "grid": 1, "block": 1, "argument": [entry]})
    except MalformedInput as e:
        place = (e.place or "").replace("argument[0]", "texture")
        raise UsageError(e.message, place=place, found=e.found, expected=e.expected, remedy=e.remedy) from None
    return launch.argument(name), found.textures[name].copy()


def _require_as_many(info: FunctionInfo, kernel: str, args: Sequence[object]) -> None:
    if isinstance(args, str | bytes | np.ndarray) or not isinstance(args, Sequence):
        raise UsageError("args is no list of arguments", found=_described(args), expected="a list or tuple")
    if len(args) != len(info.params):
        listed = ", ".join(f"{p.name} ({count(p.size, 'byte')})" for p in info.params)
        raise UsageError(
            f"{kernel} takes another number of arguments", place="args", found=len(args),
            expected=f"{len(info.params)}: {listed}" if listed else "none",
        )  # fmt: skip


def _argument(found: ArrayLaunch, name: str, value: object, size: int, where: str) -> Entry:
    """The entry of a value for a parameter of `size` bytes; what it holds goes to `found`."""
    if isinstance(value, TextureArray) and size in HANDLE_BYTES:
        return _texture(found, name, value, where)
    if isinstance(value, np.ndarray) and size == POINTER_BYTES:
        return _buffer(found, name, value, "buffer", where)
    entry = scalar_entry(value, size) if is_scalar(value) else None
    if entry is None:
        remedy = None
        if isinstance(value, int) and size == POINTER_BYTES:
            remedy = "Pass the array itself for a pointer, numpy.int64 or numpy.uint64 for a number."
        raise UsageError(
            "the argument does not fit its parameter", place=where, found=_described(value), expected=takes(size),
            remedy=remedy,
        )  # fmt: skip
    return entry


def _require_array(value: object, where: str) -> Array:
    """The array, if a kernel can make anything of its bytes."""
    if not isinstance(value, np.ndarray):
        raise UsageError("not an array", place=where, found=_described(value), expected="a NumPy array")
    dtype = value.dtype
    if dtype.hasobject or dtype.kind not in KINDS or not dtype.isnative:
        raise UsageError(
            "the array's elements mean nothing to a kernel", place=where, found=f"dtype {dtype}",
            expected="numbers, truth values or structs of them, little-endian",
        )  # fmt: skip
    if not value.nbytes:
        raise UsageError("the array is empty", place=where, found=f"shape {value.shape}", expected="an element or more")
    return value


def _buffer(found: ArrayLaunch, name: str, value: object, kind: str, where: str) -> Entry:
    """The entry of an array that a kernel may write to; one that was given before is the same memory."""
    array = _require_array(value, where)
    flat = _in_memory_order(array, where)
    for other, given in found.buffers.items():
        if not np.may_share_memory(flat, given):
            continue
        if kind == "buffer" and _extent(flat) == _extent(given):
            return {"kind": "struct", "fields": [{"argument": other}]}
        raise UsageError(
            "two arrays lie over one another in part", place=where, found=f"memory of {other}, too",
            expected="the same array, or separate ones", remedy="Copy one of them, or pass the whole array twice.",
        )  # fmt: skip
    found.arrays[name], found.buffers[name] = array, flat
    known = DTYPE_NAMES.get(array.dtype)
    return {"kind": kind, "dtype": known or "u8", "shape": array.size if known else array.nbytes}


def _in_memory_order(array: Array, where: str) -> Array:
    """The elements as they lie in memory, one axis, no copy. UsageError for an array with gaps, or one that runs
    backwards."""
    plain = np.asarray(array)
    flat: Array = plain.ravel(order="K")
    if not np.may_share_memory(flat, plain):
        raise UsageError(
            "the array is not contiguous", place=where, found=f"strides {plain.strides} of shape {plain.shape}",
            expected="elements that lie one behind the other, in C or Fortran order",
            remedy="Pass numpy.ascontiguousarray of it, and copy the results back.",
        )  # fmt: skip
    return flat


def _extent(flat: Array) -> tuple[int, int]:
    return flat.__array_interface__["data"][0], flat.nbytes


def _texture(found: ArrayLaunch, name: str, texture: TextureArray, where: str) -> Entry:
    data = np.ascontiguousarray(_require_array(texture.data, where))
    found.textures[name] = data
    address = texture.address if isinstance(texture.address, str) else list(texture.address)
    return {
        "kind": "texture", "dtype": DTYPE_NAMES.get(data.dtype, str(data.dtype)), "shape": list(data.shape),
        "channels": texture.channels, "filter": texture.filter, "address": address,
        "normalized": texture.normalized, "read": texture.read, "layers": texture.layers,
    }  # fmt: skip


def _dimensions(given: object) -> object:
    return [_plain(v) for v in given] if isinstance(given, list | tuple | np.ndarray) else _plain(given)


def _plain(value: object) -> object:
    """A NumPy integer as Python's, all else as it is: the schema says what is wrong with it."""
    return int(value) if isinstance(value, np.integer) else value


def _described(value: object) -> str:
    """What was given, in words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, whose pointer takes {POINTER_BYTES} bytes"
    if isinstance(value, TextureArray):
        return f"a texture, whose handle takes {' or '.join(map(str, HANDLE_BYTES))} bytes"
    if isinstance(value, np.generic):
        return f"numpy.{type(value).__name__} {quoted(value.item())}, {count(value.dtype.itemsize, 'byte')}"
    return f"{type(value).__name__} {quoted(value)}"
