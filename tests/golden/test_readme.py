"""README is a front page: short, each figure with a command that exists, its test a test."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from binalloc.cli.main import main
from tests.support.paths import ROOT, SAMPLES

README = (ROOT / "README.md").read_text()
LONGEST = 12_288
"""Bytes of a page that is read in a few minutes."""
LINES_OF_THE_TEST = 12


def results() -> list[tuple[str, str]]:
    """Result and command of each row of the table of measured results."""
    section = README.split("\n## Measured\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    assert rows[0] == ["question", "result", "command"]
    return [(cells[1], cells[2]) for cells in rows[2:]]


def exists(command: str) -> bool:
    """Whether a command has its target, its module, its test, or its subcommand with all options and files."""
    words = shlex.split(command)
    if words[0] == "make":
        return re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE) is not None
    if words[:2] == ["python", "-m"]:
        return importlib.util.find_spec(words[2]) is not None
    if words[0] == "pytest":
        return (ROOT / words[1]).is_file()
    if words[0] != "binalloc" or words[1] not in main.commands:
        return False
    options = {name for option in main.commands[words[1]].params for name in option.opts}
    used = {word.split("=")[0] for word in words[2:] if word.startswith("-")}
    return used <= options and all((ROOT / word).exists() for word in words[2:] if "/" in word)


def test_readme_is_a_front_page() -> None:
    assert len(README.encode()) <= LONGEST


def test_each_result_names_a_command_that_exists() -> None:
    rows = results()
    assert len(rows) >= 5
    for result, command in rows:
        assert re.search(r"\d", result)
        (shown,) = re.findall(r"`([^`]+)`", command)
        assert exists(shown), shown


@pytest.mark.parametrize(
    "command",
    ["make nothing", "python -m tests.benchmarks.nothing", "pytest tests/nothing.py", "binalloc nothing", "nvcc -V",
     "binalloc run --nothing", "binalloc run samples/loom/nothing.loom"],
)  # fmt: skip
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    assert not exists(command)


def test_the_test_that_it_shows_passes(tmp_path: Path) -> None:
    """As `pytest --binalloc-update` and then `pytest` would run it, by the engine that needs no compiling."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) <= LINES_OF_THE_TEST
    (tmp_path / "test_shown.py").write_text(code)
    shutil.copy(SAMPLES / "ci/smooth.ptx", tmp_path)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for options in (["--binalloc-update"], []):
        command = [sys.executable, "-m", "pytest", "-p", "binalloc.testing.plugin", "--binalloc-engine", "python"]
        done = subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert [path.suffix for path in (tmp_path / "binalloc_baselines").iterdir()] == [".json"]
