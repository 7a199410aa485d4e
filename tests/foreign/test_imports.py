"""The census of public suites: which files it takes, and how it counts. No suite and no nvcc is asked for."""

from __future__ import annotations

from pathlib import Path

from tests.foreign.imports import STATES, described, imported, outcome, reason, sources, tables
from tests.support.paths import ROOT


def _file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_of_each_folder_of_one_program_and_every_other_is_taken(tmp_path: Path) -> None:
    _file(tmp_path / "a" / "one-cuda" / "few.cu", "__global__ void k();")
    most = _file(tmp_path / "a" / "one-cuda" / "src" / "most.cu", "__global__ void k(); __global__ void l();")
    _file(tmp_path / "a" / "one-hip" / "main.cu", "__global__ void k();")
    loose = [_file(tmp_path / "b" / name) for name in ("x.cu", "y.cu")]
    made = _file(tmp_path / "producer" / "of" / "it.ptx")
    assert list(sources(tmp_path)) == [("a", most), ("b", loose[0]), ("b", loose[1]), ("producer", made)]


def test_a_census_counts_what_was_compiled_imported_and_refused() -> None:
    message = "binalloc: error: /some/where/{}.cu.ptx: line 3, column 2: depth comparison is not supported"
    base = {"suite": "s", "compiled": True, "kernels": 1, "tensor": False, "lines": 1200, "message": ""}
    rows = [
        base | {"file": "right.cu", "rc": 0},
        *(base | {"file": f"{x}.cu", "rc": 1, "message": message.format(x)} for x in "ab"),
        base | {"file": "tensor.cu", "rc": 1, "tensor": True, "message": "binalloc: error: x.ptx: line 4: mma"},
        base | {"file": "header.cu", "kernels": 0},
        {"suite": "s", "file": "not.cu", "compiled": False, "complaint": "error: no header"},
    ]
    lines = tables(rows).splitlines()
    assert lines[2] == "| s | 6 | 5 | 4 | 1 | 1 | 2 |"
    assert "1,200 lines of PTX imported." in lines
    assert "2 x depth comparison is not supported" in lines, "one reason, whatever the file and the line"
    states = {state: [r["file"] for r in rows if of(r)] for state, of in STATES.items()}
    assert states == {"uncompiled": ["not.cu"], "imported": ["right.cu"], "refused": ["a.cu", "b.cu", "tensor.cu"]}


def test_a_file_of_a_producer_is_imported_as_it_is(tmp_path: Path) -> None:
    own = (ROOT / "tests" / "foreign" / "own.ptx").read_text()
    place = _file(tmp_path / "in" / "producer" / "x.ptx", own)
    (tmp_path / "out" / "ptx").mkdir(parents=True)
    row = outcome("producer", place, tmp_path / "in", [], tmp_path / "out")
    assert (row["rc"], row["compiled"], row["file"], row["tensor"]) == (0, True, "producer/x.ptx", False)
    assert place.read_text() == own
    loads = _file(place, own + "\n// ldmatrix.sync.aligned.m8n8.x1.shared.b16")
    assert not described(loads)["tensor"], "a load of matrices is no tensor instruction"
    assert described(_file(place, own + "\n// mma.sync.aligned.m16n8k8"))["tensor"]


def test_a_file_goes_through_the_command(tmp_path: Path) -> None:
    own = ROOT / "tests" / "foreign" / "own.ptx"
    assert described(own)["kernels"] > 0
    assert not described(own)["tensor"]
    assert imported([own])["rc"] == 0
    broken = _file(tmp_path / "broken.ptx", own.read_text()[:-200])
    assert imported([broken])["rc"] == 3
    missing = imported([tmp_path / "none.ptx"])
    assert missing["rc"] == 2
    assert reason(missing).startswith("cannot read the file")
