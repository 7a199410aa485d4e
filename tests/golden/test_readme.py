"""The README's examples are what the commands print: each is run where its files lie, and what is shown compared.

CPU times are left out. nvcc is not run.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.kits.shown import shows
from tests.support.paths import ROOT, SAMPLES

README = (ROOT / "README.md").read_text()
_BLOCK = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
_SECONDS = re.compile(r" +\d+\.\d\d$", re.MULTILINE)


def examples() -> list[tuple[list[str], str]]:
    """Command and what is shown of its output, "" for nothing."""
    found = []
    for block in _BLOCK.findall(README):
        text = "".join(line[4:] or "\n" for line in block.splitlines(keepends=True))
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, expected = part.replace("\\\n", " ").partition("\n")
            found.append((shlex.split(line), expected.strip("\n")))
    return found


def without_seconds(text: str) -> str:
    """A table of CPU times in its last column, without that."""
    return "\n".join(_SECONDS.sub("", line) for line in text.strip("\n").splitlines())


def test_examples_are_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the README's order: one command reads what another has written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    compared = 0
    for command, expected in examples():
        if command[0] != "binalloc":
            assert command[0] == "nvcc"
            continue
        answer = call(*command[1:])
        assert answer.code == 0, answer.err
        if not expected:
            continue
        compared += 1
        printed = answer.out
        if "CPU s" in printed:
            expected, printed = f"{without_seconds(expected)}\n...", without_seconds(printed)
        assert shows(expected, printed.strip("\n")), f"$ {shlex.join(command)}\n{printed}"
    assert compared >= 7
