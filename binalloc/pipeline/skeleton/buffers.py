"""This module makes the entries of buffers, textures and surfaces, to which pointers and handles lead."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Fetch, Number
from binalloc.isa.kinds import Access
from binalloc.launch.numbers.dtypes import DTYPES, POINTER
from binalloc.pipeline.skeleton.parameters.facts import ParameterPiece, PointerAccess
from binalloc.pipeline.skeleton.parameters.numbers import Element
from binalloc.pipeline.skeleton.parameters.values import ValueGraph
from binalloc.pipeline.skeleton.reasons import where
from binalloc.pipeline.skeleton.signature import Declared
from binalloc.pipeline.skeleton.sizes import Sizes, axes_of
from binalloc.pipeline.skeleton.types import ArgumentEntry, dtype_of, is_float
from binalloc.printable import count

TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}
"""Tolerance for buffers of floats, a hundred times the precision of f32. Chosen by hand, for the user to change."""
_HIGH = {"i8": 100, "u8": 256}
"""Upper ends of random integers for types of one byte; other types have 256, which i8 cannot hold."""
_SIDES = {1: [1024], 2: [64, 64], 3: [16, 16, 16]}
"""Shapes of textures by number of axes. Sizes are not known from code, so they are small, for the user to change."""
_FACES = 6  # faces of a cube
_LEVELS = 4
"""Levels of a mipmap. Their number is not known from code, so it is chosen by hand, for the user to change."""


def buffer_entry(
    name: str, piece: ParameterPiece | None, declaration: Declared | None, values: ValueGraph
) -> ArgumentEntry:
    """Return the entry of a buffer. piece: the pointer, None if no code reads it. declaration: its declared type."""
    touches = [] if piece is None else piece.touches
    element, alike = element_of(touches)
    dtype = dtype_of(element.bytes, element.number)
    entry = ArgumentEntry({"name": name, "kind": "buffer", "dtype": dtype, "shape": 1})
    entry.reads = any(t.access != Access.STORE for t in touches)
    entry.writes = any(t.access != Access.LOAD for t in touches)
    entry.places = tuple(t.place for t in touches)
    entry.reasons = _accesses(touches, values, "" if declaration is None else declaration.dtype)
    sized = declaration is not None and bool(declaration.dtype)
    if element.number == Number.BITS and touches and not sized:
        entry.reasons.append(f"values are only moved, so their type is not known: {dtype} keeps their bits")
    if not alike and not sized:
        entry.reasons.append("accesses differ in type or size: perhaps structs; the commonest is taken")
    if declaration is not None and declaration.dtype:
        entry.keys["dtype"] = declaration.dtype
        entry.least = declaration.count
        entry.reasons.insert(0, f"declared {declaration.text}")
    elif declaration is not None:
        text = f"declared {declaration.text}, no type that elements of buffers have: as the code uses it"
        entry.reasons.insert(0, text)
    if not touches:
        entry.known = declaration is not None
        entry.reasons.append("no access is found: nothing is known of its size")
    size = DTYPES[str(entry.keys["dtype"])].itemsize
    entry.least = max([entry.least, *(t.whole // size for t in touches)])
    index = any(t.index for t in touches)
    if entry.reads or not touches:
        entry.keys["init"] = _contents(str(entry.keys["dtype"]), index)
    if index:
        entry.reasons.append("what it holds becomes part of an address or bounds a loop: zeros are safe")
    if entry.writes:
        entry.keys["compare"] = TOLERANCE if is_float(str(entry.keys["dtype"])) else "exact"
    return entry


def element_of(touches: list[PointerAccess]) -> tuple[Element, bool]:
    """Return the most common element of a buffer's accesses, and whether all accesses are alike.

    Accesses that only move bits count only if there are no others.
    """
    known = Counter(t.element for t in touches if t.element.number != Number.BITS)
    every = Counter(t.element for t in touches)
    if not every:
        return Element(WORD, Number.UNSIGNED), True
    chosen = (known or every).most_common(1)[0][0]
    small = min(e.bytes for e in every)
    if small < chosen.bytes and len({e.bytes for e in every}) > 1:
        return chosen, False
    floats = {e.number in (Number.FLOAT, Number.HALF) for e in known}
    return chosen, len(floats) < 2 and len({e.bytes for e in every}) == 1


def _accesses(touches: list[PointerAccess], values: ValueGraph, declared: str) -> list[str]:
    """Return a sentence for each kind of access. declared: the declared type of an element, "" if there is none."""
    found: list[str] = []
    for access, verb in ((Access.LOAD, "read"), (Access.STORE, "written"), (Access.ATOMIC, "changed by atomics")):
        of = [t for t in touches if t.access == access]
        for element in dict.fromkeys(t.element for t in of):
            places = [t.place for t in of if t.element == element]
            what = f"{element.bytes} bytes" if element.number == Number.BITS else dtype_of(*element)
            what = declared if declared and DTYPES[declared].itemsize == element.bytes else what
            wide = max(t.whole for t in of if t.element == element) // element.bytes
            many = f", up to {wide} at once" if wide > 1 else ""
            found.append(f"{verb} as {what}{many} at {where(values, places)}")
    kinds = {t.access for t in touches}
    if kinds == {Access.LOAD}:
        found.append("only read")
    elif kinds == {Access.STORE}:
        found.append("only written")
    return found


def _contents(dtype: str, index: bool) -> Any:
    """Return a launch file's `init` for elements of a type. index: whether values become part of an address."""
    if index:
        return "zeros"
    if is_float(dtype):
        return {"kind": "random", "distribution": "uniform", "low": 0.0, "high": 1.0}
    if dtype == "bool":
        return {"kind": "random"}
    if dtype == POINTER:
        return "zeros"
    return {"kind": "random", "distribution": "integers", "low": 0, "high": _HIGH.get(dtype, 256)}


def texture_entry(name: str, fetch: Fetch, piece: ParameterPiece, places: str, sizes: Sizes) -> ArgumentEntry:
    """Return the entry of a texture or surface, as the code fetches from it or accesses it.

    piece: the handle, a part of a parameter. places: where it is used, in words.
    """
    if fetch.element:
        return _surface_entry(name, fetch, piece.sides, places, sizes)
    layers, number = fetch.layers, piece.texel
    shape = [_FACES, *_SIDES[2]] if layers == "cube" else list(_SIDES[fetch.axes])
    keys: dict[str, Any] = {"name": name, "kind": "texture"}
    keys["dtype"] = "f32" if number in (Number.FLOAT, Number.BITS) else dtype_of(WORD, number)
    if fetch.channels > 1:
        keys["channels"] = fetch.channels
        shape.append(fetch.channels)
    keys["shape"] = shape
    if layers != "none":
        keys["layers"] = layers
    if layers == "cube" or fetch.level:
        keys["normalized"] = True
    if fetch.level:
        keys["levels"] = _LEVELS
    keys["init"] = _contents(str(keys["dtype"]), False)
    coordinates = "integer" if fetch.whole else "float"
    sides = f"{fetch.axes}-dimensional" + ("" if layers == "none" else f", {layers}")
    reasons = [f"fetched at {places}: {sides}, {coordinates} coordinates, {fetch.channels} of its channels read"]
    if fetch.level:
        reasons.append("fetches say their level: of a mipmap, whose coordinates run from 0 to 1")
    unknown = ["sizes", "filter", "address", *([] if "normalized" in keys else ["normalized"]), "read"]
    reasons.append(f"not known from the code: {', '.join(unknown)}")
    return ArgumentEntry(keys, reasons)


def _surface_entry(name: str, fetch: Fetch, sides: list[tuple[int, int]], places: str, sizes: Sizes) -> ArgumentEntry:
    """Return the entry of a surface with elements of the accessed size, as large as the grid's threads reach.

    sides: for each coordinate the axes of the thread's position in it, and the constant added.
    """
    channels = max(fetch.element // WORD, 1)
    keys: dict[str, Any] = {"name": name, "kind": "surface", "dtype": f"u{8 * fetch.element // channels}"}
    reached = [_reach(axes, -(-added // (1 if k else fetch.element)), sizes) for k, (axes, added) in enumerate(sides)]
    reached += [0] * (fetch.axes - len(reached))  # the last may be the constant zero
    keys["shape"] = [max(two) for two in zip(_SIDES[fetch.axes], reversed(reached), strict=True)]
    if channels > 1:
        keys["channels"] = channels
        keys["shape"].append(channels)
    if fetch.layers != "none":
        keys["layers"] = fetch.layers
    keys["init"] = _contents(str(keys["dtype"]), False)
    along = f"{fetch.axes}-dimensional" + ("" if fetch.layers == "none" else f", {fetch.layers}")
    reasons = [f"accessed at {places}: {along}, {count(fetch.element, 'byte')} at once"]
    if any(axes for axes, _ in sides):
        reasons.append("as large as the threads of the grid reach")
    return ArgumentEntry(keys, [*reasons, "not known from the code: sizes, type of an element"])


def _reach(axes: int, added: int, sizes: Sizes) -> int:
    """Return an upper end of a coordinate. axes: the axes of the thread's position in it, as bits; 0 gives 0."""
    return prod(sizes.along(axis) for axis in axes_of(axes)) + max(0, added) if axes else 0
