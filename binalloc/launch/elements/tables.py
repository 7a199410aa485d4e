"""The launch file's `[types.<name>]` tables become structs here, from the plain dicts of a TOML parser.

Needs `layout` and `values`. Leaves true: every struct has a size, its members do not overlap and lie inside of it, and
no struct contains itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from binalloc.launch.elements.layout import MAX_AXES, Element, Member, Struct, align_of, size_of
from binalloc.launch.numbers.dtypes import DTYPES, POINTER
from binalloc.launch.values import At, a_name
from binalloc.printable import quoted

TYPE_KEYS = ("fields", "bytes", "align", "packed")  # keys of `[types.<name>]`
MEMBER_KEYS = ("name", "dtype", "shape", "offset")  # keys of a member of such a type
MAX_TYPE_BYTES = 1 << 28  # bytes of a struct: the limit of all buffers together
MAX_ALIGN = 128  # bytes: CUDA's largest `__align__`
MAX_NESTING = 16  # levels of structs in structs: bounds recursion; chosen by hand
MAX_MEMBERS = 4096  # numbers and pointers of a struct: each is compared by itself; chosen by hand
MAX_TYPES = 1000  # types of a file: bounds its check; chosen by hand


class Types:
    """The types of a launch file are its structs, by their names, and the built-in types of numbers and pointers.
    Raises MalformedInput for everything that does not belong into the table."""

    def __init__(self, table: object, at: At) -> None:
        self._tables, self._at = at.table(table), at
        self._made: dict[str, Struct] = {}
        self._levels: dict[str, int] = {}
        if len(self._tables) > MAX_TYPES:
            at.fail("too many types", len(self._tables), f"at most {MAX_TYPES}")
        for name in self._tables:
            where = at.sub(str(name))
            if a_name(name, where) in DTYPES:
                where.fail("the name of a built-in type", name, "another name")
        for name in self._tables:
            self._struct(name, ())

    def names(self) -> tuple[str, ...]:
        """Return the names that `dtype` of an element may have."""
        return (*DTYPES, *self._tables)

    def element(self, value: object, at: At) -> Element:
        """Return the type that `value` names."""
        name = at.one_of(value, self.names())
        return name if name in DTYPES else self._made[name]

    def _struct(self, name: str, around: tuple[str, ...]) -> Struct:
        """Return a struct, after the structs in it. around: the struct that it is a member of, and so on."""
        if name in self._made:
            return self._made[name]
        at = self._at.sub(name)
        if name in around:
            chain = " in ".join(reversed([*around[around.index(name) :], name]))
            at.fail("a struct that holds itself", chain, f'a pointer to another one, dtype = "{POINTER}"')
        entry = at.table(self._tables[name])
        at.only_keys(entry, TYPE_KEYS)
        items = at.required(entry, "fields")
        if not isinstance(items, list) or not items:
            at.sub("fields").fail("not fields", quoted(items), "a list of tables { name, dtype }")
        packed = at.sub("packed").typed(entry.get("packed", False), bool)
        members: dict[str, Member] = {}
        end, align, levels = 0, 1, 1
        for i, item in enumerate(items):
            where = at.sub(f"fields[{i}]")
            element = self._member_type(where.table(item), (*around, name), where)
            own = 1 if packed else align_of(element)
            made = _member(item, element, -(-end // own) * own, end, members, where)
            members[made.name] = made
            end, align = max(end, made.offset + made.bytes), max(align, own)
            levels = max(levels, 1 + (0 if isinstance(element, str) else self._levels[element.name]))
        if levels > MAX_NESTING:
            at.fail("structs nest too deeply", levels, f"at most {MAX_NESTING} levels")
        if "align" in entry:
            align = _alignment(entry["align"], align, at.sub("align"))
        size = -(-end // align) * align
        if "bytes" in entry:
            size = at.sub("bytes").integer(entry["bytes"], end, MAX_TYPE_BYTES)
        struct = Struct(name, tuple(members.values()), size, align)
        _require_modest(struct, at)
        self._made[name], self._levels[name] = struct, levels
        return struct

    def _member_type(self, item: dict[str, Any], around: tuple[str, ...], at: At) -> Element:
        """Return the type of a member."""
        at.only_keys(item, MEMBER_KEYS)
        name = at.sub("dtype").one_of(at.required(item, "dtype"), self.names())
        return name if name in DTYPES else self._struct(name, around)


def _member(
    item: dict[str, Any], element: Element, offset: int, end: int, before: Mapping[str, Member], at: At
) -> Member:
    """Return one member, at that offset unless the file gives another. before: the members before it, which end at byte
    `end`."""
    name = a_name(at.required(item, "name"), at.sub("name"))
    if name in before:
        at.sub("name").fail("two fields have the same name", name, "distinct names")
    shape: tuple[int, ...] = ()
    if "shape" in item:
        given = item["shape"] if isinstance(item["shape"], list) else [item["shape"]]
        if not 1 <= len(given) < MAX_AXES:
            at.sub("shape").fail("wrong rank", f"{len(given)} dimensions", f"1 to {MAX_AXES - 1}")
        shape = tuple(at.sub("shape").integer(v, 1, MAX_TYPE_BYTES) for v in given)
    if "offset" in item:
        offset = at.sub("offset").integer(item["offset"], 0, MAX_TYPE_BYTES)
    size = math.prod(shape) * size_of(element)
    if offset + size > MAX_TYPE_BYTES:
        at.fail("the struct is too large", f"{offset + size} bytes", f"at most {MAX_TYPE_BYTES}")
    if offset < end:
        require_apart(offset, size, [(m.name, m.offset, m.bytes) for m in before.values()], at)
    return Member(name, element, offset, shape)


def require_apart(offset: int, size: int, others: list[tuple[str, int, int]], at: At) -> None:
    """Refuse a field that overlaps another one. others: their names, offsets and bytes."""
    for name, start, length in others:
        if offset < start + length and start < offset + size:
            end = max(start + length for _, start, length in others)
            message = f"overlaps the field {name}" if name else "overlaps another field"
            at.sub("offset").fail(message, offset, f"{end} or more")


def _alignment(value: object, least: int, at: At) -> int:
    """Return an alignment, at least `least`."""
    number = at.integer(value, least, MAX_ALIGN)
    if number & (number - 1):
        at.fail("not an alignment", number, "a power of two")
    return number


def _require_modest(made: Struct, at: At) -> None:
    """Refuse too many members or axes: others loop over them."""
    for count, leaf in enumerate(made.leaves(), 1):
        if count > MAX_MEMBERS:
            found, expected = f"{count} or more", f"at most {MAX_MEMBERS}"
            at.fail("too many fields, with the fields of structs in it", found, expected)
        if leaf.axes >= MAX_AXES:
            at.fail("too many dimensions, with the dimensions of structs in it", leaf.axes, f"at most {MAX_AXES - 1}")


def struct_types(table: Mapping[str, Any], at: At) -> Types:
    """Return the types of a launch file. table: its top level, at `at`."""
    return Types(table.get("types", {}), at.sub("types"))
