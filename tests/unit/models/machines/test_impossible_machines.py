"""Models of machines that cannot be: each is refused before anything runs, by the key that is wrong."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from binalloc.emulator.host.memory.memory_figures import memory_figures
from binalloc.emulator.state import layout, memory_layout
from binalloc.errors import MalformedInput
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import (
    MOST_PORT_GROUPS,
    Chip,
    Clock,
    ConstantLines,
    Dram,
    InstructionCache,
    Interconnect,
    L1Cache,
    L2Cache,
    RegisterFile,
    SharedMemory,
    SmLimits,
)
from binalloc.models.machines.unloaded import closed_bank_cycles, link_cycles
from tests.support.paths import MACHINES

GTX680 = load_machine("gtx680")


def edited(tmp_path: Path, machine: str, values: dict[str, object]) -> Path:
    """A machine file with other values at some keys ("dram.rc")."""
    text = (MACHINES / f"{machine}.toml").read_text()
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        head, found, rest = text.partition(f"\n[{section}]\n")
        assert found, section
        plain = str(value).lower() if isinstance(value, bool) else str(value)
        rest, count = re.subn(
            rf"(?m)^({name} = {{ value = )[^,]+,", lambda m, plain=plain: f"{m[1]}{plain},", rest, count=1
        )
        assert count == 1, key
        text = head + found + rest
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


ZERO = [
    "chip.sms", "schedulers.count", "schedulers.issue_width", "shared.banks", "shared.latency", "l1.latency",
    "l1.mshrs", "l1.store_places", "l1.sets", "l1.ways", "interconnect.request_bytes", "interconnect.response_bytes",
    "interconnect.latency", "interconnect.header_bytes", "l2.slices", "l2.sets", "l2.ways", "l2.port_bytes",
    "l2.latency", "l2.mshrs", "l2.atomic_cycles", "dram.channels", "dram.banks", "dram.groups", "dram.bus_bytes",
    "dram.burst", "dram.data_rate", "dram.command_mhz", "dram.command_buses", "dram.row_bytes", "dram.interleave",
    "dram.queue",
    "dram.latency", "dram.rcd", "dram.rp", "dram.ras", "dram.rc", "dram.cl", "dram.ccd", "dram.ccdl", "dram.rrd",
    "dram.wr", "dram.cdlr", "dram.rtp", "constant.latency", "units.alu.ports", "units.alu.interval",
    "units.alu.latency", "coalescing.lanes", "constant_cache.bytes", "constant_cache.line_bytes", "constant_cache.sets",
    "constant_cache.ways", "constant_cache.mshrs", "instruction_cache.bytes", "instruction_cache.line_bytes",
    "instruction_cache.sets", "instruction_cache.ways", "instruction_cache.mshrs",
]  # fmt: skip


@pytest.mark.parametrize("key", ZERO)
@pytest.mark.parametrize("value", [0, -1])
def test_none_of_something_is_out_of_range(tmp_path: Path, key: str, value: int) -> None:
    with pytest.raises(MalformedInput, match="out of range") as caught:
        load_machine(edited(tmp_path, "gtx680", {key: value}))
    assert caught.value.place == f"{key}.value"


def with_refresh(tmp_path: Path, **figures: int) -> Path:
    """GTX 680 with the optional keys of refreshes."""
    lines = [f'{key} = {{ value = {n}, unit = "command cycles", source = "test" }}' for key, n in figures.items()]
    path = tmp_path / "mine.toml"
    path.write_text((MACHINES / "gtx680.toml").read_text().replace("[dram]", "\n".join(["[dram]", *lines])))
    return path


@pytest.mark.parametrize(
    ("figures", "key"),
    [
        ({"refi": 5000}, "dram.rfc"),
        ({"rfc": 300}, "dram.refi"),
        ({"refi": 300, "rfc": 300}, "dram.refi"),
        ({"refi": 0, "rfc": 300}, "dram.refi.value"),
        ({"refi": 5000, "rfc": -1}, "dram.rfc.value"),
        ({"refi": 1 << 16, "rfc": 300}, "dram.refi.value"),
    ],
)
def test_refreshes_that_cannot_be_are_refused_by_key(tmp_path: Path, figures: dict[str, int], key: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        load_machine(with_refresh(tmp_path, **figures))
    assert caught.value.place == key


def test_refreshes_are_optional_and_change_what_a_machine_is(tmp_path: Path) -> None:
    refreshed = load_machine(with_refresh(tmp_path, refi=5000, rfc=300))
    assert (refreshed.dram.refi, refreshed.dram.rfc, GTX680.dram.refi, GTX680.dram.rfc) == (5000, 300, 0, 0)
    assert refreshed.digest != GTX680.digest


def test_more_command_buses_than_two_are_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="out of range") as caught:
        load_machine(edited(tmp_path, "v100", {"dram.command_buses": 3}))
    assert (caught.value.place, caught.value.expected) == ("dram.command_buses.value", "1 to 2")


@pytest.mark.parametrize("key", ["banks", "reads", "window"])
@pytest.mark.parametrize("value", [0, -1, 17])
def test_a_register_file_that_cannot_be_is_out_of_range(tmp_path: Path, key: str, value: int) -> None:
    with pytest.raises(MalformedInput, match="out of range") as caught:
        load_machine(edited(tmp_path, "v100", {f"register_file.{key}": value}))
    assert caught.value.place == f"register_file.{key}.value"


def test_a_register_file_is_whole_or_left_out(tmp_path: Path) -> None:
    head, rest = (MACHINES / "v100.toml").read_text().split("[register_file]\n")
    figures, rest = rest.split("\n\n", 1)
    path = tmp_path / "mine.toml"
    path.write_text(f"{head}{rest}")
    assert load_machine(path).register_file is None
    path.write_text(f"{head}[register_file]\n{figures.partition('window')[0]}\n{rest}")
    with pytest.raises(MalformedInput, match="missing key") as caught:
        load_machine(path)
    assert caught.value.place == "register_file.operand_cache"


WAY = link_cycles(GTX680)
CLOSED = closed_bank_cycles(GTX680)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"l2.bytes": 1024}, "l2.bytes"),  # less than a set of 16 lines
        ({"l2.sets": 31}, "l2.bytes"),
        ({"l2.slices": 12, "l2.bytes": 786432}, "l2.slices"),  # on eight channels
        ({"l2.latency": WAY, "l1.latency": 10}, "l2.latency"),
        ({"interconnect.latency": 100}, "l2.latency"),
        ({"interconnect.response_bytes": 1, "interconnect.latency": 80}, "l2.latency"),
        ({"l1.latency": 191}, "l1.latency"),
        ({"dram.latency": 190 + CLOSED}, "dram.latency"),
        ({"dram.latency": 180}, "dram.latency"),
        ({"dram.command_mhz": 100}, "dram.latency"),
        ({"dram.command_mhz": 8049}, "dram.command_mhz"),  # eight times 1006
        ({"dram.command_mhz": 4.5, "clock.core_mhz": 50_000}, "dram.command_mhz"),  # a ten thousandth
        ({"dram.rc": 52}, "dram.rc"),
        ({"dram.rp": 17}, "dram.rc"),
        ({"dram.ras": 38}, "dram.rc"),
        ({"dram.rcd": 38}, "dram.rcd"),
        ({"dram.ccd": 5}, "dram.ccd"),
        ({"dram.wl": 17}, "dram.wl"),
        ({"dram.burst": 16}, "dram.burst"),  # four command cycles, and commands every two
        ({"dram.ccd": 1}, "dram.burst"),
        ({"dram.burst": 1, "dram.bus_bytes": 2}, "dram.burst"),
        ({"dram.faw": 31}, "dram.faw"),
        ({"dram.groups": 17}, "dram.groups"),
        ({"dram.interleave": 4096}, "dram.interleave"),
        ({"dram.interleave": 384}, "dram.interleave"),
        ({"dram.row_bytes": 3072}, "dram.row_bytes"),
        ({"dram.bus_bytes": 6}, "dram.bus_bytes"),
        ({"shared.banks": 24}, "shared.banks"),
        ({"constant_cache.line_bytes": 96}, "constant_cache.line_bytes"),
        ({"constant_cache.sets": 127}, "constant_cache.bytes"),
        ({"constant_cache.bytes": 64}, "constant_cache.bytes"),  # less than a set
        ({"instruction_cache.line_bytes": 48}, "instruction_cache.line_bytes"),
        ({"instruction_cache.ways": 3}, "instruction_cache.bytes"),
        ({"coalescing.lanes": 24}, "coalescing.lanes"),
        ({"coalescing.segments": True}, "coalescing.segments"),
        ({"l2.caches_data": False}, "l1.caches_local"),
        ({"l2.caches_data": False, "l1.caches_local": False, "l1.caches_global": True}, "l1.caches_global"),
    ],
)
def test_figures_that_contradict_each_other_are_refused_by_key(
    tmp_path: Path, values: dict[str, object], key: str
) -> None:
    with pytest.raises(MalformedInput) as caught:
        load_machine(edited(tmp_path, "gtx680", values))
    error = caught.value
    assert error.place == key
    assert error.file == str(tmp_path / "mine.toml")
    assert error.found is not None
    assert error.expected


def test_any_figures_within_their_ranges_are_taken_or_refused(tmp_path: Path) -> None:
    """Some at the ends of theirs, together: whatever follows from them can be worked out."""
    rng = random.Random("ranges")
    sections = {"clock": Clock, "chip": Chip, "interconnect": Interconnect, "l2": L2Cache, "dram": Dram}
    ends = {
        f"{section}.{each.name}": (each.metadata["low"], each.metadata["high"])
        for section, kind in sections.items()
        for each in fields(kind)
        if each.type in ("int", "float") and each.name not in ("refi", "rfc", "sms_per_port")
    }
    refused = Counter[str]()
    for case in range(300):
        keys = rng.sample(sorted(ends), rng.choice((1, 2, 2, 3)))
        keys += ["clock.core_mhz", "dram.command_mhz"] if case % 3 == 0 else []
        values: dict[str, object] = {key: rng.choice(ends[key]) for key in keys}
        try:
            m = load_machine(edited(tmp_path, "gtx680", values))
        except MalformedInput as error:
            refused[str(error.place)] += 1
        else:
            assert min(memory_figures(m, 1)["dram_latency"]) >= 1
    assert len(refused) > 8


@pytest.mark.parametrize(
    "values",
    [
        {"l2.latency": WAY + 1, "l1.latency": 10},
        {"dram.latency": 190 + CLOSED + 1},
        {"dram.rc": 53},
        {"dram.rcd": 37},
        {"dram.faw": 32},
        {"constant_cache.sets": 1, "constant_cache.ways": 1, "constant_cache.bytes": 64},
        {"instruction_cache.line_bytes": 32, "instruction_cache.bytes": 1024, "instruction_cache.prefetch": 64},
        {"dram.wl": 16},
        {"l1.latency": 190},
    ],
)
def test_the_least_and_most_that_can_be_is_taken(tmp_path: Path, values: dict[str, object]) -> None:
    load_machine(edited(tmp_path, "gtx680", values))


LARGEST = [
    (Chip, "sms", memory_layout.MAX_SMS),
    (SmLimits, "warps_per_sm", layout.MAX_WARPS),
    (SmLimits, "blocks_per_sm", layout.MAX_BLOCKS),
    (SharedMemory, "banks", layout.MAX_BANKS),
    (RegisterFile, "banks", layout.MAX_REGISTER_BANKS),
    (L1Cache, "bytes", memory_layout.MAX_L1_LINES * memory_layout.LINE_BYTES),
    (L1Cache, "mshrs", memory_layout.MAX_MSHRS),
    (InstructionCache, "sets", memory_layout.MAX_TAGGED_LINES),
    (InstructionCache, "ways", memory_layout.MAX_TAGGED_LINES),
    (InstructionCache, "bytes", memory_layout.MAX_TAGGED_LINES * memory_layout.SECTOR_BYTES),
    (ConstantLines, "sets", memory_layout.MAX_TAGGED_LINES),
    (ConstantLines, "ways", memory_layout.MAX_TAGGED_LINES),
    (ConstantLines, "bytes", memory_layout.MAX_TAGGED_LINES * memory_layout.SECTOR_BYTES),
    (L2Cache, "bytes", memory_layout.MAX_L2_LINES * memory_layout.LINE_BYTES),
    (L2Cache, "slices", memory_layout.MAX_SLICES),
    (Dram, "channels", memory_layout.MAX_CHANNELS),
    (Dram, "banks", memory_layout.MAX_BANKS_OF_DRAM),
]


@pytest.mark.parametrize(("section", "key", "most"), LARGEST)
def test_machine_files_allow_what_the_emulators_records_hold(section: type, key: str, most: int) -> None:
    metadata = section.__dataclass_fields__[key].metadata  # type: ignore[attr-defined]
    assert metadata["high"] == most


def test_a_machine_with_more_port_groups_than_the_record_is_refused(tmp_path: Path) -> None:
    text = (MACHINES / "gtx680.toml").read_text()
    more = "\n".join(f'g{i} = {{ value = 1, unit = "warp instructions", source = "test" }}' for i in range(10))
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("[port_groups]\n", f"[port_groups]\n{more}\n"))
    with pytest.raises(MalformedInput) as caught:
        load_machine(path)
    assert caught.value.place == "port_groups"
    assert MOST_PORT_GROUPS == layout.MAX_GROUPS


@pytest.mark.parametrize("section", ["constant_cache", "instruction_cache"])
def test_the_small_caches_may_be_left_out_as_a_whole_but_not_in_part(tmp_path: Path, section: str) -> None:
    text = (MACHINES / "gtx680.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(rf"(?s)\[{section}\]\n.*?\n\n", "", text))
    assert getattr(load_machine(path), section) is None
    path.write_text(re.sub(rf"(?s)(\[{section}\]\n.*?)mshrs = [^\n]*\n", r"\1", text))
    with pytest.raises(MalformedInput, match="missing key") as caught:
        load_machine(path)
    assert caught.value.place == f"{section}.mshrs"
