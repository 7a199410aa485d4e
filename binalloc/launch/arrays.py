"""Launches from Python values: NumPy arrays for buffers, numbers for scalars, one for each parameter of a kernel.

Needs the kernel's record in the binary, which has names, offsets and sizes of its parameters and nothing else: what has
the right size is taken to be of the right type, as a driver does. Leaves true: the `Launch` has passed the checks of
launch files, and every array's contents are at hand in the order of its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo
from binalloc.launch.dtypes import DTYPE_NAMES, copied
from binalloc.launch.handled import (
    Entry,
    SurfaceArray,
    TextureArray,
    plain,
    require_levels,
    surface_entry,
    texels_of,
    texture_entry,
)
from binalloc.launch.linked import (
    Pointer,
    objects,
    owner_of,
    pointers_at,
    put_addresses,
    require_array,
    struct_fields,
    take_back,
    without_objects,
)
from binalloc.launch.scalars import is_scalar, scalar_entry, takes
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import HANDLE_BYTES, POINTER_BYTES, Array, Launch
from binalloc.printable import count, quoted


@dataclass(frozen=True)
class ArrayLaunch:
    """A launch with its contents. arrays: the caller's arrays by argument; one that was given twice is there once, and
    those that only pointers are to are there, too. memory: the same as one axis, in their order. buffers: likewise what
    the device gets, addresses in place of objects. textures: texels by argument. surfaces: as they were given."""

    launch: Launch
    buffers: dict[str, Array]
    textures: dict[str, Array]
    arrays: dict[str, Array]
    memory: dict[str, Array]
    surfaces: dict[str, SurfaceArray]

    @staticmethod
    def empty(kernel: str) -> ArrayLaunch:
        """One of nothing yet."""
        return ArrayLaunch(Launch(kernel, (1, 1, 1), (1, 1, 1)), {}, {}, {}, {}, {})

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
            if self.memory[name].dtype.hasobject:
                take_back(self.memory[name], self.buffers[name], left[name], self._pointer)
            else:
                self.memory[name].view("u1")[:] = left[name].view("u1")

    def _pointer(self, address: int) -> object:
        """What a kernel's pointer is to: None for null, an address as it is where no array lies there."""
        found = self.launch.pointee(address)
        if found is None:
            return address or None
        return Pointer(self.arrays[found[0]], found[1])


def bind_arrays(
    info: FunctionInfo,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object],
    *,
    dynamic_shared: int = 0,
    cooperative: bool = False,
    heap: int | None = None,
    printf_buffer: int | None = None,
    symbols: Mapping[str, Array] | None = None,
) -> ArrayLaunch:
    """The launch of `kernel`, whose record is `info`, with `args` for its parameters, in order.

    heap, printf_buffer: as in launch files; None: as many bytes as there. symbols: contents of variables of the binary.
    Raises UsageError that names argument and parameter, what was given
    and what is expected: for another number of arguments, one that does not fit its parameter, arrays that are not
    contiguous or lie over one another in part, and whatever launch files refuse.
    """
    _require_as_many(info, kernel, args)
    found = ArrayLaunch.empty(kernel)
    entries = []
    wheres: dict[str, str] = {}
    for i, (param, value) in enumerate(zip(info.params, args, strict=True)):
        wheres[param.name] = where = f"args[{i}] (parameter {param.name})"
        if isinstance(value, TextureArray) and isinstance(value.data, SurfaceArray) and param.size in HANDLE_BYTES:
            entries.append({"name": param.name} | _of_surface(value, info, args, where))
        else:
            entries.append({"name": param.name} | _argument(found, param.name, value, param.size, where))
    for name, value in (symbols or {}).items():
        wheres[name] = where = f"symbols[{name!r}]"
        entries.append({"name": name} | _buffer(found, name, value, "symbol", where))
    entries += _pointed(found, [(p.name, v) for p, v in zip(info.params, args, strict=True)], symbols or {}, wheres)
    for entry, value in zip(entries, args, strict=False):
        if _is_linked(value):
            entry |= _linked(found, value, symbols or {}, wheres[entry["name"]])
    table = {
        "kernel": kernel, "grid": _dimensions(grid), "block": _dimensions(block),
        "dynamic_shared": plain(dynamic_shared), "cooperative": cooperative, "argument": entries,
    }  # fmt: skip
    launch = parsed(table | runtime_keys(heap, printf_buffer), ("argument[", "args["))
    for param, value in zip(info.params, args, strict=True):
        if isinstance(value, TextureArray):
            require_levels(launch, param.name, value, wheres[param.name])
    for name, array in found.memory.items():
        if array.dtype.hasobject:
            put_addresses(array, found.buffers[name], wheres[name], _addressing(found, launch, symbols or {}))
    return replace(found, launch=launch)


def _is_linked(value: object) -> bool:
    """Whether it is a pointer, or a struct that has some, for a parameter."""
    return isinstance(value, Pointer) or (isinstance(value, np.void) and value.dtype.hasobject)


def _pointed(
    found: ArrayLaunch, args: Sequence[tuple[str, object]], symbols: Mapping[str, Array], wheres: dict[str, str]
) -> list[Entry]:
    """Entries of all arrays that only pointers are to, and those in them. wheres: of arguments, for messages; theirs
    are added."""
    waiting: list[tuple[str, Array]] = list(found.memory.items())
    for name, value in args:
        if isinstance(value, Pointer):
            cell = np.empty(1, object)
            cell[0] = value
            waiting.append((name, cell))
        elif _is_linked(value):
            waiting.append((name, np.array(value)))
    out: list[Entry] = []
    while waiting:
        name, array = waiting.pop(0)
        if not array.dtype.hasobject:
            continue
        for path, _, pointer in objects(array, wheres[name]):
            where = wheres[name] + "".join(f".{part}" for part in path)
            if _located(found, pointer, where) is None:
                own = _unused(".".join([name, *(path or ("to",))]), wheres)
                wheres[own] = where
                owner, _ = owner_of(pointer.array)
                out.append({"name": own, "parameter": False} | _buffer(found, own, owner, "buffer", where))
                waiting.append((own, found.memory[own]))
            _place(found, pointer, symbols, where)
    return out


def _unused(name: str, used: Mapping[str, str]) -> str:
    """The name, or with a number one that nothing has."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_$.") else "_" for c in name)
    return next(n for n in (name, *(f"{name}.{k}" for k in range(1, len(used) + 2))) if n not in used)


def _located(found: ArrayLaunch, pointer: Pointer, where: str) -> tuple[str, int] | None:
    """The argument whose memory a pointer's array is part of, and the byte there."""
    array = pointer.array
    if not isinstance(array, np.ndarray):
        raise UsageError("a pointer to no array of the host", place=where, found=_described(array), expected="an array")
    start = array.__array_interface__["data"][0]
    for name, given in found.memory.items():
        first, size = _extent(given)
        if first <= start and start + array.nbytes <= first + size:
            return name, start - first
    return None


def _place(found: ArrayLaunch, pointer: Pointer, symbols: Mapping[str, Array], where: str) -> tuple[str, int]:
    """The argument and byte that a pointer is to, once all arrays are known."""
    place = _located(found, pointer, where)
    assert place is not None
    name, byte = place[0], place[1] + pointer.at
    if name in symbols or name in found.surfaces:
        what = "variable" if name in symbols else "surface"
        raise UsageError(f"a pointer to a {what}", place=where, found=name, expected="another array")
    size = found.memory[name].nbytes
    if not 0 <= byte <= size:
        raise UsageError("a pointer beyond its array", place=where, found=f"byte {byte}", expected=f"0 to {size}")
    return name, int(byte)


def _addressing(found: ArrayLaunch, launch: Launch, symbols: Mapping[str, Array]) -> Callable[[Pointer, str], int]:
    def address(pointer: Pointer, where: str) -> int:
        name, byte = _place(found, pointer, symbols, where)
        return launch.addresses[name] + byte

    return address


def _linked(found: ArrayLaunch, value: Any, symbols: Mapping[str, Array], where: str) -> Entry:
    """The entry of a pointer, or a struct by value that has some."""
    if isinstance(value, Pointer):
        name, byte = _place(found, value, symbols, where)
        return {"kind": "pointer", "argument": name, "at": byte}
    array = np.array(value)
    marked = without_objects(array)
    numbers: list[tuple[str, int]] = []

    def number(pointer: Pointer, place: str) -> int:
        numbers.append(_place(found, pointer, symbols, place))
        return len(numbers)

    put_addresses(array, marked, where, number)
    pointers = {offset: numbers[k - 1] for offset, k in pointers_at(marked, array.dtype) if k}
    fields = struct_fields(without_objects(array), pointers)
    return {"kind": "struct", "fields": fields, "bytes": array.nbytes}


def array_on_device(value: object, where: str) -> Array:
    """A copy of an array, in C order, if a kernel can make anything of its bytes; UsageError elsewhere."""
    return copied(require_array(value, where))


def parsed(table: dict[str, Any], renamed: tuple[str, str] = ("", "")) -> Launch:
    """The launch of a table. UsageError for whatever launch files refuse; renamed: what is called otherwise in places
    of messages, and how."""
    try:
        return parse_launch(table)
    except MalformedInput as e:
        place = (e.place or "").replace(*renamed)
        raise UsageError(e.message, place=place, found=e.found, expected=e.expected, remedy=e.remedy) from None


def runtime_keys(heap: int | None, printf_buffer: int | None) -> dict[str, Any]:
    """Keys of launch files for the device runtime's memories, where they are given."""
    given = {"heap": heap, "printf_buffer": printf_buffer}
    return {key: plain(value) for key, value in given.items() if value is not None}


def handled_launch(name: str, value: TextureArray | SurfaceArray, base: Entry | None = None) -> tuple[Launch, Array]:
    """A launch with a texture or surface as its argument `name`, and a copy of its texels, of which one that reads the
    memory of the argument `base` has none. UsageError for whatever launch files refuse."""
    what = "surface" if isinstance(value, SurfaceArray) else "texture"
    data = np.zeros(0) if base is not None else texels_of(value.data, f"{what}.data")
    if isinstance(value, SurfaceArray):
        entry = surface_entry(value, data)
    else:
        entry = texture_entry(value, what, "" if base is None else base["name"])
    entries = [{"name": name} | entry, *([] if base is None else [base])]
    launch = parsed({"kernel": what, "grid": 1, "block": 1, "argument": entries}, ("argument[0]", what))
    if isinstance(value, TextureArray):
        require_levels(launch, name, value, what)
    return launch, copied(data)


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
    if isinstance(value, SurfaceArray) and size in HANDLE_BYTES:
        return _surface(found, name, value, where)
    if isinstance(value, np.ndarray) and size == POINTER_BYTES:
        return _buffer(found, name, value, "buffer", where)
    if _is_linked(value) and size == (POINTER_BYTES if isinstance(value, Pointer) else np.array(value).nbytes):
        return {}
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


def _buffer(found: ArrayLaunch, name: str, value: object, kind: str, where: str) -> Entry:
    """The entry of an array that a kernel may write to; one that was given before is the same memory."""
    array = require_array(value, where)
    flat = _in_memory_order(array, where)
    for other, given in found.memory.items():
        if not np.may_share_memory(flat, given):
            continue
        if kind == "buffer" and _extent(flat) == _extent(given) and other not in found.surfaces:
            return {"kind": "struct", "fields": [{"argument": other}]}
        if kind == "surface" or other in found.surfaces:
            raise UsageError(
                "the memory of a surface is another argument's, too", place=where, found=f"memory of {other}",
                expected="an array of its own", remedy="Copy one of them; for two handles pass one SurfaceArray twice.",
            )  # fmt: skip
        raise UsageError(
            "two arrays lie over one another in part", place=where, found=f"memory of {other}, too",
            expected="the same array, or separate ones", remedy="Copy one of them, or pass the whole array twice.",
        )  # fmt: skip
    found.arrays[name], found.memory[name] = array, flat
    found.buffers[name] = without_objects(flat) if flat.dtype.hasobject else flat
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
    entry = texture_entry(texture, where)
    found.textures[name] = texels_of(texture.data, where)
    return entry


def _of_surface(texture: TextureArray, info: FunctionInfo, args: Sequence[object], where: str) -> Entry:
    """The entry of a texture that reads the memory of a surface among the arguments."""
    own = next((p.name for p, v in zip(info.params, args, strict=True) if v is texture.data), None)
    if own is None:
        raise UsageError(
            "the texture reads a surface that is no argument of the launch", place=where,
            expected="the same SurfaceArray among args",
        )  # fmt: skip
    return texture_entry(texture, where, own)


def _surface(found: ArrayLaunch, name: str, surface: SurfaceArray, where: str) -> Entry:
    """The entry of a surface, whose array changes in place; one that was given before has that one's handle."""
    known = next((other for other, given in found.surfaces.items() if given is surface), None)
    if known is not None:
        return {"kind": "struct", "fields": [{"argument": known}]}
    data = require_array(surface.data, where)
    if not data.flags.c_contiguous:
        raise UsageError(
            "the surface's array is not in C order", place=where, found=f"strides {data.strides} of shape {data.shape}",
            expected="elements that lie one behind the other", remedy="Pass numpy.ascontiguousarray of it.",
        )  # fmt: skip
    entry = _buffer(found, name, data, "surface", where)
    found.surfaces[name] = surface
    return entry | surface_entry(surface, data)


def _dimensions(given: object) -> object:
    return [plain(v) for v in given] if isinstance(given, list | tuple | np.ndarray) else plain(given)


def _described(value: object) -> str:
    """What was given, in words."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, whose pointer takes {POINTER_BYTES} bytes"
    if isinstance(value, Pointer):
        return f"a pointer, {POINTER_BYTES} bytes"
    if isinstance(value, TextureArray | SurfaceArray):
        what = "texture" if isinstance(value, TextureArray) else "surface"
        return f"a {what}, whose handle takes {' or '.join(map(str, HANDLE_BYTES))} bytes"
    if isinstance(value, np.generic):
        return f"numpy.{type(value).__name__} {quoted(value.item())}, {count(value.dtype.itemsize, 'byte')}"
    return f"{type(value).__name__} {quoted(value)}"
