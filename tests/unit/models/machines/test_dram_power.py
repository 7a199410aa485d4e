"""Currents of off-chip memory: the energy that follows from them, and those that are refused by key."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from binalloc.emulator.host.figures.energy import energy_figures
from binalloc.errors import MalformedInput
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.power import HIGHEST, LOWEST, STATED, power_costs, power_sets
from binalloc.models.machines.reader import load_machine, read_machine
from tests.support.paths import MACHINES

COUNTED = {
    "cycles": 1_000_000, "dram_activations": 100, "dram_reads": 1000, "dram_writes": 10,
    "dram_refreshes_to_end": 0, "dram_open_ticks": 70_000, "dram_closed_ticks": 30_000,
}  # fmt: skip


def edited(tmp_path: Path, machine: str, old: str, new: str) -> Path:
    """A machine file with the section of currents changed."""
    head, found, rest = (MACHINES / f"{machine}.toml").read_text().partition("[dram.power]\n")
    assert found
    changed, count = re.subn(old, new, rest, count=1, flags=re.MULTILINE)
    assert count == 1, old
    path = tmp_path / "mine.toml"
    path.write_text(head + found + changed)
    return path


def test_costs_by_hand() -> None:
    """V100: 877 MHz, tRAS 29 and tRC 41 ticks, one tick for a burst of 32 bytes."""
    m = load_machine("v100")
    assert m.dram_power is not None
    costs = power_costs(m, m.dram_power)
    tick = 1000 / m.dram.command_mhz
    ras, rc = m.dram.ras * tick, m.dram.rc * tick
    assert costs.activation == pytest.approx(1.2 * (65 * rc - 55 * ras - 40 * (rc - ras)) / 1000)
    assert costs.read == pytest.approx(1.2 * (390 - 55) * tick / 1000)
    assert costs.write == pytest.approx(1.2 * (500 - 55) * tick / 1000)
    assert costs.refresh == pytest.approx(1.2 * (250 - 55) * 260 / 1000)
    assert costs.open_tick == pytest.approx(1.2 * 55 * tick / 1000)
    assert costs.closed_tick == pytest.approx(1.2 * 40 * tick / 1000)
    assert costs.io is None


def test_a_second_supply_adds_terms_and_io_a_part() -> None:
    m = load_machine("v100")
    assert m.dram_power is not None
    power = replace(m.dram_power, vpp=2.5, ipp0=3.0, ipp2n=1.0, ipp3n=2.0, ipp4r=5.0, ipp4w=6.0, ipp5=20.0, io=0.5)
    one, two = power_costs(m, m.dram_power), power_costs(m, power)
    tick = 1000 / m.dram.command_mhz
    ras, rc = m.dram.ras * tick, m.dram.rc * tick
    assert two.activation - one.activation == pytest.approx(2.5 * (3 * rc - 2 * ras - (rc - ras)) / 1000)
    assert two.read - one.read == pytest.approx(2.5 * 3 * tick / 1000)
    assert two.write - one.write == pytest.approx(2.5 * 4 * tick / 1000)
    assert two.refresh - one.refresh == pytest.approx(2.5 * 18 * 260 / 1000)
    assert two.open_tick - one.open_tick == pytest.approx(2.5 * 2 * tick / 1000)
    assert two.closed_tick - one.closed_tick == pytest.approx(2.5 * tick / 1000)
    assert two.io == pytest.approx(0.5 * 32 * 8 / 1000)
    with_io = energy_figures(COUNTED, replace(m, dram_power=power), m.chip.sms, COUNTED["cycles"])
    assert with_io is not None
    assert with_io["io_nj"] == pytest.approx(0.5 * 32 * 8 / 1000 * 1010)


def test_the_range_has_the_extremes_of_each_part() -> None:
    m = load_machine("gem5gpu-batching")
    sets = power_sets(m)
    assert list(sets) == [STATED, LOWEST, HIGHEST]
    assert (sets[LOWEST].idd0, sets[HIGHEST].idd0, sets[LOWEST].refi) == (71, 490, 7803)
    found = energy_figures(COUNTED, m, m.chip.sms, COUNTED["cycles"])
    assert found is not None
    for part, value in found["least"].items():
        if value is not None:
            assert value <= found[part] <= found["most"][part]
    assert found["least"]["total_nj"] < found["total_nj"] / 5
    alone = energy_figures(COUNTED, load_machine("t4"), 40, COUNTED["cycles"])
    assert alone is not None
    assert alone["least"] is None


def test_a_share_of_the_machine_has_a_share_of_the_background() -> None:
    """3 of 8 SMs have 1.5 of 4 channels; 2 are emulated."""
    m = load_machine("gem5gpu-batching")
    share, whole = (energy_figures(COUNTED, m, sms, COUNTED["cycles"]) for sms in (3, 8))
    assert share is not None
    assert whole is not None
    assert share["open_nj"] == pytest.approx(0.75 * whole["open_nj"])
    assert share["closed_nj"] == pytest.approx(0.75 * whole["closed_nj"])
    assert share["activation_nj"] == whole["activation_nj"]


def test_machines_without_public_currents_have_none() -> None:
    without = {name for name in list_machines() if not power_sets(load_machine(name))}
    assert without == {"b200", "gtx285", "gtx285-gpgpusim", "h100", "h200", "rtx4090", "rtx5090"}
    assert energy_figures(COUNTED, load_machine("h100"), 1, 1) is None


def test_behaviour_does_not_depend_on_currents(tmp_path: Path) -> None:
    path = edited(tmp_path, "v100", r"^idd0 = \{ value = 65,", "idd0 = { value = 66,")
    assert read_machine(path).digest == load_machine("v100").digest


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("idd0", "49", "background of a row cycle"),
        ("idd4r", "54", "background with a bank open"),
        ("idd4w", "54.9", "background with a bank open"),
        ("idd5", "10", "background with a bank open"),
        ("idd3n", "391", "idd0"),
        ("idd0", "-1", "out of range"),
        ("vdd", "0", "out of range"),
        ("devices", "0", "out of range"),
    ],
)
def test_currents_that_give_negative_energy_are_refused(tmp_path: Path, key: str, value: str, says: str) -> None:
    path = edited(tmp_path, "v100", rf"^{key} = \{{ value = [0-9.]+,", f"{key} = {{ value = {value},")
    with pytest.raises(MalformedInput) as caught:
        read_machine(path)
    text = str(caught.value)
    assert says in text
    assert "dram.power." in text
    if key != "idd3n":
        assert f"dram.power.{key}" in text


def test_alternatives_are_checked_too(tmp_path: Path) -> None:
    path = edited(tmp_path, "v100", r"(^idd4w = .*alternatives = \[\{ value = )440", r"\g<1>44")
    with pytest.raises(MalformedInput, match=r"dram\.power\.idd4w.*the lowest of all alternatives"):
        read_machine(path)


@pytest.mark.parametrize(
    ("added", "key"),
    [
        ('ipp0 = { value = 3, unit = "mA", source = "s" }', "dram.power.vpp"),
        ('vpp = { value = 2.5, unit = "V", source = "s" }\nipp3n = { value = 3, unit = "mA", source = "s" }',
         "dram.power.ipp0"),
        ('idd6 = { value = 3, unit = "mA", source = "s" }', "dram.power.idd6"),
    ],
)  # fmt: skip
def test_a_second_supply_is_whole(tmp_path: Path, added: str, key: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        read_machine(edited(tmp_path, "v100", r"\A", added + "\n"))
    assert key in str(caught.value)


def test_refreshes_are_stated_whole(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=r"dram\.power\.rfc"):
        read_machine(edited(tmp_path, "v100", r"^rfc = .*\n", ""))


def test_a_missing_key_and_a_table_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=r"dram\.power\.idd2n"):
        read_machine(edited(tmp_path, "v100", r"^idd2n = .*\n", ""))
    text = (MACHINES / "v100.toml").read_text()
    head, _, rest = text.partition("[dram.power]\n")
    _, _, rest = rest.partition("\n[")
    path = tmp_path / "mine.toml"
    path.write_text(head.replace("[dram]\n", "[dram]\npower = 3\n") + "[" + rest)
    with pytest.raises(MalformedInput, match=r"dram\.power"):
        read_machine(path)
