"""`run --dram-log` and the energy of DRAM, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.paths import sample_file

PTX = ("run", str(sample_file("hotspot.ptx")), "--launch", str(sample_file("hotspot.toml")))
SMALL = ("--size", "test", "--engine", "python")
MACHINE = ("--machine", "gem5gpu-batching")


def run(*more: str) -> tuple[str, ...]:
    return (*PTX, *MACHINE, *SMALL, *more)


def refused(*args: str) -> str:
    """A command that must fail as wrong use; returns what it says beside that it has imported the PTX."""
    answer = call(*args)
    assert (answer.code, answer.out) == (2, "")
    return answer.err.splitlines()[-1]


def test_a_run_leaves_a_log_and_says_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    answer = call(*run("--dram-log", str(folder), "--json"))
    assert answer.code == 0
    said, stats = answer.json["dram_log"], answer.json["stats"]
    assert said["folder"] == str(folder)
    assert said["requests"] == stats["dram_reads"] + stats["dram_writes"] > 0
    assert said["full_at_cycle"] is None
    names = {"README.txt", "dramsim3.0.trace", "dramsim3.ini", "ramulator2.trace", "drampower.0.csv"}
    assert {path.name for path in folder.iterdir()} == names
    energy = stats["dram_energy"]
    parts = [value for name, value in energy.items() if name.endswith("_nj") and name != "total_nj" and value]
    assert energy["total_nj"] == pytest.approx(sum(parts))
    text = call(*run("--dram-log", str(tmp_path / "other"))).out
    assert f"DRAM log: {tmp_path / 'other'}, {said['requests']:,} requests and {said['commands']:,} commands.\n" in text
    assert "background with a bank open" in text
    assert "average power of DRAM" in text


def test_a_stopped_run_has_a_log_up_to_there(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    answer = call(*run("--dram-log", str(folder), "--max-cycles", "2000", "--json"))
    assert answer.code == 4
    assert answer.json["dram_log"]["folder"] == str(folder)
    assert "up to cycle 2,000" in (folder / "README.txt").read_text()


def test_intervals_have_their_energy(tmp_path: Path) -> None:
    series = tmp_path / "s.csv"
    assert call(*run("--series", str(series), "--every", "500")).code == 0
    head, *rows = series.read_text().splitlines()
    column = head.split(",").index("dram_energy.total_nj")
    whole = call(*run("--json")).json["stats"]["dram_energy"]["total_nj"]
    assert sum(float(row.split(",")[column]) for row in rows) == pytest.approx(whole)


def test_without_currents_nothing_is_said_and_no_log_written(tmp_path: Path) -> None:
    options = (*PTX, "--machine", "h100", *SMALL)
    answer = call(*options, "--json")
    assert "dram_energy" not in answer.json["stats"]
    assert "energy" not in call(*options).out
    assert "no currents" in refused(*options, "--dram-log", str(tmp_path / "log"))
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_writes_nothing(tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "mine").write_text("kept")
    assert "holds files" in refused(*run("--dram-log", str(used)))
    assert "--dram-log DIR" in refused(*run("--dram-log-limit", "3"))
    assert "--save" in refused(*run("--dram-log", str(tmp_path / "a"), "--save", str(tmp_path / "a")))
    program = ("run", str(sample_file("lu.ptx")), "--launch", str(sample_file("lu.toml")))
    assert "--dram-log" in refused(*program, "--dram-log", str(tmp_path / "b"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["used"]
    assert [path.name for path in used.iterdir()] == ["mine"]


def test_a_launch_of_a_sequence_has_a_log_of_its_own(tmp_path: Path) -> None:
    program = ("run", str(sample_file("lu.ptx")), "--launch", str(sample_file("lu.toml")), *MACHINE, "--size", "test")
    answer = call(*program, "--step", "1", "--dram-log", str(tmp_path / "log"), "--json")
    assert answer.code == 0
    stats = answer.json["stats"]
    assert answer.json["dram_log"]["requests"] == stats["dram_reads"] + stats["dram_writes"]
    whole = call(*program, "--json").json["kernels"]
    assert all(kernel["dram_energy"]["total_nj"] > 0 for kernel in whole)
