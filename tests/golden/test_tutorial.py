"""The tutorial does what it says: its files are written, its commands run, and what they print is what it shows.

nvcc is stood for by the .ptx that the repository keeps. A line of three dots stands for any number of lines.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.kits.report.shown import shows
from tests.support.paths import ROOT, SAMPLES, sample_file

PAGE = (ROOT / "docs/tutorial.md").read_text()
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(command: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Run one command of the page where it says; what a terminal would show."""
    if command[0] == "binalloc":
        answer = call(*command[1:])
        assert answer.code == 0, answer.err
        return answer.out + answer.err
    if command[0] == "cd":
        monkeypatch.chdir(command[1])
    elif command[0] == "nvcc":
        target = Path(command[command.index("-o") + 1])
        target.write_bytes(sample_file(target.name).read_bytes())
    else:
        assert command[0] in ("mkdir", "cp"), "the page runs nothing else"
        subprocess.run(command, check=True)
    return ""


@pytest.mark.rotates("long")
def test_the_tutorial_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    kinds = []
    for kind, body in _BLOCK.findall(PAGE):
        kinds.append(kind)
        if kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, _, expected = part.partition("\n")
                text = printed(shlex.split(line), monkeypatch)
                assert shows(expected, text), f"$ {line}\n{text}"
        elif kind == "toml":
            Path(body.split(":")[0].removeprefix("# ")).write_text(body)
        else:
            assert kind == "pycon"
            example = doctest.DocTestParser().get_doctest(body, {}, "tutorial", None, None)
            assert doctest.DocTestRunner().run(example).failed == 0
    assert {"console", "toml", "pycon"} <= set(kinds)


def test_three_dots_stand_for_lines_and_nothing_else() -> None:
    assert shows("a\n...\nc\n", "a\nb\nb\nc\n")
    assert shows("...\nc\n", "c\n")
    assert not shows("a\nc\n", "a\nb\nc\n")
    assert not shows("a\n", "a.\n")
    assert not shows("", "a\n")
