"""Single values at their places are read here: numbers and pointers of structs and buffers, as a launch file gives
them.

Needs layouts, and the possible targets of pointers. Leaves true: a `CellField` fits its type, and a pointer points to a
byte of a buffer of the launch, or to the one behind its last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from binalloc.launch.elements.layout import Element, Struct, size_of
from binalloc.launch.numbers.dtypes import DTYPES, POINTER, Array, Number, rounded
from binalloc.launch.placing import Target
from binalloc.launch.values import At, a_name, a_value
from binalloc.printable import quoted

POINTER_WORDS = '0, a name, or a table { argument = "name", at = byte } or { argument = "name", element = index }'
"""A pointer's value in a file, for messages."""


@dataclass(frozen=True, slots=True)
class CellField:
    """A field has values of one dtype at a byte offset, or an address or handle there."""

    offset: int
    dtype: str = "u64"
    values: tuple[Number, ...] = (0,)
    argument: str = ""  #: the buffer or texture whose address or handle is there; "" for values
    name: str = ""  #: "" where it has none
    listed: bool = False  #: the file gives its value as a list
    at: int = 0  #: the byte of the buffer at the address
    path: tuple[str | int, ...] = ()  #: names of the structs around it, and indices in arrays of such

    def data(self, addresses: Mapping[str, int]) -> bytes:
        """Return its bytes. addresses: of buffers, and handles of textures, by argument."""
        if self.argument:
            return (addresses[self.argument] + self.at).to_bytes(DTYPES[self.dtype].itemsize, "little")
        with np.errstate(all="ignore"):
            return rounded(self.values, self.dtype).tobytes()


def put(fields: Iterable[CellField], raw: Array, addresses: Mapping[str, int]) -> None:
    """Put values at their places in bytes."""
    for field in fields:
        data = field.data(addresses)
        raw[field.offset : field.offset + len(data)] = np.frombuffer(data, np.uint8)


def by_name(fields: Iterable[CellField]) -> dict[str, Any]:
    """Return the numbers of fields that have names as Python's, by these names; lists where the file gives lists, dicts
    for structs."""
    out: dict[Any, Any] = {}
    for f in fields:
        if f.name and not f.argument:
            inside = out
            for part in f.path:
                inside = inside.setdefault(part, {})
            items = rounded(f.values, f.dtype).tolist()
            inside[f.name] = items if f.listed else items[0]
    return {str(name): _lists(value) for name, value in out.items()}


def _lists(value: Any) -> Any:
    """Return dicts whose keys count from 0 as lists."""
    if not isinstance(value, dict):
        return value
    items = {key: _lists(item) for key, item in value.items()}
    return list(items.values()) if all(isinstance(key, int) for key in items) else items


def a_pointer(value: object, offset: int, targets: Mapping[str, Target], at: At, name: str = "") -> CellField:
    """Return a pointer in a file: null, the first byte of an argument's buffer, or another byte."""
    if value == 0 and not isinstance(value, bool | float):
        return CellField(offset, POINTER, name=name)
    if isinstance(value, str):
        value = {"argument": value}
    if not isinstance(value, dict):
        at.fail("not a pointer", quoted(value), POINTER_WORDS)
    at.only_keys(value, ("argument", "at", "element"))
    other = a_name(at.required(value, "argument"), at.sub("argument"))
    target = a_target(other, targets, at.sub("argument"))
    byte = at.sub("at").integer(value.get("at", 0), 0, target.bytes)
    if "element" in value:
        count = target.bytes // target.element_bytes
        byte += at.sub("element").integer(value["element"], 0, count) * target.element_bytes
        if byte > target.bytes:
            at.sub("at").fail(f"beyond the end of {other}", byte, f"at most {target.bytes}")
    return CellField(offset, POINTER, argument=other, name=name, at=byte)


def a_target(name: str, targets: Mapping[str, Target], at: At) -> Target:
    """Return the target of a pointer to `name`, which must be a buffer."""
    found = targets.get(name)
    if found is None or found.texture:
        expected = ", ".join(n for n, t in targets.items() if not t.texture) or "one of the launch"
        if found is not None:
            at.fail("a texture has no address", name, f"a buffer: {expected}")
        at.fail("no such buffer", name, expected)
    return found


def cells(
    value: object, element: Element, shape: tuple[int, ...], offset: int, targets: Mapping[str, Target], at: At,
    path: tuple[str | int, ...] = (), name: str = "",
) -> Iterator[CellField]:  # fmt: skip
    """Yield the values of an element, or of an array of them, at a byte offset. An element is a number, a pointer, or
    for a struct a table by members' names or a list of all members. Arrays are lists of these, in C order or nested as
    the array is."""
    if isinstance(element, str) and element != POINTER:
        values = tuple(a_value(v, element, where) for v, where in _spread(value, shape, at))
        yield CellField(offset, element, values, name=name, listed=bool(shape), path=path)
        return
    for i, (item, where) in enumerate(_spread(value, shape, at)):
        place = offset + i * size_of(element)
        if isinstance(element, str):
            yield a_pointer(item, place, targets, where, name)
            continue
        inside = (*path, name, *((i,) if shape else ())) if name else path
        yield from _members(item, element, place, targets, where, inside)


def _members(
    value: object, element: Struct, offset: int, targets: Mapping[str, Target], at: At, path: tuple[str | int, ...]
) -> Iterator[CellField]:
    """Yield the values of a struct."""
    if isinstance(value, list):
        if len(value) != len(element.members):
            listed = ", ".join(m.name for m in element.members)
            at.fail(f"not all members of {element.name}", f"{len(value)} values", f"{len(element.members)}: {listed}")
        value = {m.name: v for m, v in zip(element.members, value, strict=True)}
    if not isinstance(value, dict):
        at.fail(f"not a {element.name}", quoted(value), "a table by members' names, or a list of them all")
    at.only_keys(value, [m.name for m in element.members])
    for m in element.members:
        if m.name in value:
            where = at.sub(m.name)
            yield from cells(value[m.name], m.element, m.shape, offset + m.offset, targets, where, path, m.name)


def _spread(value: object, shape: tuple[int, ...], at: At) -> list[tuple[object, At]]:
    """Return the values of an array in C order, with their places."""
    if not shape:
        return [(value, at)]
    if not isinstance(value, list):
        at.fail("not a list of values", quoted(value), f"{math.prod(shape)} of them")
    count = math.prod(shape)
    if len(shape) > 1 and len(value) == shape[0] and all(isinstance(v, list) for v in value):
        nested = (_spread(v, shape[1:], At(at.file, f"{at.key}[{i}]")) for i, v in enumerate(value))
        return [pair for part in nested for pair in part]
    if len(value) != count:
        sides = " by ".join(map(str, shape))
        at.fail("wrong number of values", len(value), f"{count}" + (f", {sides}" if len(shape) > 1 else ""))
    return [(v, At(at.file, f"{at.key}[{i}]")) for i, v in enumerate(value)]
