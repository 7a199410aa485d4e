"""Every key that a machine file may hold is read by something that computes with it.

The fields of the model are watched while machines are loaded, asked for occupancy, scheduled for, searched with and run
on. What the reader's own checks, comparisons and hashes read does not count, nor does listing all figures.
"""

from __future__ import annotations

import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import MalformedInput
from binalloc.isa.sets.files import load
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.launch.file import load_launch
from binalloc.models.machines import sections as machine_sections
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.limits import Limits
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Request, rewrite_kernel
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.suite import rotation
from tests.support.paths import MACHINES as SHIPPED
from tests.support.paths import sample_file

NOT_USE = {"__hash__", "__eq__", "__repr__", "__getstate__", "__init__", "replace", "_replace", "items", "digest"}
RESTATED = {
    "chip.warp_size", "l1.bytes", "l1.line_bytes", "l2.bytes", "l2.line_bytes", "constant_cache.bytes",
    "instruction_cache.bytes",
}  # fmt: skip
"""Keys that say again what others say, or what alone is possible: the reader refuses a contradiction."""
GROUPS = ("port_groups.", "partitions.")
Place = tuple[str, str]


class Watched:
    """A field of a frozen dataclass with slots that notes who reads it."""

    def __init__(self, slot: Any, name: str, seen: set[Place]) -> None:
        self.slot, self.name, self.seen = slot, name, seen

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        frame = sys._getframe(1)
        place = (frame.f_globals["__name__"], frame.f_code.co_name)
        if place[0] != "binalloc.models.machines.reader" and place[1] not in NOT_USE:
            self.seen.add((f"{type(instance).__name__} {id(instance)}", self.name))
            # limits only copies the figures of the SM: whether anyone reads them, its copy tells
            if place[1] == "limits" and type(instance).__name__ == "SmLimits":
                self.seen.discard((f"{type(instance).__name__} {id(instance)}", self.name))
        return self.slot.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        self.slot.__set__(instance, value)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> set[Place]:
    """(class and identity of the record, field) of every read that counts."""
    found: set[Place] = set()
    for cls in (*(cls for cls in vars(machine_sections).values() if isinstance(cls, type)), Limits):
        if cls.__module__ in (machine_sections.__name__, Limits.__module__) and hasattr(cls, "__slots__"):
            for member in fields(cls):
                if member.name in vars(cls):  # else its base has it, which is watched, too
                    monkeypatch.setattr(cls, member.name, Watched(vars(cls)[member.name], member.name, found))
    return found


def work(machine: Machine, search: bool) -> None:
    """Everything a machine is for. search: among that, the search for a number of blocks, which takes longest."""
    for registers, shared in ((40, 4096), (16, 49152)):
        machine.occupancy(KernelUse(registers, shared, 256))
    module = schedule(load(sample_file("callchain.loom")), machine)
    launch = replace(load_launch(sample_file("callchain.toml"), "test"), grid=(1, 1, 1))
    run(module, launch.kernel, launch, machine, engine="python")
    ways = ["interleaved", "coloured"] if machine.stated_pages else []
    for pages in [*ways, "bandwidth"] if machine.far_dram else ways:
        run(module, launch.kernel, launch, machine, engine="python", sms=machine.chip.sms, pages=pages)
    if search:
        rewrite_kernel(module, Request(launch.kernel, machine, launch, policy="unified", emulate=False))


def keys(path: Path) -> set[str]:
    """The keys of a machine file, as its text has them."""
    document = tomllib.loads(path.read_text())
    out = set()
    for section, content in document.items():
        for key, entry in content.items() if isinstance(content, dict) else ():
            if section == "units" or (section in ("dram", "far_dram") and key == "power"):
                out |= {f"{section}.{key}.{name}" for name in entry}
            else:
                out.add(f"{section}.{key}")
    return out


def records(machine: Machine) -> dict[str, str]:
    """Class and identity of the record that holds each section of the file."""
    sections: dict[str, Any] = {
        name: getattr(machine, "occupancy_rule" if name == "occupancy" else name)
        for name in (
            "chip",
            "clock",
            "schedulers",
            "sm",
            "occupancy",
            "dispatch",
            "shared",
            "coalescing",
            "l1",
            "interconnect",
            "l2",
            "dram",
            "constant",
            "search",
        )
    }
    optional = {name: getattr(machine, name) for name in ("register_file", "constant_cache", "instruction_cache")}
    optional["pages"] = machine.stated_pages
    optional |= {"dram.power": machine.dram_power, "far_dram": machine.far_dram}
    optional["far_dram.power"] = machine.far_dram_power
    sections |= {name: section for name, section in optional.items() if section is not None}
    sections |= {f"units.{name}": machine.units[name] for name in UNIT_CLASSES}
    sections |= {f"port_groups.{group.name}": group for group in machine.port_groups}
    return {f"{type(record).__name__} {id(record)}": name for name, record in sections.items()}


def test_every_key_of_every_file_is_read(seen: set[Place]) -> None:
    """By some machine: a rule of occupancy, say, reads what another one does not. Port groups by the machine itself."""
    read: set[str] = set()
    searched = rotation.sample(list_machines(), "machines")
    for name in list_machines():
        machine = load_machine(name)
        seen.clear()
        work(machine, name == "gtx680" or name in searched)
        section_of = records(machine)
        groups = set()
        for record, field in seen:
            section = section_of.get(record, "sm" if record.startswith("Limits ") else "")
            if section.startswith("port_groups."):
                groups.add(section if field == "ports" else section.replace("port_groups", "partitions"))
            elif section:
                read.add(f"{section}.{field}")
        assert {key for key in keys(SHIPPED / f"{name}.toml") if key.startswith(GROUPS)} == groups, name
    for name in list_machines():
        left = keys(SHIPPED / f"{name}.toml") - read - RESTATED
        assert {key for key in left if not key.startswith(GROUPS)} == set(), name


@pytest.mark.parametrize(
    ("section", "line", "key"),
    [
        ("shared", 'ports = { value = 1, unit = "ports", source = "guide" }', "shared.ports"),
        ("l1", 'ports = { value = 1, unit = "ports", source = "guide" }', "l1.ports"),
        ("l2", 'ports = { value = 1, unit = "ports", source = "guide" }', "l2.ports"),
        ("dram", 'refresh = { value = 1, unit = "command cycles", source = "guide" }', "dram.refresh"),
        ("clock", 'memory_mhz = { value = 1502, unit = "MHz", source = "guide" }', "clock.memory_mhz"),
        ("search", '[memory]\nlatency = { value = 350, unit = "cycles", source = "guide" }\n[search]', "memory"),
    ],
)
def test_a_key_that_nothing_reads_is_refused_by_name(section: str, line: str, key: str, tmp_path: Path) -> None:
    text = (SHIPPED / "gtx680.toml").read_text()
    assert text.count(f"[{section}]\n") == 1
    new = line if section == "search" else f"[{section}]\n{line}"
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(f"[{section}]", new))
    with pytest.raises(MalformedInput, match="unknown key") as caught:
        load_machine(path)
    assert caught.value.place == key


def test_a_line_of_the_l1_cache_holds_a_word_per_lane(tmp_path: Path) -> None:
    text = (SHIPPED / "gtx680.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("line_bytes = { value = 128", "line_bytes = { value = 64"))
    with pytest.raises(MalformedInput, match=r"l1.line_bytes.*128"):
        load_machine(path)
