"""`init` of launch files becomes a checked `Init` here, from the plain values of a TOML parser.

Needs `init` and `values`. Leaves true: its contents fit the argument's elements, as far as no file is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from binalloc.launch.contents.init import Distribution, Init, InitKind
from binalloc.launch.contents.ranges import has_numbers
from binalloc.launch.contents.read import FileFormat, InputFile
from binalloc.launch.elements.cells import a_pointer, a_target, cells
from binalloc.launch.elements.layout import Element, Struct
from binalloc.launch.numbers.dtypes import PART, POINTER, POINTER_BYTES, Number, kind_of
from binalloc.launch.placing import Target
from binalloc.launch.values import At, a_name, a_number, a_path, a_value
from binalloc.printable import quoted

INIT_KEYS: dict[InitKind, tuple[str, ...]] = {
    InitKind.ZEROS: (),
    InitKind.ONES: (),
    InitKind.CONSTANT: ("value",),
    InitKind.ARANGE: ("start", "step"),
    InitKind.RANDOM: ("distribution", "seed"),
    InitKind.VALUES: ("values",),
    InitKind.FIELDS: ("fields",),
}
"""By kind: its keys."""
DISTRIBUTIONS = {
    Distribution.UNIFORM: ("low", "high"),
    Distribution.NORMAL: ("mean", "std"),
    Distribution.INTEGERS: ("low", "high"),
}
"""By distribution: its keys."""
FILE_KEYS: dict[FileFormat, tuple[str, ...]] = {
    FileFormat.NPY: (),
    FileFormat.NPZ: ("array",),
    FileFormat.RAW: ("offset",),
    FileFormat.CSV: ("delimiter", "skip"),
    FileFormat.PNG: (),
}
"""By format: its keys."""
_ENDS = {
    ".npy": FileFormat.NPY, ".npz": FileFormat.NPZ, ".csv": FileFormat.CSV, ".png": FileFormat.PNG,
    ".raw": FileFormat.RAW,
}
"""By end of a file's name: its format."""
_OF_POINTERS = (InitKind.CONSTANT, InitKind.ARANGE, InitKind.RANDOM)
"""Kinds that can make numbers of elements for pointers."""
_LONGEST = 1 << 40  # bytes or lines to leave out: more than any file has; chosen by hand


@dataclass(frozen=True, slots=True)
class Filled:
    """An argument, or a member of one, that is to be filled has elements of one type in a shape."""

    element: Element  #: type of the elements
    shape: tuple[int, ...]  #: of all of them
    index: int  #: the argument's place in the file, its seed by default
    targets: Mapping[str, Target]  #: the arguments that pointers may point to

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


def parse_init(value: object, to: Filled, at: At) -> Init:
    """Return the record of contents. Raises MalformedInput for everything that does not belong there."""
    if isinstance(value, str):
        value = {"kind": value}
    table = at.table(value)
    if to.element == POINTER and "argument" in table:
        return _pointers(table, to, at)
    if "file" in table:
        return _file(table, to, at)
    kind = _kind(table, at)
    if kind == InitKind.VALUES:
        at.only_keys(table, ("kind", "values"))
        given = at.required(table, "values")
        return Init(kind, cells=tuple(cells(given, to.element, to.shape, 0, to.targets, at.sub("values"))))
    if kind == InitKind.FIELDS:
        at.only_keys(table, ("kind", "fields"))
        return Init(kind, parts=_parts(at.required(table, "fields"), to, at.sub("fields")))
    if kind == InitKind.ZEROS:
        at.only_keys(table, ("kind",))
        return Init(kind)
    if isinstance(to.element, Struct):
        message = f"structs cannot be filled in this way ({to.element.name})"
        at.sub("kind").fail(message, kind, "zeros, values, fields, or a file")
    if to.element == POINTER:
        expected = 'zeros, values, or numbers of elements, with `argument = "name"`'
        at.sub("kind").fail("pointers cannot be filled in this way", kind, expected)
    return _numbers(kind, table, to.element, to, at)


def _kind(table: dict[str, Any], at: At) -> InitKind:
    """Return the kind; the keys `values` and `fields` stand for theirs."""
    for own in (InitKind.VALUES, InitKind.FIELDS):
        if own in table and "kind" not in table:
            return own
    return at.sub("kind").one_of(at.required(table, "kind"), tuple(INIT_KEYS))


def _pointers(table: dict[str, Any], to: Filled, at: At) -> Init:
    """Return the record of pointers to elements of one buffer, by their numbers."""
    name = a_name(table["argument"], at.sub("argument"))
    target = a_target(name, to.targets, at.sub("argument"))
    rest = {key: value for key, value in table.items() if key != "argument"}
    if "file" in rest:
        return replace(_file(rest, replace(to, element="i64"), at), argument=name)
    if "values" in rest:
        return _listed(rest, name, target, to, at)
    kind = at.sub("kind").one_of(at.required(rest, "kind"), _OF_POINTERS)
    made = _numbers(kind, {"distribution": "integers"} | rest if kind == InitKind.RANDOM else rest, "i64", to, at)
    last = made.low.real + (made.step.real * (to.count - 1) if kind == InitKind.ARANGE else 0)
    highest = max(made.low.real, last) if kind != InitKind.RANDOM else made.high - 1
    count = target.bytes // target.element_bytes
    if highest > count:
        expected = f"at most {count}, and negative numbers for null"
        at.fail(f"a pointer beyond the end of {name}", f"element {highest}", expected)
    return replace(made, argument=name)


def _listed(table: dict[str, Any], name: str, target: Target, to: Filled, at: At) -> Init:
    """Return the record of pointers to elements of one buffer, from a list of their numbers, negative ones for null."""
    at.only_keys(table, ("kind", "values"))
    kind = at.sub("kind").one_of(table.get("kind", InitKind.VALUES), (InitKind.VALUES, *_OF_POINTERS))
    if kind != InitKind.VALUES:
        at.sub("values").fail("contents of two kinds", f"values and {kind}", "one of them")
    count, out = target.bytes // target.element_bytes, []
    for number in cells(table["values"], "i64", to.shape, 0, {}, at.sub("values")):
        for i, value in enumerate(number.values):
            where = At(at.file, f"{at.key}.values[{i}]")
            given = {"argument": name, "element": where.integer(value, -(2**63), count)} if value.real >= 0 else 0
            out.append(a_pointer(given, i * POINTER_BYTES, to.targets, where))
    return Init(InitKind.VALUES, cells=tuple(out))


def _parts(value: object, to: Filled, at: At) -> tuple[tuple[str, Init], ...]:
    """Return the records of single members of structs."""
    if not isinstance(to.element, Struct):
        at.fail("only structs have fields", to.element, "an `init` of numbers")
    table = at.table(value)
    at.only_keys(table, [m.name for m in to.element.members])
    out = []
    for m in to.element.members:
        if m.name in table:
            inside = replace(to, element=m.element, shape=(*to.shape, *m.shape))
            out.append((m.name, parse_init(table[m.name], inside, at.sub(m.name))))
    return tuple(out)


def _file(table: dict[str, Any], to: Filled, at: At) -> Init:
    """Return the record of contents from a file."""
    path = a_path(table["file"], at.sub("file"))
    if "format" in table:
        format_ = at.sub("format").one_of(table["format"], tuple(FileFormat))
    else:
        format_ = _ENDS.get(path.suffix.lower(), FileFormat.NPY)
    fields = ("fields",) if isinstance(to.element, Struct) else ()
    at.only_keys(table, ("file", "format", *fields, *FILE_KEYS[format_]))
    given = InputFile(str(path), format_)
    if format_ == FileFormat.NPZ:
        given = replace(given, array=_array_name(at.required(table, "array"), at.sub("array")))
    if "offset" in table:
        given = replace(given, offset=at.sub("offset").integer(table["offset"], 0, _LONGEST))
    if "delimiter" in table:
        given = replace(given, delimiter=_delimiter(table["delimiter"], at.sub("delimiter")))
    if "skip" in table:
        given = replace(given, skip=at.sub("skip").integer(table["skip"], 0, _LONGEST))
    parts = _parts(table["fields"], to, at.sub("fields")) if "fields" in table else ()
    if format_ in (FileFormat.CSV, FileFormat.PNG) and isinstance(to.element, Struct):
        expected = "npy, npz or raw, or files for single `fields`"
        at.sub("format").fail("a file of this format has no structs", format_, expected)
    return Init(InitKind.FILE, file=given, parts=parts)


def _array_name(value: object, at: At) -> str:
    """Return the name of an array in an archive."""
    if not isinstance(value, str) or not value or len(value) > 1024 or not value.isprintable():
        at.fail("not the name of an array", quoted(value), "the one that numpy.savez was given")
    return value


def _delimiter(value: object, at: At) -> str:
    """Return a character that separates numbers."""
    if not isinstance(value, str) or len(value) != 1 or value in "\r\n\"" or value.isalnum() or value in "+-.#":
        at.fail("not a delimiter", quoted(value), "one character that no number has, \",\" or \"\\t\"")
    return value


def _numbers(kind: InitKind, table: dict[str, Any], dtype: str, to: Filled, at: At) -> Init:
    """Return the record of numbers of one kind."""
    if kind == InitKind.RANDOM:
        return _random(table, dtype, to.index, at)
    at.only_keys(table, ("kind", *INIT_KEYS[kind]))
    if kind == InitKind.CONSTANT:
        return Init(kind, low=a_value(at.required(table, "value"), dtype, at.sub("value")))
    if kind == InitKind.ARANGE:
        return _ramp(table, dtype, to.count, at)
    return Init(kind)


def _ramp(table: dict[str, Any], dtype: str, count: int, at: At) -> Init:
    """Return the record of numbers that begin at `start` and rise by `step`; both ends fit the type."""
    if kind_of(dtype) == "b":
        at.sub("kind").fail("truth values are not counted", InitKind.ARANGE, "zeros, ones, constant, values or random")
    start = a_value(table.get("start", 0), dtype, at.sub("start"))
    step: Number = table.get("step", 1)
    if isinstance(start, int):
        step = at.sub("step").integer(step, -(2**63), 2**63 - 1)
        a_value(start + step * (count - 1), dtype, at.sub("step"))
    elif isinstance(start, complex):
        step = a_value(step, dtype, at.sub("step"))
    else:
        # As they are written: each number is rounded to the type once, at the end.
        start, step = float(table.get("start", 0)), a_number(step, at.sub("step"))
    return Init(InitKind.ARANGE, low=start, step=step)


def _random(table: dict[str, Any], dtype: str, index: int, at: At) -> Init:
    """Return the record of random numbers. index: the seed by default."""
    usual = Distribution.INTEGERS if kind_of(dtype) == "b" else Distribution.UNIFORM
    choice = at.sub("distribution").one_of(table.get("distribution", usual), tuple(DISTRIBUTIONS))
    at.only_keys(table, ("kind", "distribution", "seed", *DISTRIBUTIONS[choice]))
    seed = at.sub("seed").integer(table.get("seed", index), 0, 2**63 - 1)
    if choice != Distribution.INTEGERS and kind_of(dtype) not in "fc":
        at.sub("distribution").fail("real numbers for an integer buffer", choice, "integers")
    if choice == Distribution.NORMAL:
        std = a_number(table.get("std", 1.0), at.sub("std"))
        if std < 0:
            at.sub("std").fail("negative standard deviation", std, "at least 0")
        return Init(InitKind.RANDOM, choice, mean=a_number(table.get("mean", 0.0), at.sub("mean")), std=std, seed=seed)
    part = "u8" if dtype == "bool" else PART.get(dtype, dtype)
    if choice == Distribution.INTEGERS:
        bounds = (-(2**63), 2**63 - 1) if kind_of(dtype) not in "ub" else (0, 2**64 - 1)
        low: float = at.sub("low").integer(table.get("low", 0), *bounds)
        high_at = at.sub("high")
        high: float = high_at.integer(table.get("high", 2) if dtype == "bool" else at.required(table, "high"), *bounds)
        a_value(int(low), part, at.sub("low"))
        a_value(int(high) - 1, part, high_at)
        if dtype == "bool" and high > 2:
            high_at.fail("out of the range of truth values", high, "at most 2")
    else:
        low = _real(a_number(table.get("low", 0.0), at.sub("low")), part, at.sub("low"))
        high = _real(a_number(table.get("high", 1.0), at.sub("high")), part, at.sub("high"))
    if low >= high:
        at.sub("high").fail("empty range", f"low {low}, high {high}", "low below high")
    if kind_of(part) == "f" and not has_numbers(low, high, part):
        at.sub("high").fail("no number of the type is in the range", f"{low} to {high}", f"an {part} in it")
    return Init(InitKind.RANDOM, choice, low=low, high=high, seed=seed)


def _real(value: float, dtype: str, at: At) -> float:
    """Return a number that fits the type."""
    return float(a_value(value, dtype, at).real)
