"""The files of a DRAM log against the run: its counters, its timing parameters, its energy, and against one another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from binalloc.emulator.runs.run import Result
from binalloc.emulator.traces import dram_log
from binalloc.emulator.traces.dram_log import DramLog, DramLogCounts
from binalloc.errors import LimitHit, UsageError
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator import micro
from tests.support.kits.emulator.dram_commands import parameters
from tests.support.oracles.emulator.dram_energy import energy, seen
from tests.support.oracles.emulator.dram_log import Logged, violations
from tests.support.paths import MACHINES

WHAT = {"ACT": "activate", "PRE": "precharge", "PREA": "precharge_all", "REFA": "refresh", "RD": "read", "WR": "write"}


class Burst(NamedTuple):
    """A burst, as the files have it."""

    channel: int
    group: int
    bank: int
    row: int
    column: int
    write: bool


class Written(NamedTuple):
    """A run and its log."""

    result: Result
    counts: DramLogCounts
    folder: Path


def logged(folder: Path, sample: str, machine: str, limit: int = 1 << 28, **options: Any) -> Written:
    log = DramLog(folder, limit)
    result = micro.measure(sample, machine, samplers=(log.begin,), **options)
    counts = log.end()
    assert counts is not None
    return Written(result, counts, folder)


def channels_of(folder: Path) -> int:
    return len(list(folder.glob("dramsim3.*.trace")))


def commands(folder: Path) -> tuple[list[Logged], list[Burst], int]:
    """The commands, the bursts that they move, and the tick of the end."""
    told, moved, ends = [], [], set()
    for channel in range(channels_of(folder)):
        *lines, last = (folder / f"drampower.{channel}.csv").read_text().splitlines()
        assert last.split(",")[1] == "END"
        ends.add(int(last.split(",")[0]))
        for line in lines:
            tick, what, rank, group, bank, row, column, *data = line.split(",")
            assert rank == "0"
            assert bool(data) == (what in ("RD", "WR"))
            told.append(Logged(channel, int(tick), WHAT[what], int(bank), int(row)))
            if data:
                moved.append(Burst(channel, int(group), int(bank), int(row), int(column), what == "WR"))
    (end,) = ends
    return told, moved, end


def requests(m: Machine, folder: Path) -> list[tuple[Burst, int]]:
    """The bursts of the files for DRAMsim3, by the bits that its configuration gives, with their ticks."""
    ini = dict(line.split(" = ") for line in (folder / "dramsim3.ini").read_text().splitlines() if "=" in line)
    sizes = [
        m.dram.burst_bytes, m.dram.row_bytes // m.dram.burst_bytes, int(ini["bankgroups"]), int(ini["banks_per_group"]),
    ]  # fmt: skip
    out = []
    for channel in range(channels_of(folder)):
        for line in (folder / f"dramsim3.{channel}.trace").read_text().splitlines():
            address, what, tick = line.split()
            place, parts = int(address, 16), []
            for size in sizes:
                parts.append(place % size)
                place //= size
            byte, column, group, inner = parts
            assert byte == 0
            assert place < int(ini["rows"])
            bank = inner * m.dram.groups + group
            out.append((Burst(channel, group, bank, place, column, what == "WRITE"), int(tick)))
    return out


def vectors(m: Machine, folder: Path) -> list[Burst]:
    out = []
    for line in (folder / "ramulator2.trace").read_text().splitlines():
        what, place = line.split()
        channel, rank, group, bank, row, column = map(int, place.split(","))
        assert rank == 0
        out.append(Burst(channel, group, bank * m.dram.groups + group, row, column, what == "W"))
    return out


@pytest.mark.parametrize("sample", ["stream_copy", "chase_global"])
@pytest.mark.parametrize("name", ["gem5gpu-batching", "v100", "t4"])
def test_the_files_are_the_run(name: str, sample: str, tmp_path: Path) -> None:
    m = load_machine(name)
    result, counts, folder = logged(tmp_path / "log", sample, name, engine="python", sms=2)
    told, moved, end = commands(folder)
    stats, dram = result.stats, m.dram
    assert violations(told, parameters(m), dram.groups, dram.command_buses) == []
    assert len(told) == counts.commands
    assert len(moved) == counts.requests == stats["dram_reads"] + stats["dram_writes"] > 0
    asked = requests(m, folder)
    assert Counter(burst for burst, _ in asked) == Counter(moved) == Counter(vectors(m, folder))
    for channel in range(channels_of(folder)):
        ticks = [tick for burst, tick in asked if burst.channel == channel]
        assert ticks == sorted(ticks)
        # the n-th command for a burst comes no sooner than the n-th request for it
        when: dict[Burst, list[int]] = {}
        for command, burst in zip((c for c in told if c.what in ("read", "write")), moved, strict=True):
            when.setdefault(burst, []).append(command.tick)
        for burst, tick in asked:
            assert when[burst].pop(0) >= tick or burst.channel != channel
    share = Fraction(dram.channels * 2, m.chip.sms)
    parts = energy(MACHINES / f"{name}.toml", seen(told, channels_of(folder), end), share / ceil(share))
    said = {part: stats["dram_energy"][part] for part in parts}
    assert said == pytest.approx({part: float(value) for part, value in parts.items()}, rel=1e-9)
    assert counts.full_at_cycle is None
    assert counts.bytes == sum(path.stat().st_size for path in folder.glob("d*.[tc]*")) + sum(
        path.stat().st_size for path in folder.glob("r*.trace")
    ) - sum(len(f"{end},END,0,0,0,0,0\n") for _ in range(channels_of(folder)))
    text = (folder / "README.txt").read_text()
    for fact in (f"{dram.command_mhz:g} MHz", f"{dram.row_bytes} bytes", f"up to cycle {result.cycles:,}"):
        assert fact in text


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_engines_bookkeepings_and_intervals_write_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = load_machine("v100")
    m = replace(shipped, dram=replace(shipped.dram, refi=700, rfc=250))
    monkeypatch.setattr(micro, "load_machine", lambda name: m)
    runs: list[dict[str, Any]] = [
        {"engine": "python"}, {"engine": "python", "reference": True},
        {"engine": "numba"}, {"engine": "numba", "every": 77},
    ]  # fmt: skip
    found = [logged(tmp_path / f"{i}", "chase_global", "v100", sms=3, **run) for i, run in enumerate(runs)]
    monkeypatch.setattr(dram_log, "_ROOM", 512)
    found.append(logged(tmp_path / "short", "chase_global", "v100", sms=3, engine="python"))
    assert all(contents(one.folder) == contents(found[0].folder) for one in found)
    told, _, end = commands(found[0].folder)
    stats = found[0].result.stats
    assert violations(told, parameters(m), m.dram.groups, m.dram.command_buses) == []
    assert sum(c.what == "refresh" for c in told) == stats["dram_refreshes_to_end"] > stats["dram_refreshes"]
    assert seen(told, 2, end).open_ticks == stats["dram_open_ticks"]
    plain = micro.measure("chase_global", "v100", sms=3, engine="python")
    assert plain.stats == stats


def test_files_that_would_be_too_long_hold_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = logged(tmp_path / "at once", "stream_copy", "gem5gpu-batching", engine="python")
    monkeypatch.setattr(dram_log, "_ROOM", 512)
    whole = logged(tmp_path / "whole", "stream_copy", "gem5gpu-batching", engine="python")
    assert contents(whole.folder) == contents(at_once.folder)  # requests wait for older ones that are served later
    cut = logged(tmp_path / "cut", "stream_copy", "gem5gpu-batching", whole.counts.bytes // 2, engine="python")
    assert cut.result.stats == whole.result.stats
    assert cut.counts.full_at_cycle is not None
    assert 0 < cut.counts.full_at_cycle < whole.result.cycles
    assert 0 < cut.counts.bytes < whole.counts.bytes
    for name, content in contents(cut.folder).items():
        if name.endswith((".trace", ".csv")):
            lines = content.decode().splitlines(keepends=True)
            assert all(line.endswith("\n") for line in lines)
            body = [line for line in lines if ",END," not in line]
            assert contents(whole.folder)[name].decode().splitlines(keepends=True)[: len(body)] == body
    told, moved, end = commands(cut.folder)
    assert len(told) == cut.counts.commands
    assert all(c.tick < end for c in told)
    asked = Counter(burst for burst, _ in requests(load_machine("gem5gpu-batching"), cut.folder))
    assert not asked - Counter(moved)
    text = (cut.folder / "README.txt").read_text()
    assert f"up to cycle {cut.counts.full_at_cycle:,} of {whole.result.cycles:,}" in text


def test_a_run_that_is_stopped_has_what_came_until_then(tmp_path: Path) -> None:
    log = DramLog(tmp_path / "log")
    with pytest.raises(LimitHit) as stopped:
        micro.measure("stream_copy", "v100", engine="python", samplers=(log.begin,), max_cycles=2500)
    counts = log.end()
    assert counts is not None
    told, moved, end = commands(tmp_path / "log")
    stats = stopped.value.partial.stats
    assert len(moved) == stats["dram_reads"] + stats["dram_writes"] > 0
    assert seen(told, 1, end).open_ticks == stats["dram_open_ticks"]
    assert "up to cycle 2,500" in (tmp_path / "log" / "README.txt").read_text()


def test_refused_before_the_first_cycle(tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine").write_text("kept")
    (tmp_path / "file").write_text("kept")
    for folder, says in (("used", "holds files"), ("file", "cannot"), ("file/in", "cannot")):
        with pytest.raises(UsageError, match=says):
            logged(tmp_path / folder, "stream_copy", "v100", engine="python")
    with pytest.raises(UsageError, match=r"dram\.power"):
        logged(tmp_path / "none", "stream_copy", "h100", engine="python")
    assert not (tmp_path / "none").exists()
    assert (tmp_path / "used" / "mine").read_text() == "kept"


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("binalloc.emulator.traces.dram_formats.write_atomically", full)
    with pytest.raises((UsageError, OSError), match="No space left"):
        logged(tmp_path / "log", "stream_copy", "v100", engine="python")
