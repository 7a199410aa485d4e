"""Machine files: the figures the papers state, what follows from them, and one clear refusal for every bad file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.table.opcodes import BY_NAME
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.limits import LIMITS
from binalloc.models.machines.reader import load_machine
from binalloc.report.machines import machine_json
from tests.support.paths import MACHINES as SHIPPED

GTX680 = (SHIPPED / "gtx680.toml").read_text()


def _without(start: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        kept = [line for line in text.splitlines(keepends=True) if not line.startswith(start)]
        assert len(kept) == len(text.splitlines()) - 1, start
        return "".join(kept)

    return edit


def _swap(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


def _all(*edits: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: reduce(lambda done, edit: edit(done), edits, text)


DIVIDED = _swap("bru = { value = false", "bru = { value = true")


def _write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_shipped_machines_by_name() -> None:
    assert {"c2075", "gpgpusim-sharing", "gtx680"} <= set(list_machines())
    assert list_machines() == sorted(list_machines())
    for name in list_machines():
        assert load_machine(name).name == name


def test_a_shipped_machine_is_read_once_and_another_file_whenever_it_is_asked_for(tmp_path: Path) -> None:
    assert load_machine("gtx680") is load_machine("gtx680")
    path = tmp_path / "mine.toml"
    text = (SHIPPED / "gtx680.toml").read_text()
    path.write_text(text)
    assert load_machine(path) == load_machine("gtx680")
    path.write_text(text.replace('"gtx680"', '"another"'))
    assert load_machine(path).name == "another"


def test_machines_name_exactly_the_unit_classes_of_the_instruction_set() -> None:
    assert {opcode.unit for opcode in BY_NAME.values()} == set(UNIT_CLASSES)


def test_gtx680_is_what_the_unified_paper_measured_on() -> None:
    m = load_machine("gtx680")
    assert (m.chip.sms, m.chip.cores_per_sm, m.schedulers.count, m.schedulers.issue_width) == (8, 192, 4, 2)
    assert (m.sm.registers_per_sm, m.sm.shared_per_sm, m.sm.threads_per_sm) == (65536, 48 * 1024, 2048)
    assert (m.sm.registers_per_thread, m.units.alu.latency, m.search.max_cmratio) == (63, 9, 200)
    assert 300 <= m.dram.latency <= 400
    assert (m.l1.caches_local, m.l1.caches_global) == (True, False)
    ports = {group.name: group.ports for group in m.port_groups}
    assert ports["cores"] * 32 == m.chip.cores_per_sm
    assert {m.units[name].port_group for name in ("alu", "fma", "imad")} == {"cores"}
    assert m.bytes_per_cycle_per_sm == pytest.approx(192.256e9 / 1006e6 / 8)
    assert m.issue_slots_per_cycle == 8


def test_c2075_is_what_the_unified_paper_measured_on() -> None:
    m = load_machine("c2075")
    assert (m.chip.sms, m.chip.cores_per_sm, m.schedulers.count, m.schedulers.issue_width) == (14, 32, 2, 1)
    assert (m.sm.registers_per_sm, m.sm.shared_per_sm, m.sm.threads_per_sm) == (32768, 48 * 1024, 1536)
    assert (m.sm.registers_per_thread, m.units.alu.latency, m.l1.caches_global) == (63, 9, True)
    # 1.03 Tflop/s is the board's peak: ports * 32 lanes * 2 operations * SMs * clock
    assert m.units.fma.ports * 32 * 2 * m.chip.sms * m.clock.core_mhz == pytest.approx(1.03e6, rel=0.01)


def test_gpgpusim_sharing_is_table_ii_of_the_sharing_paper() -> None:
    m = load_machine("gpgpusim-sharing")
    assert (m.chip.sms, m.clock.core_mhz, m.sm.shared_per_sm, m.sm.registers_per_sm) == (14, 732, 16384, 65536)
    assert (m.sm.blocks_per_sm, m.sm.threads_per_sm, m.schedulers.count) == (16, 3072, 4)
    assert m.l1.bytes == 16384
    assert m.occupancy_rule.rule == "gpgpusim"


SPLIT = {"gtx480-16k": {"shared_per_sm": 16384, "shared_per_block": 16384, "shared_per_block_default": 16384}}
"""What an SM has where a program prefers L1."""


@pytest.mark.parametrize("name", [n for n in list_machines() if load_machine(n).occupancy_rule.rule == "nvidia"])
def test_nvidia_machines_state_the_limits_of_their_capability(name: str) -> None:
    assert load_machine(name).limits == replace(LIMITS[load_machine(name).cc], **SPLIT.get(name, {}))


def test_a_machine_answers_occupancy_like_its_capability() -> None:
    assert load_machine("gtx680").occupancy(KernelUse(40, 4096, 256)).blocks_per_sm == 6
    assert load_machine("gtx680").occupancy(KernelUse(40, 4096, 256, cache_config="l1")).blocks_per_sm == 4
    assert load_machine("c2075").occupancy(KernelUse(22, 0, 256)).registers_per_block == 8 * 768


VARIED = "gpgpusim-sharing-"
"""Begins the names of the sharing paper's other machines, which have the DRAM and the units of its first one."""


def figure_of(known: dict[str, int], name: str) -> int:
    return known["gpgpusim-sharing" if name.startswith(VARIED) else name]


PUBLISHED = {
    "a100": 1935, "b200": 7672, "c2075": 144, "gem5gpu-batching": 118, "gem5gpu-batching-8k": 118,
    "gpgpusim-sharing": 177, "gtx285": 159,
    "gtx285-gpgpusim": 141, "gtx480": 177, "gtx480-16k": 177, "gtx680": 192, "gtx780ti": 336, "h100": 3352,
    "h200": 4800, "l40s": 864, "rtx2060": 336, "rtx3070": 448, "rtx4090": 1008, "rtx5090": 1792, "t4": 320, "v100": 870,
}  # fmt: skip
"""Peak bandwidth in GB/s: of data sheets, and of the simulator configurations that a file follows. The batching paper's
is not known: four channels like GTX480's six."""


@pytest.mark.parametrize("name", list_machines())
def test_the_peak_bandwidth_is_the_published_one(name: str) -> None:
    m = load_machine(name)
    assert abs(m.dram.bandwidth - figure_of(PUBLISHED, name)) <= 1
    assert m.bytes_per_cycle_per_sm * m.chip.sms * m.clock.core_mhz == pytest.approx(m.dram.bandwidth * 1000)


CORES = {
    "a100": 64, "b200": 128, "c2075": 32, "gem5gpu-batching": 32, "gem5gpu-batching-8k": 32,
    "gpgpusim-sharing": 64, "gtx285": 8,
    "gtx285-gpgpusim": 8, "gtx480": 32, "gtx480-16k": 32, "gtx680": 192, "gtx780ti": 192, "h100": 128, "h200": 128,
    "l40s": 128, "rtx2060": 64, "rtx3070": 128, "rtx4090": 128, "rtx5090": 128, "t4": 64, "v100": 64,
}  # fmt: skip
CORE_CLOCKS = {
    "c2075": 2, "gtx480": 2, "gtx480-16k": 2, "gem5gpu-batching": 2, "gem5gpu-batching-8k": 2,
    "gtx285": 2, "gtx285-gpgpusim": 2,
}  # fmt: skip
"""Clocks of the cores in a cycle, where they run faster than the schedulers."""


@pytest.mark.parametrize("name", list_machines())
def test_cores_take_as_many_additions_as_there_are(name: str) -> None:
    """Warp instructions of f32 a cycle are the cores' lanes: ports / interval * 32."""
    m = load_machine(name)
    assert m.chip.cores_per_sm == figure_of(CORES, name)
    ports = {group.name: group.ports for group in m.port_groups}
    fma = m.units.fma
    rate = min(fma.ports, ports[fma.port_group]) * 32 / fma.interval
    assert rate == m.chip.cores_per_sm * CORE_CLOCKS.get(name, 1)


@pytest.mark.parametrize("name", list_machines())
def test_every_figure_has_a_unit_and_a_source(name: str) -> None:
    entry = json.loads(json.dumps(machine_json(load_machine(name))))
    sections = entry["figures"]
    assert {f"units.{unit}" for unit in UNIT_CLASSES} < set(sections)
    count = 0
    for section in sections.values():
        for key, figure in section.items():
            if key == "port_group":
                continue
            count += 1
            assert figure["unit"]
            assert len(figure["source"]) > 10
            for other in figure.get("alternatives", []):
                assert other["source"]
                assert other["value"] != figure["value"]
    assert count >= 70
    assert entry["derived"]["bytes_per_cycle_per_sm"]["value"] > 0


def test_machines_are_immutable_hashable_and_travel_between_processes() -> None:
    m = load_machine("gtx680")
    assert m == load_machine("gtx680")
    assert hash(m) == hash(load_machine("gtx680"))
    assert pickle.loads(pickle.dumps(m)) == m
    with pytest.raises(AttributeError):
        m.chip.sms = 9  # type: ignore[misc]
    with pytest.raises(KeyError):
        m.units["items"]


def test_a_users_machine_file_works_by_path_and_its_figures_count(tmp_path: Path) -> None:
    text = GTX680.replace('name = "gtx680"', 'name = "mine"').replace("value = 65536", "value = 32768")
    m = load_machine(_write(tmp_path, text))
    assert (m.name, m.sm.registers_per_sm) == ("mine", 32768)
    assert m.occupancy(KernelUse(40, 4096, 256)).blocks_per_sm == 3
    assert m.digest != load_machine("gtx680").digest


def test_the_digest_follows_values_and_not_sources(tmp_path: Path) -> None:
    reworded = load_machine(_write(tmp_path, GTX680.replace("unified paper", "somebody's paper")))
    assert reworded.digest == load_machine("gtx680").digest
    no_conv = _all(_without("conv = { value = 1"), _without("conv = { value = false"))
    regrouped = load_machine(_write(tmp_path, _swap('port_group = "conv"', 'port_group = "sfu"')(no_conv(GTX680))))
    assert regrouped.digest != load_machine("gtx680").digest
    divided = load_machine(_write(tmp_path, DIVIDED(GTX680)))
    assert divided.digest != load_machine("gtx680").digest


@pytest.mark.parametrize(
    ("edit", "place", "found", "expected"),
    [
        (_swap("schema = 1", "schema = 2"), "schema", "2", "1"),
        (_swap("schema = 1", 'schema = "1"'), "schema", "'1'", "an integer"),
        (_without("description = "), "description", "nothing", "description"),
        (_swap('name = "gtx680"', 'name = "a b"'), "name", "'a b'", "letters"),
        (_swap("[chip]", "[chipp]"), "chipp", "'chipp'", "chip"),
        (_swap("sms = {", "smss = {"), "chip.smss", "'smss'", "sms"),
        (_without("core_mhz"), "clock.core_mhz", "nothing", "core_mhz"),
        (_swap("core_mhz = {", "core_mhz = 3 #"), "clock.core_mhz", "3", "a table"),
        (_swap("value = 8,", 'value = "8",'), "chip.sms.value", "'8'", "an integer"),
        (_swap("value = 8,", "value = 8.0,"), "chip.sms.value", "8.0", "an integer"),
        (_swap("value = 8,", "value = true,"), "chip.sms.value", "True", "an integer"),
        (_swap("value = 8,", "value = 0,"), "chip.sms.value", "0", "1 to"),
        (_swap("value = 8,", "value = -8,"), "chip.sms.value", "-8", "1 to"),
        (_swap("value = 8,", "value = 99999999999999999999,"), "chip.sms.value", "99999999999999999999", "1 to"),
        (_swap("value = 1006", "value = nan"), "clock.core_mhz.value", "nan", "1 to"),
        (_swap("value = 1006", "value = inf"), "clock.core_mhz.value", "inf", "1 to"),
        (_swap('unit = "SMs"', 'unit = "MHz"'), "chip.sms.unit", "'MHz'", "'SMs'"),
        (_swap('value = 8, unit = "SMs"', "value = 8"), "chip.sms.unit", "nothing", "unit"),
        (_swap('"SMs", source = "unified paper, section 5"', '"SMs"'), "chip.sms.source", "nothing", "source"),
        (_swap('"SMs", source = "unified paper, section 5"', '"SMs", source = " "'),
         "chip.sms.source", "' '", "comes from"),
        (_swap('"SMs", source', '"SMs", note = "x", source'), "chip.sms.note", "'note'", "source"),
        (_swap("alternatives = [{ value = 255,", "alternatives = [{ value = 2.5,"),
         "sm.registers_per_thread.alternatives[0].value", "2.5", "an integer"),
        (_swap("alternatives = [{ value = 255,", "alternatives = [{ unit = 1, value = 255,"),
         "sm.registers_per_thread.alternatives[0].unit", "'unit'", "value"),
        (_swap('value = "3.0"', 'value = "3.1"'), "chip.cc", "'3.1'", "3.0"),
        (_swap('rule = "nvidia"', 'rule = "amd"'), "occupancy.rule", "'amd'", "nvidia"),
        (_swap("[units.tex]", "[units.texture]"), "units.texture", "'texture'", "tex"),
        (_swap('port_group = "cores"', 'port_group = "core"'), "units.alu.port_group", "'core'", "cores"),
        (_swap('port_group = "conv"', 'port_group = "sfu"'), "port_groups.conv", "'conv'", "sfu"),
        (_swap("ports = { value = 5", "ports = { value = 7"), "units.alu.ports", "7", "6"),
        (_swap("[partitions]", "[partition]"), "partition", "'partition'", "partitions"),
        (_without("bru = { value = false"), "partitions.bru", "nothing", "bru in partitions"),
        (_swap("bru = { value = false", "brx = { value = false"), "partitions.brx", "'brx'", "bru"),
        (_swap("bru = { value = false", "bru = { value = 1"), "partitions.bru.value", "1", "true or false"),
        (_swap("cores = { value = false", "cores = { value = true"), "port_groups.cores", "6", "a multiple of 4"),
        (_all(DIVIDED, _swap("[units.bru]\nports = { value = 4", "[units.bru]\nports = { value = 3")),
         "units.bru.ports", "3", "a multiple of 4"),
        (_all(DIVIDED, _swap("count = { value = 4", "count = { value = 2")), "schedulers.count", "2", "4"),
        (_swap("value = 64, unit = \"warps\"", "value = 32, unit = \"warps\""), "sm.threads_per_sm", "2048", "1024"),
        (_swap("ways = { value = 32", "ways = { value = 16"), "l1.bytes", "16384", "8192"),
        (_swap("shared_per_block = { value = 49152", "shared_per_block = { value = 65536"),
         "sm.shared_per_block", "65536", "49152"),
        (_swap("shared_per_block = { value = 49152", "shared_per_block = { value = 49000"),
         "sm.shared_per_block", "49000", "256"),
        (_swap("banks = { value = 32", "banks = { value = 31"), "shared.banks", "31", "power of two"),
        (_swap("bank_bytes = { value = 8", "bank_bytes = { value = 6"), "shared.bank_bytes", "6", "power of two"),
        (_swap("bank_bytes = { value = 8", "bank_bytes = { value = 16"), "shared.bank_bytes.value", "16", "4 to 8"),
        (_swap("mode_bytes = { value = 4", "mode_bytes = { value = 2"), "shared.mode_bytes.value", "2", "4 to 8"),
        (lambda text: text.replace("bank_bytes = { value = 8", "bank_bytes = { value = 4").replace(
            "mode_bytes = { value = 4", "mode_bytes = { value = 8"), "shared.mode_bytes", "8", "at most 4"),
        (_swap("warp_size = { value = 32", "warp_size = { value = 64"), "chip.warp_size.value", "64", "32"),
        (_swap("caches_global = { value = false", "caches_global = { value = 0"),
         "l1.caches_global.value", "0", "true or false"),
    ],
)  # fmt: skip
def test_bad_machine_files_are_refused_with_key_found_and_expected(
    tmp_path: Path, edit: Callable[[str], str], place: str, found: str, expected: str
) -> None:
    path = _write(tmp_path, edit(GTX680))
    with pytest.raises(MalformedInput) as caught:
        load_machine(path)
    error = caught.value
    assert (error.file, error.place) == (str(path), place)
    assert found in str(error.found)
    assert expected in str(error.expected)
    assert error.exit_code == 3


def test_a_split_the_capability_lacks_is_refused(tmp_path: Path) -> None:
    text = GTX680.replace('value = "3.0"', 'value = "8.0"')
    with pytest.raises(MalformedInput) as caught:
        load_machine(_write(tmp_path, text))
    assert caught.value.place == "sm.shared_per_sm"
    whole = text.replace("value = 49152", "value = 65536")
    machine = load_machine(_write(tmp_path, whole))
    assert machine.occupancy(KernelUse(32, 1024, 64, carveout=100)).limit_shared == 65536 // 2048


@pytest.mark.parametrize("text", [b"\xff\xfe", b"name = ", b"a = [" * 100_000, b"", b"x" * (1 << 21)])
def test_files_that_are_no_machine_files_are_malformed(tmp_path: Path, text: bytes) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(MalformedInput) as caught:
        load_machine(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize("name", ["gtx999", "", ".", "no/such/file.toml", "a\0b"])
def test_an_unknown_machine_names_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match="gtx680"):
        load_machine(name)


def test_the_multiplex_papers_simulator_is_gtx285_with_another_memory_clock() -> None:
    """Section 6. What a configuration at 800 MHz states in command cycles takes as many nanoseconds here."""
    card, simulated = (load_machine(name) for name in ("gtx285", "gtx285-gpgpusim"))
    own, other = (dict(m.figures) for m in (card, simulated))
    different = {key: other[key].value for key in own if other[key].value != own[key].value}
    at_800 = {"rcd": 12, "rp": 10, "ras": 25, "cl": 10, "wl": 7, "rrd": 8, "wr": 11, "cdlr": 6}
    timing = {f"dram.{key}": -(-cycles * 1100 // 800) for key, cycles in at_800.items()}
    assert different == {"dram.command_mhz": 1100, **timing, "dram.rc": timing["dram.ras"] + timing["dram.rp"]}
    assert own.keys() == other.keys()


_ROOM = {"sm.shared_per_sm", "sm.shared_per_block"}
_LESS = {"sm.threads_per_sm": 2048, "sm.warps_per_sm": 64}


@pytest.mark.parametrize(
    ("name", "different"),
    [
        ("48k-l1", {"l1.bytes": 49152, "l1.sets": 64, "l1.ways": 6}),
        ("32k", dict.fromkeys(_ROOM, 32768)),
        ("48k", dict.fromkeys(_ROOM, 49152) | _LESS),
        ("48k-3072", dict.fromkeys(_ROOM, 49152)),
        ("64k", dict.fromkeys(_ROOM, 65536) | _LESS | {"sm.blocks_per_sm": 32}),
        ("7x2", {"chip.sms_per_port": 2}),
        ("3x5", {"chip.sms": 15, "chip.sms_per_port": 5}),
        ("8x2", {"chip.sms": 16, "chip.sms_per_port": 2}),
        ("4x4", {"chip.sms": 16, "chip.sms_per_port": 4}),
        ("10x3", {"chip.sms": 30, "chip.sms_per_port": 3}),
    ],
)
def test_the_sharing_papers_other_machines_differ_in_what_it_varies(name: str, different: dict[str, int]) -> None:
    plain, varied = (
        {key: figure.value for key, figure in load_machine(one).figures}
        for one in ("gpgpusim-sharing", f"{VARIED}{name}")
    )
    assert {key: value for key, value in varied.items() if plain.get(key) != value} == different
    assert plain.keys() <= varied.keys()


@pytest.mark.parametrize(
    ("per_port", "told"), [(0, "out of range"), (65, "out of range"), (4, "a divisor of"), (2, "")]
)
def test_ports_have_the_same_number_of_sms(per_port: int, told: str, tmp_path: Path) -> None:
    figure = f'[chip]\nsms_per_port = {{ value = {per_port}, unit = "SMs", source = "test" }}'
    path = _write(tmp_path, (SHIPPED / "gpgpusim-sharing.toml").read_text().replace("[chip]", figure))
    if not told:
        assert load_machine(path).chip.sms_per_port == per_port
        assert load_machine(path).request_bytes_per_sm == load_machine("gpgpusim-sharing").request_bytes_per_sm / 2
        return
    with pytest.raises(MalformedInput) as caught:
        load_machine(path)
    assert str(caught.value.place).startswith("chip.sms_per_port")
    assert told in f"{caught.value.message} {caught.value.expected}"
