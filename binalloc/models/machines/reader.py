"""Reads and checks machine files: TOML in which every figure is a table of value, unit and source.

Needs the sections of `binalloc.models.machines.model`, whose fields are the schema (type, unit and range are written
there and nowhere else). Leaves a `Machine`, or one MalformedInput that names file, key, what was found and what was
expected: unknown and missing keys, wrong types and units, and figures that contradict each other are all refused.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_type_hints

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.models.machines import model
from binalloc.models.machines.limits import LIMITS, SHARED_STEPS
from binalloc.models.machines.model import Figure, Machine, PortGroup, Unit, Units, machine_to_dict
from binalloc.printable import quoted
from binalloc.toml_file import read_toml

__all__ = [
    "DEFAULT_MACHINE",
    "SCHEMA_VERSION",
    "UNIT_CLASSES",
    "Figure",
    "Machine",
    "PortGroup",
    "Unit",
    "Units",
    "list_machines",
    "load_machine",
    "machine_to_dict",
    "read_machine",
]

SCHEMA_VERSION = 1
DEFAULT_MACHINE = "gtx680"
_DIRECTORY = Path(__file__).parent
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}\Z")
_SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("chip", "chip", model.Chip),
    ("clock", "clock", model.Clock),
    ("schedulers", "schedulers", model.Schedulers),
    ("sm", "sm", model.SmLimits),
    ("occupancy", "occupancy_rule", model.OccupancyRule),
    ("shared", "shared", model.SharedMemory),
    ("l1", "l1", model.L1Cache),
    ("memory", "memory", model.Memory),
    ("constant", "constant", model.ConstantCache),
    ("search", "search", model.Search),
)
_TYPE_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "text", dict: "a table"}
_T = TypeVar("_T")


def list_machines() -> list[str]:
    """Names of the machines that come with the package, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.toml"))


def load_machine(name_or_path: str | Path) -> Machine:
    """A machine by the name of one that comes with the package, or by the path of a machine file.

    Raises UsageError where neither exists, MalformedInput for a file that is no machine file.
    """
    text = str(name_or_path)
    if text in list_machines():
        return read_machine(_DIRECTORY / f"{text}.toml")
    path = Path(text)
    with contextlib.suppress(OSError):  # a name that no file can have
        if "\0" not in text and path.is_file():
            return read_machine(path)
    raise UsageError(
        "unknown machine",
        place="machine",
        found=quoted(text),
        expected="one of " + ", ".join(list_machines()) + ", or the path of a machine file",
        remedy=Hint("{list_machines} lists the known ones."),
    )


def read_machine(path: Path) -> Machine:
    """The machine in the file at `path`; MalformedInput where it is none, UsageError where it cannot be read."""
    return _Reader(str(path)).machine(read_toml(path, "machine file"))


class _Reader:
    """Checks one document; collects the figures by dotted key on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.figures: dict[str, Figure] = {}

    def machine(self, document: dict[str, Any]) -> Machine:
        keys = {"schema", "name", "description", "units", "port_groups", *(key for key, _, _ in _SECTIONS)}
        self.keys("", document, keys)
        version = self.typed("schema", document["schema"], int)
        if version != SCHEMA_VERSION:
            self.refuse("schema", "unknown version of the machine file", version, SCHEMA_VERSION)
        name = self.typed("name", document["name"], str)
        if not _NAME.match(name):
            self.refuse("name", "not a machine's name", quoted(name), "small letters, digits, '.', '_' and '-'")
        description = self.typed("description", document["description"], str)
        parts: dict[str, Any] = {
            attribute: self.section(key, document[key], cls) for key, attribute, cls in _SECTIONS
        }
        groups = self.port_groups(self.typed("port_groups", document["port_groups"], dict))
        units = self.typed("units", document["units"], dict)
        self.keys("units", units, set(UNIT_CLASSES))
        built = {name: self.section(f"units.{name}", units[name], Unit) for name in UNIT_CLASSES}
        machine = Machine(
            name=name, description=description, units=Units(**built), port_groups=groups,
            figures=tuple(self.figures.items()), **parts,
        )
        self.consistent(machine)
        return machine

    def section(self, key: str, table: object, cls: type[_T]) -> _T:
        """The table at `key` as `cls`, whose fields say what it must hold."""
        content = self.typed(key, table, dict)
        members: tuple[Field[Any], ...] = fields(cls)  # type: ignore[arg-type]
        self.keys(key, content, {member.name for member in members})
        types = get_type_hints(cls)
        values = {
            member.name: self.value(f"{key}.{member.name}", content[member.name], types[member.name], member.metadata)
            for member in members
        }
        return cls(**values)

    def value(self, key: str, entry: object, kind: type, meta: Mapping[str, Any]) -> object:
        if "unit" in meta:
            return self.figure(key, entry, kind, meta["unit"], meta["low"], meta["high"])
        name: str = self.typed(key, entry, str)
        choices = meta["choices"]
        if choices and name not in choices:
            self.refuse(key, "unknown choice", quoted(name), "one of " + ", ".join(choices))
        return name

    def figure(self, key: str, entry: object, kind: type, unit: str, low: float, high: float) -> object:
        table = self.typed(key, entry, dict)
        self.keys(key, table, {"value", "unit", "source"}, {"alternatives"})
        value = self.number(f"{key}.value", table["value"], kind, low, high)
        found = self.typed(f"{key}.unit", table["unit"], str)
        if found != unit:
            self.refuse(f"{key}.unit", "wrong unit", quoted(found), repr(unit))
        source = self.source(f"{key}.source", table["source"])
        others = []
        for index, other in enumerate(self.typed(f"{key}.alternatives", table.get("alternatives", []), list)):
            place = f"{key}.alternatives[{index}]"
            content = self.typed(place, other, dict)
            self.keys(place, content, {"value", "source"})
            others.append((
                self.number(f"{place}.value", content["value"], kind, low, high),
                self.source(f"{place}.source", content["source"]),
            ))
        self.figures[key] = Figure(value, unit, source, tuple(others))
        return value

    def source(self, key: str, entry: object) -> str:
        text: str = self.typed(key, entry, str)
        if not text.strip():
            self.refuse(key, "a figure without a source", quoted(text), "where the figure comes from")
        return text

    def number(self, key: str, entry: object, kind: type, low: float, high: float) -> Any:
        value = entry
        if kind is float and type(entry) is int:
            value = float(entry) if abs(entry) <= high else math.inf  # the integers beyond have no float
        value = self.typed(key, value, kind)
        if kind in (int, float) and not low <= value <= high:
            self.refuse(key, "out of range", value, f"{low} to {high}" if low != high else low)
        return value

    def port_groups(self, table: dict[str, Any]) -> tuple[PortGroup, ...]:
        return tuple(
            PortGroup(name, self.number_of_ports(f"port_groups.{name}", entry)) for name, entry in sorted(table.items())
        )

    def number_of_ports(self, key: str, entry: object) -> int:
        ports = self.figure(key, entry, int, "warp instructions", 1, 64)
        assert isinstance(ports, int)
        return ports

    def consistent(self, m: Machine) -> None:
        """Refuses figures that cannot hold together."""
        if m.cc not in LIMITS:
            self.refuse("chip.cc", "unknown compute capability", quoted(m.cc), "one of " + ", ".join(LIMITS))
        sm, l1 = m.sm, m.l1
        self.equal("sm.threads_per_sm", sm.threads_per_sm, "sm.warps_per_sm * 32", sm.warps_per_sm * m.chip.warp_size)
        self.equal("l1.bytes", l1.bytes, "l1.sets * l1.ways * l1.line_bytes", l1.sets * l1.ways * l1.line_bytes)
        self.at_most("sm.threads_per_block", sm.threads_per_block, "sm.threads_per_sm", sm.threads_per_sm)
        self.at_most("sm.registers_per_block", sm.registers_per_block, "sm.registers_per_sm", sm.registers_per_sm)
        self.at_most("sm.shared_per_block", sm.shared_per_block, "sm.shared_per_sm", sm.shared_per_sm)
        self.at_most("schedulers.count", m.schedulers.count, "sm.warps_per_sm", sm.warps_per_sm)
        self.at_most("memory.sector_bytes", m.memory.sector_bytes, "l1.line_bytes", l1.line_bytes)
        for key, size in (
            ("shared.banks", m.shared.banks), ("memory.sector_bytes", m.memory.sector_bytes),
        ):
            if size & (size - 1):
                self.refuse(key, "not a power of two", size, "a power of two")
        unit = LIMITS[m.cc].shared_unit
        if m.occupancy_rule.rule == "nvidia" and sm.shared_per_block % unit:
            self.refuse("sm.shared_per_block", "not a whole number of allocation units", sm.shared_per_block,
                        f"a multiple of {unit} bytes on capability {m.cc}")
        steps = SHARED_STEPS.get(m.cc)
        if m.occupancy_rule.rule == "nvidia" and steps and sm.shared_per_sm not in steps:
            self.refuse("sm.shared_per_sm", f"not a split capability {m.cc} has", sm.shared_per_sm,
                        "one of " + ", ".join(map(str, steps)))
        self.consistent_ports(m)

    def consistent_ports(self, m: Machine) -> None:
        ports = {group.name: group.ports for group in m.port_groups}
        for name, unit in m.units.items():
            if unit.port_group not in ports:
                self.refuse(f"units.{name}.port_group", "unknown port group", quoted(unit.port_group),
                            "one of " + ", ".join(sorted(ports)))
            self.at_most(f"units.{name}.ports", unit.ports, f"port_groups.{unit.port_group}", ports[unit.port_group])
        used = {unit.port_group for _, unit in m.units.items()}
        for name in sorted(set(ports) - used):
            self.refuse(f"port_groups.{name}", "a port group no unit names", quoted(name),
                        "one of " + ", ".join(sorted(used)))

    def equal(self, key: str, value: int, other: str, expected: int) -> None:
        if value != expected:
            self.refuse(key, f"contradicts {other}", value, expected)

    def at_most(self, key: str, value: int, other: str, bound: int) -> None:
        if value > bound:
            self.refuse(key, f"exceeds {other}", value, f"at most {bound}")

    def keys(self, key: str, table: dict[str, Any], required: set[str], optional: set[str] | None = None) -> None:
        prefix = f"{key}." if key else ""
        allowed = required | (optional or set())
        for name in sorted(set(table) - allowed):
            self.refuse(f"{prefix}{name}", "unknown key", quoted(name), "one of " + ", ".join(sorted(allowed)))
        for name in sorted(required - set(table)):
            self.refuse(f"{prefix}{name}", "missing key", "nothing", f"{name} in {key or 'the file'}")

    def typed(self, key: str, value: object, kind: type) -> Any:
        if type(value) is not kind:
            plain_value = not isinstance(value, (dict, list))
            found = f"{quoted(value)} ({type(value).__name__})" if plain_value else _describe(value)
            self.refuse(key, "wrong type", found, _TYPE_NAMES.get(kind, "a list"))
        return value

    def refuse(self, key: str, message: str, found: object, expected: object) -> NoReturn:
        raise MalformedInput(
            message, file=self.file, place=key, found=found, expected=expected, remedy="Mend the machine file."
        )


def _describe(value: object) -> str:
    return "a table" if isinstance(value, dict) else "a list"
