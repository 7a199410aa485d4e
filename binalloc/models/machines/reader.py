"""This module reads and checks machine files: TOML in which every figure is a table of value, unit and source.

Needs the sections of `binalloc.models.machines.sections`, whose fields are the schema (type, unit and range are written
there and nowhere else). Leaves a `Machine`, or raises a MalformedInput with the file, the key, the value found and the
value expected. Unknown and missing keys, wrong types and units, and figures that contradict each other are all refused.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_type_hints

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.models.machines import sections
from binalloc.models.machines.aliases import by_alias, by_target, near
from binalloc.models.machines.consistency import Consistency
from binalloc.models.machines.files import (
    DEFAULT_MACHINE,
    built_in_machines,
    installed_file,
    installed_machines,
    list_machines,
    machine_file,
)
from binalloc.models.machines.model import Machine
from binalloc.models.machines.power import impossible_power, power_apart
from binalloc.models.machines.sections import Figure, PortGroup, Unit, Units
from binalloc.plugins.entries import PluginEntry
from binalloc.plugins.fault import PluginFault
from binalloc.printable import one_line, quoted
from binalloc.toml_file import read_toml
from binalloc.toml_values import TomlPlace

SCHEMA_VERSION = 1  # the value of `schema` in machine files; a change that old files do not fit needs another one
# a name is also the stem of a file, and scheduled binaries record it
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
_SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("chip", "chip", sections.Chip),
    ("clock", "clock", sections.Clock),
    ("schedulers", "schedulers", sections.Schedulers),
    ("sm", "sm", sections.SmLimits),
    ("occupancy", "occupancy_rule", sections.OccupancyRule),
    ("dispatch", "dispatch", sections.Dispatch),
    ("shared", "shared", sections.SharedMemory),
    ("coalescing", "coalescing", sections.Coalescing),
    ("l1", "l1", sections.L1Cache),
    ("interconnect", "interconnect", sections.Interconnect),
    ("l2", "l2", sections.L2Cache),
    ("dram", "dram", sections.Dram),
    ("constant", "constant", sections.ConstantCache),
    ("search", "search", sections.Search),
)
"""(key in the file, attribute of `Machine`, its class) of each section that a file must have."""
_OPTIONAL: tuple[tuple[str, type], ...] = (
    ("register_file", sections.RegisterFile),
    ("constant_cache", sections.ConstantLines),
    ("instruction_cache", sections.InstructionCache),
    ("pages", sections.Pages),
    ("far_dram", sections.Dram),
)
"""Sections that a file may leave out, since their figures may not have been measured by anyone.

Key and attribute have the same name, but for `pages` (`Machine.stated_pages`). Without the section it is None.
"""
_TYPE_NAMES = {
    int: "an integer", float: "a number", bool: "true or false", str: "text", dict: "a table", list: "a list",
}  # fmt: skip
"""Types of values in words, for messages."""
_T = TypeVar("_T")


def load_machine(name_or_path: str | Path) -> Machine:
    """Return a machine by name, by alias or by path.

    A name belongs to a machine of the package, or of an installed one. An alias is a product name or a
    capability (`RTX 4090`, `sm_86`, `8.6`). A path is that of a machine file.

    Raises UsageError where there is no such machine, MalformedInput for a file that is no machine file, PluginFault for
    an installed package's. The package's log says which machine an alias of a capability means.
    """
    text = str(name_or_path)
    installed = installed_machines()  # always called: it reports a package that uses one of our names
    if text in built_in_machines():
        return _built_in(machine_file(text))
    if text in installed:
        return _installed(installed[text])
    path = Path(text)
    with contextlib.suppress(OSError):  # a name that no file can have
        if text == "-" or ("\0" not in text and path.exists() and not path.is_dir()):
            return read_machine(path)
    named = by_alias(text, list_machines())
    if named is not None:
        if named.why:
            _tell_once(f"machine {one_line(text)}: {named.machine}, {named.why}")
        return load_machine(named.machine)
    close = near(text, list_machines())
    raise UsageError(
        "unknown machine",
        place="machine",
        found=quoted(text),
        expected="one of " + ", ".join(list_machines()) + ", or the path of a machine file",
        remedy=Hint((f"Perhaps {' or '.join(close)}? " if close else "") + "{list_machines} lists the known ones."),
    )


def machine_of_target(target: str) -> Machine:
    """Return the machine for code that was compiled for `target`, as `sm_80`; the default machine where that means
    none."""
    named = by_target(target)
    return load_machine(DEFAULT_MACHINE if named is None else named.machine)


@functools.cache
def _built_in(path: Path) -> Machine:
    """Return the machine in a file of the package, which is read once in this process."""
    return read_machine(path)


@functools.cache
def _tell_once(text: str) -> None:
    """Log a line, once in this process."""
    logging.getLogger("binalloc").info(text)


def _installed(entry: PluginEntry) -> Machine:
    """Return the machine of an installed package."""
    path = installed_file(entry)
    try:
        machine = read_machine(path)
    except (MalformedInput, UsageError) as error:
        raise PluginFault("has no machine file that can be read", entry.place, str(path), str(error)) from error
    if machine.name != entry.name:
        what = f"a machine called {machine.name!r}, where the entry point says {entry.name!r}"
        raise PluginFault("has another machine than it says", entry.place, str(path), what)
    return machine


def read_machine(path: Path) -> Machine:
    """Return the machine in the file at `path`; raises MalformedInput or, if it cannot be read, UsageError."""
    return _Reader(str(path)).machine(read_toml(path, "machine file"))


class _At(TomlPlace):
    """A place in a machine file raises the errors about its key."""

    def unknown_key(self, unknown: list[str], allowed: Collection[str]) -> NoReturn:
        name = min(unknown)
        self.sub(name).fail("unknown key", quoted(name), "one of " + ", ".join(sorted(allowed)))

    def missing_key(self, name: str, table: dict[str, Any]) -> NoReturn:
        self.sub(name).fail("missing key", "nothing", f"{name} in {self.key or 'the file'}")

    def wrong_type(self, value: object, kind: type, bounds: str = "") -> NoReturn:
        plain = f"{quoted(value)} ({type(value).__name__})"
        found = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else plain
        self.fail("wrong type", found, _TYPE_NAMES[kind])

    def out_of_range(self, value: float, bounds: str) -> NoReturn:
        self.fail("out of range", value, bounds)

    def unknown_choice(self, value: object, choices: Collection[str]) -> NoReturn:
        self.fail("unknown choice", quoted(value), "one of " + ", ".join(choices))

    def fail(self, message: str, found: object = None, expected: object = None, remedy: str | None = None) -> NoReturn:
        super().fail(message, found, expected, remedy or "Mend the machine file.")

    def whole(self, table: object, keys: Collection[str], optional: Collection[str] = ()) -> dict[str, Any]:
        """Return the table, which has all of `keys` and no others but `optional` ones."""
        content = self.table(table)
        self.only_keys(content, {*keys, *optional})
        for name in sorted(keys):
            self.required(content, name)
        return content


class _Reader:
    """A reader checks one document, and collects the figures by dotted key on the way."""

    def __init__(self, file: str) -> None:
        self.root = _At(file)
        self.figures: dict[str, Figure] = {}

    def machine(self, document: dict[str, Any]) -> Machine:
        root = self.root
        others = ("schema", "name", "description", "units", "port_groups", "partitions")
        root.whole(document, (*others, *(key for key, _, _ in _SECTIONS)), [key for key, _ in _OPTIONAL])
        version = root.sub("schema").typed(document["schema"], int)
        if version != SCHEMA_VERSION:
            root.sub("schema").fail("unknown version of the machine file", version, SCHEMA_VERSION)
        name = root.sub("name").typed(document["name"], str)
        if not _NAME.match(name):
            root.sub("name").fail("not a machine's name", quoted(name), "small letters, digits, '.', '_' and '-'")
        description = root.sub("description").typed(document["description"], str)
        powers: dict[str, object] = {}
        for memory in ("dram", "far_dram"):
            document, powers[memory] = power_apart(document, memory)
        parts: dict[str, Any] = {
            attribute: self.section(root.sub(key), document[key], cls) for key, attribute, cls in _SECTIONS
        }
        for memory, power in powers.items():
            at = root.sub(memory).sub("power")
            parts[f"{memory}_power"] = None if power is None else self.section(at, power, sections.DramPower)
        for key, cls in _OPTIONAL:
            attribute = "stated_pages" if key == "pages" else key
            parts[attribute] = self.section(root.sub(key), document[key], cls) if key in document else None
        groups = self.port_groups(document)
        units = root.sub("units").whole(document["units"], UNIT_CLASSES)
        built = {name: self.section(root.sub("units").sub(name), units[name], Unit) for name in UNIT_CLASSES}
        machine = Machine(
            name=name, description=description, units=Units(**built), port_groups=groups,
            figures=tuple(self.figures.items()), **parts,
        )
        Consistency(root).consistent(machine)
        for memory, each in (("dram", machine), ("far_dram", machine.far)):
            if each is not None:
                impossible_power(each, root.sub(memory).sub("power").sub, f"{memory}.power")
        return machine

    def section(self, at: _At, table: object, cls: type[_T]) -> _T:
        """Return the table at `at` as `cls`; the fields of `cls` are its schema."""
        members: tuple[Field[Any], ...] = fields(cls)  # type: ignore[arg-type]
        stated = [member.name for member in members if member.default is MISSING]
        content = at.whole(table, stated, [member.name for member in members])
        types = get_type_hints(cls)
        values = {
            member.name: self.value(at.sub(member.name), content[member.name], types[member.name], member.metadata)
            for member in members
            if member.name in content
        }
        return cls(**values)

    def value(self, at: _At, entry: object, kind: type, meta: Mapping[str, Any]) -> object:
        if "unit" in meta:
            return self.figure(at, entry, kind, meta["unit"], meta["low"], meta["high"])
        name = at.typed(entry, str)
        return at.one_of(name, meta["choices"]) if meta["choices"] else name

    def figure(self, at: _At, entry: object, kind: type, unit: str, low: float, high: float) -> Any:
        table = at.whole(entry, ("value", "unit", "source"), ("alternatives",))
        value = self.number(at.sub("value"), table["value"], kind, low, high)
        found = at.sub("unit").typed(table["unit"], str)
        if found != unit:
            at.sub("unit").fail("wrong unit", quoted(found), repr(unit))
        source = self.source(at.sub("source"), table["source"])
        others = []
        for index, other in enumerate(at.sub("alternatives").typed(table.get("alternatives", []), list)):
            place = at.sub(f"alternatives[{index}]")
            content = place.whole(other, ("value", "source"))
            others.append((
                self.number(place.sub("value"), content["value"], kind, low, high),
                self.source(place.sub("source"), content["source"]),
            ))
        self.figures[at.key] = Figure(value, unit, source, tuple(others))
        return value

    def source(self, at: _At, entry: object) -> str:
        text = at.typed(entry, str)
        if not text.strip():
            at.fail("a figure without a source", quoted(text), "where the figure comes from")
        return text

    def number(self, at: _At, entry: object, kind: type, low: float, high: float) -> Any:
        value = entry
        if kind is float and type(entry) is int:
            value = float(entry) if abs(entry) <= high else math.inf  # the integers beyond have no float
        value = at.typed(value, kind)
        if kind in (int, float) and not low <= value <= high:
            at.out_of_range(value, f"{low} to {high}" if low != high else str(low))
        return value

    def port_groups(self, document: dict[str, Any]) -> tuple[PortGroup, ...]:
        at, owned = self.root.sub("port_groups"), self.root.sub("partitions")
        table = at.table(document["port_groups"])
        if len(table) > sections.MOST_PORT_GROUPS:
            at.fail("too many port groups", len(table), f"at most {sections.MOST_PORT_GROUPS}")
        divided = owned.whole(document["partitions"], table)
        return tuple(
            PortGroup(
                name, self.figure(at.sub(name), table[name], int, "warp instructions", 1, 64),
                self.figure(owned.sub(name), divided[name], bool, "flag", 0, 1),
            )
            for name in sorted(table)
        )  # fmt: skip
