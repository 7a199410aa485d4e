"""The energy of DRAM in whole runs, from its counters, against the energy from the log of its commands."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.run import Result
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator import micro
from tests.support.kits.emulator.dram_commands import commands, logging_devices, parameters
from tests.support.oracles.emulator.dram_energy import Seen, energy, seen, with_idle_refreshes
from tests.support.paths import MACHINES

MODES = ({"engine": "python"}, {"engine": "python", "reference": True}, {"engine": "numba"})
COUNTERS = ("activations", "reads", "writes", "refreshes_to_end", "open_ticks", "closed_ticks")


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[LaunchedDevice]:
    """The devices of the runs, which log what their DRAM is told."""
    return logging_devices(monkeypatch)


def told(m: Machine, device: LaunchedDevice, cycles: int) -> Seen:
    """What the commands say of a run, with the refreshes that nobody has settled."""
    rate = Fraction(*(int(device.engine.get(device.g, 0, f"tick_{name}")[0]) for name in ("numerator", "denominator")))
    end, channels = ceil(cycles * rate), device.get("dram_channels")
    log = commands(device)
    if m.dram.refi:
        log = with_idle_refreshes(log, parameters(m), channels, end)
    return seen(log, channels, end)


def check(m: Machine, result: Result, found: Seen, sms: int) -> None:
    """Counters and energy are those of the log, and the parts add up."""
    assert tuple(result.stats[f"dram_{name}"] for name in COUNTERS) == found
    said = result.stats["dram_energy"]
    share = Fraction(m.dram.channels * sms, m.chip.sms)
    if not m.dram.refi:
        parts = energy(MACHINES / f"{m.name}.toml", found, share / ceil(share))
        assert {name: said[name] for name in parts} == pytest.approx({k: float(v) for k, v in parts.items()}, rel=1e-9)
    named = ("activation_nj", "read_nj", "write_nj", "open_nj", "closed_nj", "refresh_nj")
    assert said["io_nj"] is None
    assert said["total_nj"] == math.fsum(said[name] for name in named)
    assert said["average_w"] == pytest.approx(said["total_nj"] * m.clock.core_mhz / 1000 / result.cycles)


@pytest.mark.parametrize("sample", ["stream_copy", "chase_global"])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "v100", "rtx3070"])
def test_energy_of_counters_is_that_of_the_commands(name: str, sample: str, devices: list[LaunchedDevice]) -> None:
    m = load_machine(name)
    results = [micro.measure(sample, name, sms=2, **mode) for mode in MODES]
    for device, result in zip(devices, results, strict=True):
        assert result.stats == results[0].stats
        check(m, result, told(m, device, result.cycles), 2)
    assert results[0].stats["dram_energy"]["activation_nj"] > 0


@pytest.mark.parametrize("refi", [700, 1000, 3700])
@pytest.mark.parametrize("sample", ["stream_copy", "chase_global", "chase_shared"])
@pytest.mark.parametrize("name", ["v100", "rtx3070"])
def test_refreshes_close_banks_also_of_idle_channels(
    name: str, sample: str, refi: int, devices: list[LaunchedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a run's ticks count, in either mode and engine, and in intervals of any length."""
    shipped = load_machine(name)
    power = None if shipped.dram_power is None else replace(shipped.dram_power, refi=0.0, rfc=0.0)
    m = replace(shipped, dram=replace(shipped.dram, refi=refi, rfc=250), dram_power=power)
    monkeypatch.setattr(micro, "load_machine", lambda name: m)
    more: tuple[dict[str, Any], ...] = ({"engine": "numba", "every": 333}, {"engine": "python", "every": 1001})
    results = [micro.measure(sample, name, sms=3, **mode) for mode in (*MODES, *more)]
    for device, result in zip(devices, results, strict=True):
        assert result.stats == results[0].stats
        check(m, result, told(m, device, result.cycles), 3)
        for counter in COUNTERS if result.series else ():
            assert sum(interval[f"dram_{counter}"] for interval in result.series) == result.stats[f"dram_{counter}"]
            assert all(interval[f"dram_{counter}"] >= 0 for interval in result.series)
    stats = results[0].stats
    assert stats["dram_refreshes_to_end"] >= stats["dram_refreshes"]


def test_a_run_with_fewer_refreshes_settled_than_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that asks DRAM for little: nobody settles the refreshes behind its last request."""
    shipped = load_machine("v100")
    m = replace(shipped, dram=replace(shipped.dram, refi=700, rfc=250), dram_power=None)
    monkeypatch.setattr(micro, "load_machine", lambda name: m)
    stats = micro.measure("chase_global", "v100", engine="python").stats
    assert stats["dram_refreshes_to_end"] > stats["dram_refreshes"]
    assert "dram_energy" not in stats
