"""The launch file's `[[argument]]` tables become checked `Argument`s here, from the plain dicts of a TOML parser.

Needs `types` and `values`. Leaves true: every argument's values fit their types, shapes and sizes are within bounds,
and unknown keys have been refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from binalloc.launch.contents.schema import Filled, parse_init
from binalloc.launch.elements.cells import CellField, cells
from binalloc.launch.elements.layout import MAX_AXES, Element, Struct, size_of
from binalloc.launch.elements.tables import Types, require_apart, struct_types
from binalloc.launch.numbers.dtypes import NUMBERS, POINTER_BYTES, kind_of
from binalloc.launch.placing import Target
from binalloc.launch.textures import (
    SURFACE_DTYPES,
    SURFACE_KEYS,
    TEXTURE_DTYPES,
    TEXTURE_KEYS,
    inherited,
    level_shape,
    parse_surface,
    parse_texture,
    require_fits,
)
from binalloc.launch.types import (
    DTYPES,
    Argument,
    ArgumentKind,
    Compare,
    CompareMode,
    targets_of,
)
from binalloc.launch.values import At, a_name, a_number, a_value
from binalloc.printable import plain, quoted

MAX_BUFFER_BYTES = 1 << 28  # bytes of all buffers together: bounds the host's memory; chosen by hand
MAX_PARAMETER_BYTES = 32764  # CUDA's limit, since compute capability 7.0 with CUDA 12.1

_KEYS = {
    ArgumentKind.BUFFER: ("name", "kind", "dtype", "shape", "init", "compare", "parameter"),
    ArgumentKind.SYMBOL: ("name", "kind", "dtype", "shape", "init", "compare"),
    ArgumentKind.TEXTURE: ("name", "kind", "dtype", "shape", "init", *TEXTURE_KEYS),
    ArgumentKind.SURFACE: ("name", "kind", "dtype", "shape", "init", "compare", *SURFACE_KEYS),
    ArgumentKind.SCALAR: ("name", "kind", "dtype", "value"),
    ArgumentKind.STRUCT: ("name", "kind", "fields", "bytes", "dtype", "value"),
    ArgumentKind.POINTER: ("name", "kind", "argument", "at"),
}  # fmt: skip
"""By kind: the keys of an argument."""
_OF_A_SIZE: dict[str, tuple[str, ...]] = {
    ArgumentKind.BUFFER: ("shape", "init"),
    ArgumentKind.SYMBOL: ("shape", "init"),
    ArgumentKind.TEXTURE: ("shape", "init"),
    ArgumentKind.SURFACE: ("shape", "init"),
    ArgumentKind.SCALAR: ("value",),
    ArgumentKind.STRUCT: ("fields", "bytes", "value"),
    ArgumentKind.POINTER: ("at",),
}
"""By kind: the keys that a size may override."""
_FIELD_KEYS = ("name", "dtype", "value", "argument", "at", "offset", "fields", "bytes")
"""Keys of a field of a struct by value."""
_COMPARES = (CompareMode.EXACT, CompareMode.UNORDERED, CompareMode.IGNORE)
"""Ways of comparison that are written as text."""


def parse_arguments(table: dict[str, Any], override: dict[str, Any], at: At, over_at: At) -> tuple[Argument, ...]:
    """Return the arguments of the file's table `table` (at `at`) under the size `override` (at `over_at`).

    Raises MalformedInput for everything that does not belong there.
    """
    entries = table.get("argument", [])
    if not isinstance(entries, list):
        at.sub("argument").fail("not an array of tables", type(entries).__name__, "[[argument]] entries")
    changes = dict(over_at.sub("argument").table(override.get("argument", {})))
    names = [e.get("name") for e in entries if isinstance(e, dict)]
    over_at.sub("argument").only_keys(changes, tuple(n for n in names if isinstance(n, str)))
    types = struct_types(table, at)
    merged: list[tuple[dict[str, Any], At]] = []
    shells: list[Argument] = []
    used: set[str] = set()
    for i, entry in enumerate(entries):
        where = at.sub(f"argument[{i}]")
        entry = dict(where.table(entry))
        name = entry.get("name")
        if isinstance(name, str) and name in changes:
            where = over_at.sub("argument").sub(name)
            change = where.table(changes[name])
            where.only_keys(change, _OF_A_SIZE.get(plain(entry.get("kind")), ()))
            entry |= change
        if entry.get("kind") == ArgumentKind.TEXTURE and "array" in entry:
            entry = inherited(entry, entries, changes, where)
        merged.append((entry, where))
        shells.append(_shell(entry, types, where))
        if shells[-1].name in used:
            where.sub("name").fail("two arguments have the same name", shells[-1].name, "distinct names")
        used.add(shells[-1].name)
    targets = targets_of(shells)
    out = [
        _filled(shell, entry, i, types, targets, where)
        for i, (shell, (entry, where)) in enumerate(zip(shells, merged, strict=True))
    ]
    for a, (_, where) in zip(out, merged, strict=True):
        require_fits(a, out, where)
    total = sum(a.bytes for a in out if a.has_contents)
    if total > MAX_BUFFER_BYTES:
        where = over_at.sub("argument")
        where.fail("the buffers are too large together", f"{total} bytes", f"at most {MAX_BUFFER_BYTES}")
    if sum(a.parameter_bytes for a in out if a.kind != ArgumentKind.SYMBOL) > MAX_PARAMETER_BYTES:
        at.sub("argument").fail("too many parameters", len(out), f"at most {MAX_PARAMETER_BYTES} bytes of them")
    return tuple(out)


def _shell(entry: dict[str, Any], types: Types, at: At) -> Argument:
    """Return an argument without its contents. Type and size are known: that suffices to check pointers to it."""
    kind = at.sub("kind").one_of(at.required(entry, "kind"), tuple(_KEYS))
    at.only_keys(entry, _KEYS[kind])
    name = a_name(at.required(entry, "name"), at.sub("name"))
    if kind in (ArgumentKind.STRUCT, ArgumentKind.POINTER):
        return Argument(name, ArgumentKind.STRUCT, "u8", size=1)
    if kind == ArgumentKind.SCALAR:
        dtype = at.sub("dtype").one_of(at.required(entry, "dtype"), NUMBERS)
        return Argument(name, kind, dtype, value=a_value(at.required(entry, "value"), dtype, at.sub("value")))
    known = {ArgumentKind.TEXTURE: TEXTURE_DTYPES, ArgumentKind.SURFACE: SURFACE_DTYPES}.get(kind) or types.names()
    element = types.element(at.sub("dtype").one_of(at.required(entry, "dtype"), known), at.sub("dtype"))
    shape = _shape(at.required(entry, "shape"), element, at.sub("shape"))
    dtype, struct = (element, None) if isinstance(element, str) else (element.name, element)
    parameter = at.sub("parameter").typed(entry["parameter"], bool) if "parameter" in entry else None
    return Argument(name, kind, dtype, shape, struct=struct, parameter=parameter)


def _filled(
    shell: Argument, entry: dict[str, Any], index: int, types: Types, targets: Mapping[str, Target], at: At
) -> Argument:
    """Return the argument with its contents. targets: the arguments that pointers may point to."""
    if shell.kind == ArgumentKind.SCALAR:
        return shell
    if shell.kind == ArgumentKind.STRUCT:
        if entry["kind"] == ArgumentKind.POINTER:
            at.required(entry, "argument")
            fields = (_address(entry, 0, "", targets, at),)
            return replace(shell, size=POINTER_BYTES, fields=fields)
        return _struct(shell, entry, types, targets, at)
    filled = Filled(shell.element, shell.shape, index, targets)
    init = parse_init(entry.get("init", "zeros"), filled, at.sub("init"))
    if shell.kind == ArgumentKind.TEXTURE:
        given = entry.get("level_init", [])
        if not isinstance(given, list):
            at.sub("level_init").fail("not contents of levels", quoted(given), "a list, from level 1 on")
        texture = parse_texture(entry, shell.dtype, shell.shape, len(given), at)
        levels = [
            parse_init(v, replace(filled, shape=level_shape(texture, 1 + i)), at.sub(f"level_init[{i}]"))
            for i, v in enumerate(given)
        ]
        return replace(shell, init=init, texture=replace(texture, given=tuple(levels)))
    surface = parse_surface(entry, shell.shape, at) if shell.kind == ArgumentKind.SURFACE else None
    compare = _compare(entry.get("compare", "exact"), at.sub("compare"))
    return replace(shell, init=init, compare=compare, texture=surface)


def _struct(shell: Argument, entry: dict[str, Any], types: Types, targets: Mapping[str, Target], at: At) -> Argument:
    """Return a struct passed by value, of a type of the file or by its fields."""
    if "dtype" not in entry:
        at.only_keys(entry, ("name", "kind", "fields", "bytes"))
        fields, end, align = _fields(entry, types, targets, at)
        size = -(-end // align) * align
        if "bytes" in entry:
            size = at.sub("bytes").integer(entry["bytes"], end, MAX_PARAMETER_BYTES)
        return replace(shell, size=size, fields=tuple(fields))
    at.only_keys(entry, ("name", "kind", "dtype", "value"))
    known = [name for name in types.names() if name not in DTYPES]
    struct = types.element(at.sub("dtype").one_of(entry["dtype"], known), at.sub("dtype"))
    assert isinstance(struct, Struct)
    fields = list(cells(at.required(entry, "value"), struct, (), 0, targets, at.sub("value")))
    return replace(shell, size=struct.bytes, fields=tuple(fields), struct=struct)


def _fields(
    entry: dict[str, Any], types: Types, targets: Mapping[str, Target], at: At
) -> tuple[list[CellField], int, int]:
    """Return fields one behind the other, each aligned to its element, or at its own `offset`; and their end, and the
    largest alignment."""
    items = at.required(entry, "fields")
    if not isinstance(items, list) or not items:
        at.sub("fields").fail("not fields", quoted(items), "a list of tables { dtype, value }")
    out: list[CellField] = []
    spans: list[tuple[str, int, int]] = []
    end, align = 0, 1
    for i, item in enumerate(items):
        where = at.sub(f"fields[{i}]")
        fields, span, own = _field(where.table(item), end, types, targets, where)
        require_apart(span[1], span[2], spans, where)
        out += fields
        spans.append(span)
        end, align = max(end, span[1] + span[2]), max(align, own)
        if end > MAX_PARAMETER_BYTES:
            where.fail("the struct is too large", f"{end} bytes", f"at most {MAX_PARAMETER_BYTES}")
    named = [name for name, _, _ in spans if name]
    if len(set(named)) < len(named):
        at.sub("fields").fail("two fields have the same name", ", ".join(named), "distinct names")
    return out, end, align


def _field(
    entry: dict[str, Any], end: int, types: Types, targets: Mapping[str, Target], at: At
) -> tuple[list[CellField], tuple[str, int, int], int]:  # fmt: skip
    """Return one member: its numbers and pointers; its name, offset and bytes; its alignment. By default it lies behind
    the first `end` bytes."""
    at.only_keys(entry, _FIELD_KEYS)
    name = a_name(entry["name"], at.sub("name")) if "name" in entry else ""
    inside: list[CellField] = []
    if "argument" in entry:
        at.only_keys(entry, ("name", "argument", "at", "offset"))
        inside, size, align = [_address(entry, 0, name, targets, at)], POINTER_BYTES, POINTER_BYTES
    elif "fields" in entry:
        at.only_keys(entry, ("name", "fields", "bytes", "offset"))
        inside, size, align = _fields(entry, types, targets, at)
        size = -(-size // align) * align
        if "bytes" in entry:
            size = at.sub("bytes").integer(entry["bytes"], size, MAX_PARAMETER_BYTES)
        inside = [replace(f, path=(name, *f.path)) if name else replace(f, name="") for f in inside]
    else:
        at.only_keys(entry, ("name", "dtype", "value", "offset"))
        inside, size, align = _typed(entry, name, types, targets, at)
    offset = -(-end // align) * align
    if "offset" in entry:
        offset = at.sub("offset").integer(entry["offset"], 0, MAX_PARAMETER_BYTES)
    return [replace(f, offset=f.offset + offset) for f in inside], (name, offset, size), align


def _typed(
    entry: dict[str, Any], name: str, types: Types, targets: Mapping[str, Target], at: At
) -> tuple[list[CellField], int, int]:
    """Return a field with a type: numbers and pointers, bytes and alignment. A list is an array of them."""
    element = types.element(at.required(entry, "dtype"), at.sub("dtype"))
    given, where = at.required(entry, "value"), at.sub("value")
    if given == []:
        where.fail("no values", "[]", "a value or a list of values")
    alone = isinstance(element, str) and kind_of(element) == "c" and isinstance(given, list) and len(given) == 2
    listed = isinstance(given, list) and not (alone and not any(isinstance(v, list) for v in given))
    shape = (len(given),) if listed else ()
    count = len(given) if listed else 1
    if count * size_of(element) > MAX_PARAMETER_BYTES:
        where.fail("too many values", count, f"at most {MAX_PARAMETER_BYTES} bytes of them")
    found = list(cells(given, element, shape, 0, targets, where, (), name))
    align = size_of(element) if isinstance(element, str) else element.align
    return found, count * size_of(element), align


def _address(entry: dict[str, Any], offset: int, name: str, targets: Mapping[str, Target], at: At) -> CellField:
    """Return a field with the address of a byte of a buffer, the first by default, or with a texture's or surface's
    handle. offset: its byte offset."""
    other = a_name(entry["argument"], at.sub("argument"))
    if other not in targets:
        at.sub("argument").fail("no such buffer, texture or surface", other, ", ".join(targets) or "one of the launch")
    byte = at.sub("at").integer(entry.get("at", 0), 0, targets[other].bytes)
    return CellField(offset, argument=other, name=name, at=byte)


def _shape(value: object, element: Element, at: At) -> tuple[int, ...]:
    """Return the sides of a buffer, within the limits of axes and bytes."""
    items = value if isinstance(value, list) else [value]
    inside = 0 if isinstance(element, str) else max(leaf.axes for leaf in element.leaves())
    most = MAX_AXES - inside
    if not 1 <= len(items) <= most:
        at.fail("wrong rank", f"{len(items)} dimensions", f"1 to {most}")
    shape = tuple(at.integer(v, 1, MAX_BUFFER_BYTES) for v in items)
    size = math.prod(shape) * size_of(element)
    if size > MAX_BUFFER_BYTES:
        at.fail("the buffer is too large", f"{size} bytes", f"at most {MAX_BUFFER_BYTES}")
    return shape


def _compare(value: object, at: At) -> Compare:
    """Return the way in which a buffer is compared."""
    if isinstance(value, dict):
        at.only_keys(value, ("rtol", "atol"))
        bounds = {k: a_number(value.get(k, 0.0), at.sub(k)) for k in ("rtol", "atol")}
        for key, number in bounds.items():
            if number < 0:
                at.sub(key).fail("negative tolerance", number, "at least 0")
        return Compare(CompareMode.TOLERANCE, **bounds)
    return Compare(at.one_of(value, _COMPARES))
