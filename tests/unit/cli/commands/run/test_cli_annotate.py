"""`run --annotate` and `run --series`: what they print and write, the same in text and JSON, what is refused."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import sample_file

CALLCHAIN = ["run", loom("callchain"), *launch("callchain")]
REDUCTION = ["run", str(sample_file("reduction.ptx")), *launch("reduction")]


def rows(found: Any) -> list[Any]:
    return [row for fn in found["functions"] for row in fn["instructions"]]


@pytest.fixture(scope="module")
def reduction(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str, Path]:
    """The sample with CUDA lines: JSON, text, and the folder where its source has the name that the binary knows."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copy(sample_file("reduction.cu"), folder / "RD.cu")
    options = [*REDUCTION, "--annotate", "--source", str(folder)]
    return call(*options, "--json").json, call(*options).out, folder


def test_slots_of_instructions_and_lines_are_the_run_s(reduction: tuple[Any, str, Path]) -> None:
    answer, _, _ = reduction
    found, stats = answer["annotation"], answer["stats"]
    assert found["slots"] == stats["issue_slots"] + sum(stats["stalls"].values())
    assert found["unattributed_slots"] == stats["stalls"]["no_warp"]
    for reason, slots in stats["stalls"].items():
        if reason != "no_warp":
            assert sum(row["stalls"][reason] for row in rows(found)) == slots
    assert sum(row["issues"] for row in rows(found)) == stats["warp_instructions"]
    assert sum(row["sectors"] for row in rows(found)) == stats["global_load_sectors"] + stats["global_store_sectors"]
    for fn in found["functions"]:
        listed = [index for line in fn["lines"] for index in line["instructions"]]
        assert sorted(listed) == [row["index"] for row in fn["instructions"] if row["file"] is not None]
        for line in fn["lines"]:
            members = [fn["instructions"][index] for index in line["instructions"]]
            assert {(row["file"], row["line"]) for row in members} == {(line["file"], line["line"])}
            for name in ("issues", "thread_instructions", "stall_slots"):
                assert line[name] == sum(row[name] for row in members)


def test_source_lines_are_shown_as_they_stand_in_the_file(reduction: tuple[Any, str, Path]) -> None:
    answer, text, folder = reduction
    source = (folder / "RD.cu").read_text().split("\n")
    sources = {entry["file"]: entry["path"] for entry in answer["annotation"]["sources"]}
    assert sources["RD.cu"] == str(folder / "RD.cu")
    for line in answer["annotation"]["functions"][0]["lines"]:
        if line["file"] == "RD.cu":
            assert line["text"] == source[line["line"] - 1]
            assert f"RD.cu:{line['line']}  {line['text'].strip()[:30]}" in text
        elif sources[line["file"]] is None:
            assert line["text"] is None
    assert sources["staged.cuh"] == str(sample_file("reduction.ptx").parent / "staged.cuh")
    missing = sorted(name for name, path in sources.items() if path is None)
    assert missing
    assert f"Source not found, line numbers alone: {', '.join(missing)}.\n--source DIR" in text


def test_without_the_source_there_are_numbers_alone_and_the_text_says_so() -> None:
    text = call(*REDUCTION, "--annotate").out
    assert re.search(r"^ +RD\.cu:\d+ +\d", text, re.MULTILINE)
    assert "Source not found, line numbers alone: RD.cu" in text


def test_the_hottest_are_those_with_the_most_slots(reduction: tuple[Any, str, Path]) -> None:
    found = call(*REDUCTION, "--annotate=3", "--json").json["annotation"]
    slots = sorted((row["issues"] + row["stall_slots"] for row in rows(found)), reverse=True)
    hot = [row["issues"] + row["stall_slots"] for row in rows(found) if row["hot"]]
    assert sorted(hot, reverse=True) == slots[:3]
    assert found["all"] is False
    text = call(*REDUCTION, "--annotate=3").out
    assert len(re.findall(r"^\*", text.split("RD: 3 of")[1].split("\n* hottest")[0], re.MULTILINE)) == 3
    assert sum(row["hot"] for row in rows(reduction[0]["annotation"])) == 10


def test_code_without_lines_stands_in_its_order() -> None:
    text = call(*CALLCHAIN, "--annotate").out
    table = text.split("callchain: 29 of 29 instructions\n")[1].split("\n\n")[0].split("\n")[2:]
    assert [int(re.sub(r"^[*S+ ]*", "", line).split()[0]) for line in table] == list(range(29))
    assert "Source not found" not in text


def test_spill_code_of_a_rewrite_is_marked(tmp_path: Path) -> None:
    out = str(tmp_path / "few.loom")
    options = ["--registers", "6", "--slots", "4", "-o", out]
    assert call("rewrite", loom("callchain"), *launch("callchain"), *options).code == 0
    answer = call("run", out, *launch("callchain"), "--annotate", "--json").json
    spills = [row for row in rows(answer["annotation"]) if row["spill"]]
    assert sum(row["issues"] for row in spills) == answer["stats"]["spill_accesses"] > 0
    assert all(".SPILL" in row["text"] and row["original"] is None for row in spills)
    assert {row["original"] is None for row in rows(answer["annotation"])} == {True, False}
    text = call("run", out, *launch("callchain"), "--annotate").out
    assert len(re.findall(r"^\*?S +\d", text, re.MULTILINE)) == len(spills)


COMMANDS = ("dram_activations", "dram_reads", "dram_writes", "dram_bytes")


def test_dram_of_instructions_lines_and_objects_is_the_run_s(reduction: tuple[Any, str, Path]) -> None:
    """gtx680 has currents with alternatives, so that energy adds up, too, to that of all commands."""
    answer, text, _ = reduction
    found, stats = answer["annotation"], answer["stats"]
    energy, instructions = stats["dram_energy"], rows(found)
    for table in (instructions + found["dram_of_no_instruction"], answer["dram_by_object"]):
        for name in COMMANDS:
            assert sum(row[name] for row in table) == stats[name]
        for name, of_run in (("dram_nj", energy), ("dram_least_nj", energy["least"]), ("dram_most_nj", energy["most"])):
            total = sum(of_run[part] for part in ("activation_nj", "read_nj", "write_nj"))
            assert sum(row[name] for row in table) == pytest.approx(total)
    assert energy["activation_nj"] > 0
    for line in found["functions"][0]["lines"]:
        members = [found["functions"][0]["instructions"][index] for index in line["instructions"]]
        for name in (*COMMANDS, "dram_nj", "dram_least_nj", "dram_most_nj"):
            assert line[name] == pytest.approx(sum(row[name] for row in members))
    busiest = max(instructions, key=lambda row: row["dram_nj"])
    shown = next(line for line in text.split("\n") if f"  {busiest['index']} " in line and busiest["text"] in line)
    assert shown.split()[-2:] == [f"{busiest['dram_activations']:,}", f"{busiest['dram_nj']:,.1f}"]
    assert {row["kind"] for row in answer["dram_by_object"]} >= {"buffer", "local", "spills", "code", "constants"}
    least = sum(row["dram_least_nj"] for row in instructions) / sum(row["dram_nj"] for row in instructions)
    assert f"it is {least:.2f} to 1.00 times as much" in text


def test_buffers_are_shown_with_what_dram_does_for_them(reduction: tuple[Any, str, Path]) -> None:
    answer, text, _ = reduction
    table = text.split("\nDRAM by object")[1].split("\nbackground and refreshes")[0].split("\n")[2:]
    shown = {line.split()[0]: line.split()[1:] for line in table}
    wanted = {row["name"]: row for row in answer["dram_by_object"] if row["dram_bytes"]}
    assert set(shown) == set(wanted)
    for name, cells in shown.items():
        numbers = [f"{wanted[name][key]:,}" for key in COMMANDS]
        assert cells[:4] == numbers
        energies = [f"{wanted[name][key] / 1000:.3f}" for key in ("dram_nj", "dram_least_nj", "dram_most_nj")]
        assert cells[4:] == energies


def test_a_machine_without_currents_has_rows_and_no_energy() -> None:
    options = [*REDUCTION, "--machine", "h100", "--annotate"]
    answer = call(*options, "--json").json
    assert "dram_energy" not in answer["stats"]
    for row in (*rows(answer["annotation"]), *answer["dram_by_object"]):
        assert row["dram_nj"] is row["dram_least_nj"] is row["dram_most_nj"] is None
    assert sum(row["dram_activations"] for row in answer["dram_by_object"]) == answer["stats"]["dram_activations"] > 0
    text = call(*options).out
    assert re.search(r"most  rows opened$", text, re.MULTILINE)
    assert "nJ" not in text
    assert "uJ" not in text


@pytest.mark.parametrize("suffix", [".csv", ".json", ".CSV"])
def test_a_series_adds_up_to_the_run(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"series{suffix}"
    answer = call(*CALLCHAIN, "--series", str(path), "--every", "500", "--json").json
    if suffix == ".json":
        content = json.loads(path.read_text())
        assert {content[name] == answer[name] for name in ("kernel", "machine", "scheduler", "sms", "cycles")} == {True}
        assert content["every"] == 500
        table = content["intervals"]
    else:
        table = list(csv.DictReader(path.open()))
    stats = answer["stats"]
    series = {"file": str(path), "every": 500, "intervals": len(table), "full_at_cycle": None}
    assert answer["series"] == series
    assert [int(row["start"]) for row in table] == list(range(0, answer["cycles"], 500))
    for name in ("cycles", "warp_instructions", "l1_local_hits", "l2_misses", "request_bytes", "dram_row_hits"):
        assert sum(int(row[name]) for row in table) == stats[name]
    for name, slots in stats["stalls"].items():
        assert sum(int(row[f"stalls.{name}"]) for row in table) == slots
    for name, queue in stats["queues"].items():
        assert sum(int(row[f"queues.{name}.entry_cycles"]) for row in table) == queue["entry_cycles"]
    resident = sum(float(row["resident_warps"]) * int(row["cycles"]) for row in table)
    assert resident == pytest.approx(stats["warp_cycles"])
    assert len({frozenset(row) for row in table}) == 1


def test_the_file_of_a_series_has_the_fields_that_the_page_says(tmp_path: Path) -> None:
    """Counters of an interval have one key each: `stalls.scoreboard`."""
    from binalloc.report.shapes.parts.counters import CountersJson
    from binalloc.report.shapes.parts.files import SeriesFile, SeriesInterval
    from tests.support.kits.report.shapes import documented, pattern, problems

    path = tmp_path / "series.json"
    call(*CALLCHAIN, "--series", str(path), "--every", "500")
    found = json.loads(path.read_text())
    assert problems(found, SeriesFile) == []
    own = {"start", "resident_warps"}
    assert set(SeriesInterval.__annotations__) == own | {"cycles", "ipc"}
    shown = {name for interval in found["intervals"] for name in interval} - own
    known = documented(CountersJson)
    assert [name for name in shown if not any(pattern(p).match(name) for p in known)] == []
    aside = {f"queues.<name>.{name}" for name in ("queues", "places", "most")}
    missing = {p for p in known if not any(pattern(p).match(name) for name in shown)}
    assert {p for p in missing if not p.startswith("far_dram.")} == aside  # the machine has no far memory


def test_neither_changes_what_the_run_counts(tmp_path: Path) -> None:
    plain = call(*CALLCHAIN, "--json").json
    more = call(*CALLCHAIN, "--annotate", "--series", str(tmp_path / "s.csv"), "--json").json
    assert {name: more[name] for name in plain} == plain
    assert set(more) - set(plain) == {"annotation", "series"}


def test_what_is_refused(tmp_path: Path) -> None:
    assert "--annotate" in refused(2, *CALLCHAIN, "--source", str(tmp_path))
    assert "--series" in refused(2, *CALLCHAIN, "--every", "5")
    assert "CSV or JSON" in refused(2, *CALLCHAIN, "--series", str(tmp_path / "s.txt"))
    assert "CSV or JSON" in refused(2, *CALLCHAIN, "--series", "-")
    assert "folder" in refused(2, *CALLCHAIN, "--series", str(tmp_path / "no" / "s.csv"))
    assert "0" in refused(2, *CALLCHAIN, "--series", str(tmp_path / "s.csv"), "--every", "0")
    for wrong in ("0", "1.5", "some", "²"):
        assert "annotate" in refused(2, *CALLCHAIN, f"--annotate={wrong}")
    message = refused(2, "run", *launch("callchain"), "--annotate", loom("callchain"))
    assert "--annotate=all" in message
    assert "does not exist" in refused(2, *CALLCHAIN, "--annotate", "--source", str(tmp_path / "no"))
    assert list(tmp_path.iterdir()) == []


def test_a_long_run_says_where_its_series_has_no_more_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binalloc.emulator.host.figures.series.MOST_INTERVALS", 3)
    path = tmp_path / "s.json"
    answer = call(*CALLCHAIN, "--series", str(path), "--every", "500", "--json")
    content = json.loads(path.read_text())
    assert answer.json["series"] == {"file": str(path), "every": 500, "intervals": 4, "full_at_cycle": 1500}
    assert content["full_at_cycle"] == 1500
    assert [row["cycles"] for row in content["intervals"]] == [500, 500, 500, answer.json["cycles"] - 1500]
    assert answer.err == f"binalloc: {path}: all cycles from 1,500 on are one interval, the last of 4; see --every\n"
    text = call(*CALLCHAIN, "--series", str(path), "--every", "500").out
    assert "4 intervals of 500 cycles; the last one has all the rest, from cycle 1,500 on." in text


def test_a_run_that_faults_leaves_no_series(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    small = tmp_path / "small.toml"
    small.write_text(sample_file("callchain.toml").read_text().replace("shape = 524000\n", "shape = 1\n"))
    options = ("--launch", str(small), "--engine", "python")
    assert call("run", loom("callchain"), *options, "--series", str(path)).code == 5
    assert not path.exists()
