"""What commands write is no file that they read, and no file that they write anyway."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.kits.cli import launch, loom, refused
from tests.support.paths import MACHINES, sample_file


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """Copies of a binary, its launch file, a PTX file and a machine file."""
    _, toml, *_ = launch("callchain")
    sources = {
        "binary": loom("callchain"), "launch": toml, "ptx": str(sample_file("reduction.ptx")),
        "machine": str(MACHINES / "gtx680.toml"),
    }  # fmt: skip
    found = {}
    for name, source in sources.items():
        path = tmp_path / (name + Path(source).suffix)
        shutil.copy(source, path)
        found[name] = str(path)
    return found


COMMANDS = [
    (("run", "{binary}", "--launch", "{launch}", "--machine", "{machine}", "--trace"), ("binary", "launch", "machine")),
    (("rewrite", "{binary}", "--launch", "{launch}", "--machine", "{machine}", "-o"), ("binary", "launch", "machine")),
    (("schedule", "{binary}", "--machine", "{machine}", "-o"), ("binary", "machine")),
    (("import-ptx", "{ptx}", "--machine", "{machine}", "-o"), ("ptx", "machine")),
]


@pytest.mark.parametrize(("command", "files"), COMMANDS, ids=[command[0] for command, _ in COMMANDS])
def test_no_input_is_written_over(command: tuple[str, ...], files: tuple[str, ...], inputs: dict[str, str]) -> None:
    arguments = [word.format(**inputs) for word in command]
    for name in files:
        before = Path(inputs[name]).read_bytes()
        assert "overwrite its own input" in refused(2, *arguments, inputs[name])
        assert Path(inputs[name]).read_bytes() == before


def test_a_series_in_json_is_not_written_over_a_launch_file_in_json(inputs: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "launch.json"
    shutil.copy(inputs["launch"], path)
    assert "overwrite" in refused(2, "run", inputs["binary"], "--launch", str(path), "--series", str(path))


def test_two_outputs_want_two_files(inputs: dict[str, str], tmp_path: Path) -> None:
    run = ("run", inputs["binary"], "--launch", inputs["launch"])
    series, trace = str(tmp_path / "x.json"), str(tmp_path / "." / "x.json")
    assert "--series and --trace" in refused(2, *run, "--series", series, "--trace", trace)
    assert not Path(series).exists()
    folder = str(tmp_path / "folder")
    assert "--save and --accelsim-trace" in refused(2, *run, "--save", folder, "--accelsim-trace", folder)


def test_what_cannot_be_written_is_said_before_the_run(
    inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not behind it, when its report would be lost."""
    run = ("run", inputs["binary"], "--launch", inputs["launch"])
    monkeypatch.setattr("binalloc.emulator.runs.run.drive", None)
    assert "which is none" in refused(2, *run, "--save", f"{inputs['binary']}/x/y")
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    for option, name in (("--series", "s.csv"), ("--save", "new/folder")):
        assert "nothing can be written" in refused(2, *run, option, str(tmp_path / name))


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--machine", ""], "unknown machine"), (["--kernel", ""], "no such kernel"),
     (["--save", ""], "no folder's name"), (["--accelsim-trace", ""], "no folder's name")],
)  # fmt: skip
def test_an_empty_name_is_not_taken_for_none(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(2, "run", loom("callchain"), *launch("callchain"), "--engine", "python", *options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["verify", loom("nbody"), loom("nbody")], ["inspect", loom("nbody")]])
def test_nor_is_that_of_a_machine(command: list[str]) -> None:
    assert "unknown machine" in refused(2, *command, "--machine", "")


def test_an_empty_kernel_is_no_kernel_of_a_rewrite() -> None:
    assert "no such kernel" in refused(2, "rewrite", loom("nbody"), "--kernel", "", "--blocks", "5", *launch("nbody"))
