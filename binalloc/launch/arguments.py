"""The launch file's `[[argument]]` tables: from the plain dicts a TOML parser gives to checked `Argument`s.

Needs `types` and `values`. Leaves true: every argument's values fit their types, shapes and sizes are
within bounds, and unknown keys have been refused.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from binalloc.launch.textures import SURFACE_KEYS, TEXTURE_KEYS, inherited, parse_surface, parse_texture
from binalloc.launch.types import (
    DTYPES,
    HELD,
    POINTER_BYTES,
    Argument,
    ArgumentKind,
    Compare,
    CompareMode,
    Distribution,
    Field,
    Init,
    InitKind,
)
from binalloc.launch.values import At, a_name, a_number, a_path, a_value
from binalloc.printable import plain, quoted

MAX_BUFFER_BYTES = 1 << 28
MAX_PARAMETER_BYTES = 32764

_KEYS = {
    ArgumentKind.BUFFER: ("name", "kind", "dtype", "shape", "init", "compare"),
    ArgumentKind.SYMBOL: ("name", "kind", "dtype", "shape", "init", "compare"),
    ArgumentKind.TEXTURE: ("name", "kind", "dtype", "shape", "init", *TEXTURE_KEYS),
    ArgumentKind.SURFACE: ("name", "kind", "dtype", "shape", "init", "compare", *SURFACE_KEYS),
    ArgumentKind.SCALAR: ("name", "kind", "dtype", "value"),
    ArgumentKind.STRUCT: ("name", "kind", "fields", "bytes"),
    ArgumentKind.POINTER: ("name", "kind", "argument", "at"),
}  # fmt: skip
_OF_A_SIZE: dict[str, tuple[str, ...]] = {
    ArgumentKind.BUFFER: ("shape", "init"),
    ArgumentKind.SYMBOL: ("shape", "init"),
    ArgumentKind.TEXTURE: ("shape", "init"),
    ArgumentKind.SURFACE: ("shape", "init"),
    ArgumentKind.SCALAR: ("value",),
    ArgumentKind.STRUCT: ("fields", "bytes"),
    ArgumentKind.POINTER: ("at",),
}
_FIELD_KEYS = ("name", "dtype", "value", "argument", "at", "offset")
_INIT_KEYS: dict[InitKind, tuple[str, ...]] = {
    InitKind.ZEROS: (),
    InitKind.ONES: (),
    InitKind.CONSTANT: ("value",),
    InitKind.ARANGE: ("start", "step"),
    InitKind.RANDOM: ("distribution", "seed"),
}
_DISTRIBUTIONS = {
    Distribution.UNIFORM: ("low", "high"),
    Distribution.NORMAL: ("mean", "std"),
    Distribution.INTEGERS: ("low", "high"),
}
_COMPARES = (CompareMode.EXACT, CompareMode.UNORDERED, CompareMode.IGNORE)


def parse_arguments(table: dict[str, Any], override: dict[str, Any], at: At, over_at: At) -> tuple[Argument, ...]:
    """The arguments of the file's table `table` (at `at`) under the size `override` (at `over_at`).

    Raises MalformedInput for whatever does not belong there.
    """
    entries = table.get("argument", [])
    if not isinstance(entries, list):
        at.sub("argument").fail("not an array of tables", type(entries).__name__, "[[argument]] entries")
    changes = dict(over_at.sub("argument").table(override.get("argument", {})))
    names = [e.get("name") for e in entries if isinstance(e, dict)]
    over_at.sub("argument").only_keys(changes, tuple(n for n in names if isinstance(n, str)))
    out: list[Argument] = []
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
        out.append(_argument(entry, i, where))
        if out[-1].name in [a.name for a in out[:-1]]:
            where.sub("name").fail("two arguments have the same name", out[-1].name, "distinct names")
    _check_references(out, at)
    total = sum(a.bytes for a in out if a.has_contents)
    if total > MAX_BUFFER_BYTES:
        where = over_at.sub("argument")
        where.fail("the buffers are too large together", f"{total} bytes", f"at most {MAX_BUFFER_BYTES}")
    if sum(a.parameter_bytes for a in out if a.kind != ArgumentKind.SYMBOL) > MAX_PARAMETER_BYTES:
        at.sub("argument").fail("too many parameters", len(out), f"at most {MAX_PARAMETER_BYTES} bytes of them")
    return tuple(out)


def _argument(entry: dict[str, Any], index: int, at: At) -> Argument:
    kind = at.sub("kind").one_of(at.required(entry, "kind"), tuple(_KEYS))
    at.only_keys(entry, _KEYS[kind])
    name = a_name(at.required(entry, "name"), at.sub("name"))
    if kind == ArgumentKind.STRUCT:
        return _struct(name, entry, at)
    if kind == ArgumentKind.POINTER:
        at.required(entry, "argument")
        return Argument(name, ArgumentKind.STRUCT, "u8", size=POINTER_BYTES, fields=(_address(entry, 0, "", at),))
    dtype = at.sub("dtype").one_of(at.required(entry, "dtype"), tuple(DTYPES))
    if kind == ArgumentKind.SCALAR:
        return Argument(name, kind, dtype, value=a_value(at.required(entry, "value"), dtype, at.sub("value")))
    shape = _shape(at.required(entry, "shape"), dtype, at.sub("shape"))
    init = _init(entry.get("init", "zeros"), dtype, math.prod(shape), index, at.sub("init"))
    if kind == ArgumentKind.TEXTURE:
        given = entry.get("level_init", [])
        if not isinstance(given, list):
            at.sub("level_init").fail("not contents of levels", quoted(given), "a list, from level 1 on")
        levels = [_init(v, dtype, math.prod(shape), index, at.sub(f"level_init[{i}]")) for i, v in enumerate(given)]
        texture = parse_texture(entry, dtype, shape, tuple(levels), at)
        return Argument(name, kind, dtype, shape, init=init, texture=texture)
    compare = _compare(entry.get("compare", "exact"), at.sub("compare"))
    surface = parse_surface(entry, dtype, shape, at) if kind == ArgumentKind.SURFACE else None
    return Argument(name, kind, dtype, shape, 0, init, compare, surface)


def _struct(name: str, entry: dict[str, Any], at: At) -> Argument:
    """A struct passed by value: fields one behind the other, each aligned to its element, or where `offset` says."""
    items = at.required(entry, "fields")
    if not isinstance(items, list) or not items:
        at.sub("fields").fail("not fields", quoted(items), "a list of tables { dtype, value }")
    fields: list[Field] = []
    end, align = 0, 1
    for i, item in enumerate(items):
        where = at.sub(f"fields[{i}]")
        field = _field(where.table(item), end, where)
        for other in fields:
            if field.offset < other.offset + other.bytes and other.offset < field.offset + field.bytes:
                where.sub("offset").fail("overlaps another field", field.offset, f"{end} or more")
        fields.append(field)
        end, align = max(end, field.offset + field.bytes), max(align, field.element_bytes)
    named = [f.name for f in fields if f.name]
    if len(set(named)) < len(named):
        at.sub("fields").fail("two fields have the same name", ", ".join(named), "distinct names")
    size = -(-end // align) * align
    if "bytes" in entry:
        size = at.sub("bytes").integer(entry["bytes"], end, MAX_PARAMETER_BYTES)
    return Argument(name, ArgumentKind.STRUCT, "u8", size=size, fields=tuple(fields))


def _field(entry: dict[str, Any], end: int, at: At) -> Field:
    """One member, by default behind the first `end` bytes."""
    at.only_keys(entry, _FIELD_KEYS)
    name = a_name(entry["name"], at.sub("name")) if "name" in entry else ""
    if "argument" in entry:
        at.only_keys(entry, ("name", "argument", "at", "offset"))
        field = _address(entry, -(-end // POINTER_BYTES) * POINTER_BYTES, name, at)
    else:
        at.only_keys(entry, ("name", "dtype", "value", "offset"))
        dtype = at.sub("dtype").one_of(at.required(entry, "dtype"), tuple(DTYPES))
        given = at.required(entry, "value")
        items = given if isinstance(given, list) else [given]
        if not items:
            at.sub("value").fail("no values", "[]", "a value or a list of values")
        values = tuple(a_value(v, dtype, at.sub("value")) for v in items)
        size = DTYPES[dtype].itemsize
        field = Field(-(-end // size) * size, dtype, values, name=name, listed=isinstance(given, list))
    if "offset" in entry:
        field = replace(field, offset=at.sub("offset").integer(entry["offset"], 0, MAX_PARAMETER_BYTES))
    return field


def _address(entry: dict[str, Any], offset: int, name: str, at: At) -> Field:
    """The address of a byte of a buffer, the first by default, or a texture's handle, at a byte offset."""
    other = a_name(entry["argument"], at.sub("argument"))
    byte = at.sub("at").integer(entry.get("at", 0), 0, MAX_BUFFER_BYTES)
    return Field(offset, argument=other, name=name, at=byte)


def _check_references(arguments: list[Argument], at: At) -> None:
    """Fields name buffers, textures and surfaces of the launch, and bytes of those buffers, or the one behind the last;
    a texture that has no contents of its own names what has no fewer."""
    known = {a.name: a for a in arguments if a.kind in HELD and a.kind != ArgumentKind.SYMBOL}
    for i, a in enumerate(arguments):
        if a.texture is not None and a.texture.array and a.bytes > known[a.texture.array].bytes:
            found, expected = f"{a.bytes} bytes", f"at most the {known[a.texture.array].bytes} of {a.texture.array}"
            at.sub(f"argument[{i}]").sub("shape").fail("the texture is larger than what it reads", found, expected)
        for k, field in enumerate(a.fields):
            where = at.sub(f"argument[{i}]").sub(f"fields[{k}]")
            if field.argument and field.argument not in known:
                expected = ", ".join(known) or "one of the launch"
                where.sub("argument").fail("no such buffer, texture or surface", field.argument, expected)
            if field.at:
                last = known[field.argument].bytes * (known[field.argument].kind == ArgumentKind.BUFFER)
                where.sub("at").integer(field.at, 0, last)


def _shape(value: object, dtype: str, at: At) -> tuple[int, ...]:
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 4:
        at.fail("wrong rank", f"{len(items)} dimensions", "1 to 4")
    shape = tuple(at.integer(v, 1, MAX_BUFFER_BYTES) for v in items)
    size = math.prod(shape) * DTYPES[dtype].itemsize
    if size > MAX_BUFFER_BYTES:
        at.fail("the buffer is too large", f"{size} bytes", f"at most {MAX_BUFFER_BYTES}")
    return shape


def _init(value: object, dtype: str, count: int, index: int, at: At) -> Init:
    if isinstance(value, str):
        value = {"kind": value}
    table = at.table(value)
    if "file" in table:
        at.only_keys(table, ("file",))
        return Init(InitKind.FILE, file=str(a_path(table["file"], at.sub("file"))))
    kind = at.sub("kind").one_of(at.required(table, "kind"), tuple(_INIT_KEYS))
    if kind == InitKind.RANDOM:
        return _random(table, dtype, index, at)
    at.only_keys(table, ("kind", *_INIT_KEYS[kind]))
    if kind == InitKind.CONSTANT:
        return Init(kind, low=a_value(at.required(table, "value"), dtype, at.sub("value")))
    if kind == InitKind.ARANGE:
        start = a_value(table.get("start", 0), dtype, at.sub("start"))
        step = table.get("step", 1)
        if isinstance(start, int):
            step = at.sub("step").integer(step, -(2**63), 2**63 - 1)
            a_value(start + step * (count - 1), dtype, at.sub("step"))
        else:
            step = a_number(step, at.sub("step"))
        return Init(kind, low=start, step=step)
    return Init(kind)


def _random(table: dict[str, Any], dtype: str, index: int, at: At) -> Init:
    choice = at.sub("distribution").one_of(table.get("distribution", "uniform"), tuple(_DISTRIBUTIONS))
    at.only_keys(table, ("kind", "distribution", "seed", *_DISTRIBUTIONS[choice]))
    seed = at.sub("seed").integer(table.get("seed", index), 0, 2**63 - 1)
    if choice != Distribution.INTEGERS and DTYPES[dtype].kind != "f":
        at.sub("distribution").fail("real numbers for an integer buffer", choice, "integers")
    if choice == Distribution.NORMAL:
        std = a_number(table.get("std", 1.0), at.sub("std"))
        if std < 0:
            at.sub("std").fail("negative standard deviation", std, "at least 0")
        return Init(InitKind.RANDOM, choice, mean=a_number(table.get("mean", 0.0), at.sub("mean")), std=std, seed=seed)
    if choice == Distribution.INTEGERS:
        bounds = (-(2**63), 2**63 - 1) if DTYPES[dtype].kind != "u" else (0, 2**64 - 1)
        low: float = at.sub("low").integer(table.get("low", 0), *bounds)
        high: float = at.sub("high").integer(at.required(table, "high"), *bounds)
        a_value(int(low), dtype, at.sub("low"))
        a_value(int(high) - 1, dtype, at.sub("high"))
    else:
        low = a_value(a_number(table.get("low", 0.0), at.sub("low")), dtype, at.sub("low"))
        high = a_value(a_number(table.get("high", 1.0), at.sub("high")), dtype, at.sub("high"))
    if low >= high:
        at.sub("high").fail("empty range", f"low {low}, high {high}", "low below high")
    return Init(InitKind.RANDOM, choice, low=low, high=high, seed=seed)


def _compare(value: object, at: At) -> Compare:
    if isinstance(value, dict):
        at.only_keys(value, ("rtol", "atol"))
        bounds = {k: a_number(value.get(k, 0.0), at.sub(k)) for k in ("rtol", "atol")}
        for key, number in bounds.items():
            if number < 0:
                at.sub(key).fail("negative tolerance", number, "at least 0")
        return Compare(CompareMode.TOLERANCE, **bounds)
    return Compare(at.one_of(value, _COMPARES))
