"""The pages on launch and machine files name every key and choice the readers know, and their examples are valid."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

from binalloc.emulator.host.c_format import MOST
from binalloc.emulator.state.layout import MAX_WARPS_OF_SCHEDULER
from binalloc.emulator.state.memory_layout import MAX_REQUESTS
from binalloc.launch import arguments, schema
from binalloc.launch.contents import schema as contents
from binalloc.launch.elements import layout, tables
from binalloc.launch.program import schema as sequences
from binalloc.launch.program.expressions import FUNCTIONS, HIGH, LOW
from binalloc.launch.types import DTYPES
from binalloc.models.machines import sections as machine_sections
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Rule
from binalloc.models.machines.reader import load_machine
from tests.support.kits.cli import ROOT

LAUNCH = (ROOT / "binalloc/launch/LAUNCH.md").read_text()
PTX = (ROOT / "binalloc/frontend/PTX.md").read_text()
MACHINES = (ROOT / "binalloc/models/MACHINES.md").read_text()


def test_the_launch_page_names_every_key_and_choice() -> None:
    keys = {*schema._TOP, *schema._SIZE, *arguments._COMPARES, *DTYPES, *arguments._FIELD_KEYS}
    keys |= {*tables.TYPE_KEYS, *tables.MEMBER_KEYS}
    for group in (arguments._KEYS, contents.INIT_KEYS, contents.DISTRIBUTIONS, contents.FILE_KEYS):
        keys |= {*group}
        keys |= {key for entries in group.values() for key in entries}
    keys |= {*sequences._TOP, *sequences._EVERYWHERE, *sequences._VERBS, *FUNCTIONS}
    keys |= {key for entries in sequences._VERBS.values() for key in entries}
    words = set(re.findall(r"\w+", LAUNCH))
    assert keys - words == set()


def test_the_launch_page_has_the_bounds_of_integers_and_of_printf() -> None:
    assert (LOW, HIGH) == (-(2**63), 2**64 - 1)
    assert "-2^63 to 2^64-1" in LAUNCH
    assert f"widths and precisions beyond {MOST:,} are taken as that" in " ".join(LAUNCH.split())
    assert f"widths and precisions beyond {MOST:,} are taken as that" in " ".join(PTX.split())


def test_the_example_of_a_sequence_is_one() -> None:
    part = LAUNCH.split("\n## Sequences of launches\n")[1].split("\n\n| key")[0]
    example = "\n".join(line[4:] for line in part.splitlines() if line.startswith("    ") or not line)
    program = sequences.parse_program(tomllib.loads(example), path="relax.toml", size="test")
    assert (program.kernels, program.held.argument("x").shape) == (("relax",), (100,))
    figures = [f"{n:,}" for n in (sequences.MAX_STEPS, sequences.MAX_DEPTH, sequences.ROUNDS)]
    assert all(figure in LAUNCH for figure in figures)


def test_the_example_of_structs_is_part_of_a_launch_file() -> None:
    part = LAUNCH.split("\n### Structs\n")[1].split("\n\n| key")[0]
    example = "\n".join(line[4:] for line in part.splitlines() if line.startswith("    ") or not line)
    launch = schema.parse_launch({"kernel": "k", "grid": 1, "block": 1} | tomllib.loads(example))
    nodes, first = launch.make_buffers()["nodes"], launch.values["first"]
    assert nodes["corner"]["y"].tolist() == [[1.0, 2.5], [0, 0], [0, 0]]
    assert [launch.pointee(int(p)) for p in (nodes["next"][0], first["next"])] == [("nodes", 64), ("nodes", 32)]
    figures = [f"{n:,}" for n in (tables.MAX_NESTING, tables.MAX_MEMBERS, tables.MAX_ALIGN, layout.MAX_AXES)]
    assert all(figure in LAUNCH for figure in figures)


def test_the_launch_example_is_a_launch_file() -> None:
    lines = LAUNCH.split("\n\n## Top level")[0].splitlines()
    example = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line)
    launch = schema.parse_launch(tomllib.loads(example), path=str(Path("saxpy.toml")), size="test")
    assert (launch.grid, launch.argument("y").shape, launch.values["n"]) == ((2, 1, 1), (512,), 512)
    assert launch.argument("y").compare.rtol == 1e-5


def test_the_machine_page_names_every_figure_and_its_unit() -> None:
    words = set(re.findall(r"[\w/]+", MACHINES))
    for key, figure in load_machine("gtx680").figures:
        section, _, name = key.rpartition(".")
        section, _, unit_class = section.partition(".")
        named = [name] if section not in ("port_groups", "partitions") else []
        assert {section, unit_class or section, *named} <= words, key
        assert figure.unit in MACHINES, key
    assert all(f'"{rule}"' in MACHINES for rule in Rule)


def ranges() -> dict[str, tuple[float, float]]:
    """Least and most of every figure of a machine file, by key; of units without their class."""
    out: dict[str, tuple[float, float]] = {}
    sections = [("units", machine_sections.Unit)]
    for name, kind in get_type_hints(Machine).items():
        sections += [(name, one) for one in (kind, *get_args(kind)) if is_dataclass(one)]
    for name, section in sections:
        for figure in fields(section):
            about = figure.metadata
            if about.get("unit") not in (None, "flag", "compute capability", "order of address parts"):
                key = name.replace("dram_power", "dram.power").replace("stated_pages", "pages")
                out[f"{key}.{figure.name}"] = about["low"], about["high"]
    return out


def test_the_machine_page_has_every_range() -> None:
    found = {}
    for text, keys in re.findall(r"^\| (\d[\d,]*(?: to [\d,]+)?) \| (.*) \|$", MACHINES, re.MULTILINE):
        low, _, high = text.replace(",", "").partition(" to ")
        for key in re.findall(r"`([^`]+)`", keys):
            assert key not in found
            found[key] = int(low), int(high or low)
    wanted = ranges()
    far = {key.removeprefix("far_"): wanted.pop(key) for key in sorted(wanted) if key.startswith("far_dram")}
    assert "The ranges of `far_dram` and `far_dram.power` are those of\n`dram` and `dram.power`." in MACHINES
    assert far == {key: wanted[key] for key in far}
    assert found == wanted
    assert f"at most {ranges()['l2.bytes'][1] >> 20} MB" in MACHINES
    assert f"at most {machine_sections.MOST_PORT_GROUPS} groups" in MACHINES
    assert f"{MAX_WARPS_OF_SCHEDULER} resident warps" in MACHINES
    assert f"{MAX_REQUESTS:,} requests" in MACHINES
