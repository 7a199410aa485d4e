"""Launches are made of Python values here: NumPy arrays for buffers, numbers for scalars, one for each parameter of a
kernel.

Needs the kernel's record in the binary, which has names, offsets and sizes of its parameters and nothing else. A value
of the right size is taken to be of the right type, as a driver does. Leaves true: the `Launch` has passed the checks of
launch files, and every array's contents are there in the order of its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo
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
from binalloc.launch.numbers.dtypes import DTYPE_NAMES, copied
from binalloc.launch.scalars import is_scalar, scalar_entry, takes
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import HANDLE_BYTES, POINTER_BYTES, Array, Launch
from binalloc.printable import count, quoted


@dataclass(frozen=True)
class ArrayLaunch:
    """An array launch is a launch together with the contents of its arguments, made from Python values. An array that
    was given twice has one entry. Arrays that only pointers point to have entries, too."""

    launch: Launch
    buffers: dict[str, Array]  #: by argument: the contents for the device, with addresses in place of objects
    textures: dict[str, Array]  #: texels by argument
    arrays: dict[str, Array]  #: the caller's arrays by argument
    memory: dict[str, Array]  #: the same arrays along one axis, in the order of their memory
    surfaces: dict[str, SurfaceArray]  #: by argument, as they were given

    @staticmethod
    def empty(kernel: str) -> ArrayLaunch:
        """Return a launch without contents."""
        return ArrayLaunch(Launch(kernel, (1, 1, 1), (1, 1, 1)), {}, {}, {}, {}, {})

    def write_back(self, left: Mapping[str, Array]) -> None:
        """Put the contents that a run left in the buffers into the caller's arrays. UsageError, and no array is
        changed, where the kernel wrote to one that is read-only."""
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
        """Return the object for a pointer that a kernel wrote: None for null, the address itself where no array is
        there."""
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
    """Return the launch of `kernel`, whose record is `info`, with `args` for its parameters, in order.

    heap, printf_buffer: as in launch files; None: the default there. symbols: contents of variables of the binary.
    Raises UsageError that names argument and parameter, the given value and the expected one. It is raised for another
    number of arguments, for one that does not fit its parameter, for arrays that are not contiguous or overlap in part,
    and for everything that launch files refuse.
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
    """Return whether it is a pointer, or a struct that contains some, for a parameter."""
    return isinstance(value, Pointer) or (isinstance(value, np.void) and value.dtype.hasobject)


def _pointed(
    found: ArrayLaunch, args: Sequence[tuple[str, object]], symbols: Mapping[str, Array], wheres: dict[str, str]
) -> list[Entry]:
    """Return entries of all arrays that only pointers point to, also from within such arrays. wheres: names of
    arguments for messages; the new ones are added."""
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
    """Return the name, or the name with a number that no other has."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_$.") else "_" for c in name)
    return next(n for n in (name, *(f"{name}.{k}" for k in range(1, len(used) + 2))) if n not in used)


def _located(found: ArrayLaunch, pointer: Pointer, where: str) -> tuple[str, int] | None:
    """Return the argument whose memory contains a pointer's array, and the byte there; None where there is none yet."""
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
    """Return the argument and byte that a pointer points to, once all arrays are known."""
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
    """Return a function that gives the address of a pointer on the device."""
    def address(pointer: Pointer, where: str) -> int:
        name, byte = _place(found, pointer, symbols, where)
        return launch.addresses[name] + byte

    return address


def _linked(found: ArrayLaunch, value: Any, symbols: Mapping[str, Array], where: str) -> Entry:
    """Return the entry of a pointer, or of a struct by value that contains some."""
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
    """Return a copy of an array, in C order, if its bytes mean something to a kernel; else raise UsageError."""
    return copied(require_array(value, where))


def parsed(table: dict[str, Any], renamed: tuple[str, str] = ("", "")) -> Launch:
    """Return the launch of a table. UsageError for everything that launch files refuse. renamed: text in places of
    messages, and its replacement."""
    try:
        return parse_launch(table)
    except MalformedInput as e:
        place = (e.place or "").replace(*renamed)
        raise UsageError(e.message, place=place, found=e.found, expected=e.expected, remedy=e.remedy) from None


def runtime_keys(heap: int | None, printf_buffer: int | None) -> dict[str, Any]:
    """Return keys of launch files for the device runtime's memories, where they are given."""
    given = {"heap": heap, "printf_buffer": printf_buffer}
    return {key: plain(value) for key, value in given.items() if value is not None}


def handled_launch(name: str, value: TextureArray | SurfaceArray, base: Entry | None = None) -> tuple[Launch, Array]:
    """Return a launch with a texture or surface as its argument `name`, and a copy of its texels. base: entry of the
    argument whose memory a texture reads; it then has no texels. UsageError for everything that launch files refuse."""
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
    """Refuse another number of arguments than of parameters."""
    if isinstance(args, str | bytes | np.ndarray) or not isinstance(args, Sequence):
        raise UsageError("args is no list of arguments", found=_described(args), expected="a list or tuple")
    if len(args) != len(info.params):
        listed = ", ".join(f"{p.name} ({count(p.size, 'byte')})" for p in info.params)
        raise UsageError(
            f"{kernel} takes another number of arguments", place="args", found=len(args),
            expected=f"{len(info.params)}: {listed}" if listed else "none",
        )  # fmt: skip


def _argument(found: ArrayLaunch, name: str, value: object, size: int, where: str) -> Entry:
    """Return the entry of a value for a parameter of `size` bytes; its contents are added to `found`."""
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
    """Return the entry of an array that a kernel may write to. An array that was given before is the same memory."""
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
    """Return the elements in the order of memory, along one axis, without a copy. UsageError for an array with gaps, or
    one that runs backwards."""
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
    """Return the first address and the bytes of an array."""
    return flat.__array_interface__["data"][0], flat.nbytes


def _texture(found: ArrayLaunch, name: str, texture: TextureArray, where: str) -> Entry:
    """Return the entry of a texture; its texels are added to `found`."""
    entry = texture_entry(texture, where)
    found.textures[name] = texels_of(texture.data, where)
    return entry


def _of_surface(texture: TextureArray, info: FunctionInfo, args: Sequence[object], where: str) -> Entry:
    """Return the entry of a texture that reads the memory of a surface among the arguments."""
    own = next((p.name for p, v in zip(info.params, args, strict=True) if v is texture.data), None)
    if own is None:
        raise UsageError(
            "the texture reads a surface that is no argument of the launch", place=where,
            expected="the same SurfaceArray among args",
        )  # fmt: skip
    return texture_entry(texture, where, own)


def _surface(found: ArrayLaunch, name: str, surface: SurfaceArray, where: str) -> Entry:
    """Return the entry of a surface, whose array changes in place. One that was given before has the same handle."""
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
    """Return grid or block as launch files have it."""
    return [plain(v) for v in given] if isinstance(given, list | tuple | np.ndarray) else plain(given)


def _described(value: object) -> str:
    """Return what was given, in words."""
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
