"""DRAM's command log of whole runs, with the queues, slices and clocks of machines about it, against the independent
reader of such logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator import micro
from tests.support.kits.emulator.dram_commands import ROOM, commands, logging_devices, parameters
from tests.support.oracles.emulator.dram_log import Logged, moves_data, violations


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[LaunchedDevice]:
    """The devices of the runs, which log what their DRAM is told."""
    return logging_devices(monkeypatch)


def broken(m: Machine, log: list[Logged]) -> list[str]:
    """The machine's own rules that a log breaks."""
    return violations(log, parameters(m), m.dram.groups, m.dram.command_buses)


@pytest.mark.parametrize("queue", [4, 64])
@pytest.mark.parametrize("name", ["v100", "h100", "rtx3070"])
def test_no_command_of_a_run_comes_too_early(
    name: str, queue: int, devices: list[LaunchedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both modes, with one command bus and with two. Where a queue is short slices wait for places at it, and what they
    ask for comes in the middle of a cycle."""
    shipped = load_machine(name)
    for buses in (1, 2):
        m = replace(shipped, dram=replace(shipped.dram, queue=queue, command_buses=buses))
        monkeypatch.setattr(micro, "load_machine", lambda name, m=m: m)
        options: dict[str, Any] = {"engine": "python", "sms": 2}
        results = [micro.measure("stream_copy", name, reference=mode, **options) for mode in (False, True)]
        fast, slow = (commands(device) for device in devices[-2:])
        assert fast == slow
        assert 0 < len(fast) < ROOM
        assert broken(m, fast) == []
        at_once = max(Counter((c.channel, c.tick) for c in fast).values())
        assert at_once == buses or (buses == 2 and queue == 4)  # where few requests wait there may be no two to issue
        for result in results:
            stats = result.stats
            assert stats["dram_reads"] + stats["dram_writes"] == sum(moves_data(c) for c in fast)
            assert stats["dram_activations"] == sum(c.what == "activate" for c in fast)


@pytest.mark.parametrize("pages", ["interleaved", "coloured", "coloured:channels=one"])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "gem5gpu-batching-8k"])
def test_no_command_of_a_run_with_pages_comes_too_early(
    name: str, pages: str, devices: list[LaunchedDevice]
) -> None:
    """Both modes; what the log says is what the counters say."""
    m = load_machine(name)
    options: dict[str, Any] = {"engine": "python", "sms": m.chip.sms, "pages": pages, "dispatcher": "serial"}
    fast, slow = (micro.measure("stream_copy", name, reference=mode, **options) for mode in (False, True))
    log = commands(devices[-2])
    assert log == commands(devices[-1])
    assert 0 < len(log) < ROOM
    assert broken(m, log) == []
    assert fast.stats == slow.stats
    moved = sum(moves_data(c) for c in log)
    assert fast.stats["dram_reads"] + fast.stats["dram_writes"] == moved
    assert fast.stats["dram_activations"] == sum(c.what == "activate" for c in log)


@pytest.mark.parametrize("pages", ["bandwidth", "bandwidth:within=coloured", "bandwidth:seed=5"])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "gem5gpu-batching-8k"])
def test_both_memories_obey_their_own_rules(name: str, pages: str, devices: list[LaunchedDevice]) -> None:
    """Both modes; the far memory is refreshed, the near one is not; each counts its own commands."""
    m = load_machine(name)
    assert m.far is not None
    options: dict[str, Any] = {"engine": "python", "sms": m.chip.sms, "pages": pages}
    fast, slow = (micro.measure("stream_copy", name, reference=mode, **options) for mode in (False, True))
    log = commands(devices[-2])
    assert log == commands(devices[-1])
    assert 0 < len(log) < ROOM
    assert fast.stats == slow.stats
    near = [c for c in log if c.channel < m.dram.channels]
    far = [c for c in log if c.channel >= m.dram.channels]
    for machine, told, stats in ((m, near, fast.stats), (m.far, far, fast.stats["far_dram"])):
        assert broken(machine, told) == []
        assert stats["dram_reads"] + stats["dram_writes"] == sum(moves_data(c) for c in told) > 0
        assert stats["dram_activations"] == sum(c.what == "activate" for c in told)
        assert stats["dram_energy"]["total_nj"] > 0
@pytest.mark.parametrize("when", ["idle", "open"])
@pytest.mark.parametrize("pages", ["identity", "coloured"])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "v100"])
def test_no_command_of_a_run_with_prefetches_comes_too_early(
    name: str, pages: str, when: str, devices: list[LaunchedDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both modes, in rows that are refreshed now and then. Each burst of a prefetch is in the log."""
    m = load_machine(name)
    m = replace(m, dram=replace(m.dram, refi=1500, rfc=200, queue=16))
    monkeypatch.setattr(micro, "load_machine", lambda name: m)
    if pages != "identity" and not name.startswith("gem5gpu"):
        pages = "interleaved"
    sms = 2 if pages == "identity" else m.chip.sms
    options: dict[str, Any] = {"engine": "python", "sms": sms, "pages": pages, "scheduler": f"owl:when={when}"}
    prefetches = 0
    for sample in ("stream_copy", "chase_global"):
        fast, slow = (micro.measure(sample, name, reference=mode, **options) for mode in (False, True))
        log = commands(devices[-2])
        assert log == commands(devices[-1])
        assert 0 < len(log) < ROOM
        assert broken(m, log) == []
        assert fast.stats == slow.stats
        assert fast.stats["dram_reads"] + fast.stats["dram_writes"] == sum(moves_data(c) for c in log)
        prefetches += fast.stats["l2_prefetches"]
    assert prefetches > 0


@pytest.mark.parametrize("name", ["v100", "rtx3070"])
def test_a_run_with_refreshes(name: str, devices: list[LaunchedDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both modes and both engines; results are those of the reference, and it takes longer."""
    shipped = load_machine(name)
    m = replace(shipped, dram=replace(shipped.dram, refi=1000, rfc=250))
    plain = micro.measure("stream_copy", name, engine="python")
    monkeypatch.setattr(micro, "load_machine", lambda name: m)
    fast, slow, compiled = (
        micro.measure("stream_copy", name, engine=engine, reference=mode)
        for engine, mode in (("python", False), ("python", True), ("numba", False))
    )
    log = commands(devices[1])
    assert log == commands(devices[2]) == commands(devices[3])
    assert fast.stats == slow.stats == compiled.stats
    assert broken(m, log) == []
    refreshes = sum(c.what == "refresh" for c in log)
    assert fast.stats["dram_refreshes"] == refreshes > 3
    assert fast.cycles > plain.cycles
