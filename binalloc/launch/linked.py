"""Arrays from Python may contain pointers: objects with the 8 bytes of a pointer and its alignment.

They are fields "O" of a NumPy structured array, or elements of an array of objects. Each object is None for null, an
array for the address of its first byte, or a `Pointer`. Needs nothing of launches. Leaves true: an array without
objects, of the same offsets and size (its plain array), stands for one that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.numbers.dtypes import DTYPES, POINTER, POINTER_BYTES, Array
from binalloc.launch.scalars import KINDS
from binalloc.printable import quoted

Path = tuple[str, ...]  # names of members from the outside in
_EXPECTED = "None, an array, or binalloc.Pointer(array, byte)"


@dataclass(frozen=True, eq=False)
class Pointer:
    """A pointer has the address of byte `at` of an array, of the host or of a `Device`. It stands in a buffer or a
    struct."""

    array: Any
    at: int = 0

    def __repr__(self) -> str:  # arrays may have pointers to themselves
        return f"Pointer({type(self.array).__name__} {getattr(self.array, 'shape', '')}, {self.at})"


def plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype with addresses in place of objects, and all else at the same offsets."""
    if dtype.names is None or dtype.fields is None:
        return DTYPES[POINTER] if dtype.hasobject else dtype
    fields = [dtype.fields[name] for name in dtype.names]
    formats = [(plain_dtype(field[0].base), field[0].shape) for field in fields]
    offsets = [field[1] for field in fields]
    return np.dtype({"names": dtype.names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})


@lru_cache(maxsize=1000)
def _paths(dtype: np.dtype[Any]) -> tuple[tuple[Path, bool], ...]:
    """Return the paths of all members without members of their own, each with whether it is an object."""
    if dtype.names is None or dtype.fields is None:
        return (((), bool(dtype.hasobject)),)
    found = []
    for name in dtype.names:
        inner = _paths(dtype.fields[name][0].base)
        found += [((name, *path), is_object) for path, is_object in inner]
    return tuple(found)


def _at(array: Array, path: Path) -> Array:
    """Return the member at a path of all elements; a view."""
    for name in path:
        array = array[name]
    return array


def require_array(value: object, where: str) -> Array:
    """Return the array, if its bytes mean something to a kernel. UsageError for others. where: its name, for
    messages."""
    if not isinstance(value, np.ndarray):
        raise UsageError("not an array", place=where, found=_described(value), expected="a NumPy array")
    dtype = plain_dtype(value.dtype)
    if dtype.kind not in KINDS or not dtype.isnative:
        raise UsageError(
            "the array's elements mean nothing to a kernel", place=where, found=f"dtype {value.dtype}",
            expected="numbers, truth values or structs of them, little-endian",
        )  # fmt: skip
    if not value.nbytes:
        raise UsageError("the array is empty", place=where, found=f"shape {value.shape}", expected="an element or more")
    return value


def without_objects(array: Array) -> Array:
    """Return a copy with null in place of all objects."""
    out = np.zeros(array.shape, plain_dtype(array.dtype))
    _copy(array, out, array.dtype)
    return out


def _copy(source: Array, target: Array, dtype: np.dtype[Any]) -> None:
    """Copy all but pointers. dtype: the dtype with objects, of one of the two arrays."""
    for path, is_object in _paths(dtype):
        if not is_object:
            inner = _at(target, path[:-1])
            if path:
                inner[path[-1]] = _at(source, path)
            else:
                inner[...] = source


def objects(array: Array, where: str) -> Iterator[tuple[Path, tuple[int, ...], Pointer]]:
    """Yield the pointers that are not null: names of members, index there, and the pointer. UsageError for other
    objects. where: the array's name, for messages."""
    for path, is_object in _paths(array.dtype):
        if not is_object:
            continue
        cells = np.asarray(_at(array, path))
        for index in np.ndindex(cells.shape):
            value: Any = cells[index]
            if value is None or (isinstance(value, int) and value == 0):
                continue
            if isinstance(value, Pointer) or hasattr(value, "dtype"):
                pointer = value if isinstance(value, Pointer) else Pointer(value)
                if isinstance(pointer.at, int | np.integer) and not isinstance(pointer.at, bool):
                    yield path, index, pointer
                    continue
            place = where + "".join(f".{name}" for name in path) + str(list(index))
            raise UsageError("not a pointer", place=place, found=_described(value), expected=_EXPECTED)


def _described(value: object) -> str:
    """Return what was given, in words."""
    return quoted(value) if isinstance(value, bool | int | float | str) else type(value).__name__


def put_addresses(array: Array, plain: Array, where: str, address: Callable[[Pointer, str], int]) -> None:
    """Put the addresses of an array's pointers into its plain array. address: returns the address of a pointer, for
    whose messages it gets a place."""
    for path, index, pointer in objects(array, where):
        _at(plain, path)[index] = address(pointer, where + "".join(f".{name}" for name in path))


def take_back(array: Array, before: Array, after: Array, pointer: Callable[[int], object]) -> None:
    """Put the contents that a kernel left into the array with objects. before, after: its plain array at both times.
    pointer: returns the object for an address, and is called for changed ones alone."""
    _copy(after, array, array.dtype)
    for path, is_object in _paths(array.dtype):
        if is_object:
            one, other, cells = (_at(x, path) for x in (before, after, array))
            for index in zip(*np.nonzero(one != other), strict=True):
                cells[index] = pointer(int(other[index]))


def owner_of(array: Array) -> tuple[Array, int]:
    """Return the array that owns the memory of another one, and the byte where the other one begins in it."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner, array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]


def pointers_at(plain: Array, dtype: np.dtype[Any], start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the offsets of all pointers of one struct, each with the integer in its place in the plain array. dtype:
    the struct's, with objects."""
    if dtype.names is None or dtype.fields is None:
        if dtype.hasobject:
            yield from ((start + POINTER_BYTES * k, int(v)) for k, v in enumerate(plain.reshape(-1)))
        return
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        items = plain[name].reshape(-1)
        for k in range(items.size):
            yield from pointers_at(items[k : k + 1], field.base, start + offset + k * field.base.itemsize)


def struct_fields(plain: Array, pointers: dict[int, tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the bytes of one struct as fields of a launch file. pointers: by their offsets, the argument and byte that
    they point to."""
    raw = plain.reshape(1).view(np.uint8).tolist()
    out: list[dict[str, Any]] = []
    start = 0
    for offset, (name, byte) in sorted(pointers.items()):
        if offset > start:
            out.append({"dtype": "u8", "value": raw[start:offset], "offset": start})
        out.append({"argument": name, "at": byte, "offset": offset})
        start = offset + POINTER_BYTES
    if start < len(raw):
        out.append({"dtype": "u8", "value": raw[start:], "offset": start})
    return out
