"""Examples in pages are what the commands print: each is run where its files lie, and what is shown compared.

A page's commands run in its order, so that one reads what another has written. CPU times are left out. The `.ptx`
beside a sample's `.cu` stands for nvcc.
"""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.kits.report.shown import shows
from tests.support.paths import ROOT, SAMPLES

PAGES = [ROOT / "README.md", ROOT / "docs/api.md", ROOT / "docs/regression.md"]
PAGES += sorted((ROOT / "docs/questions").glob("*.md"))
LEAST = 15
"""Examples whose output is shown, in all pages together."""
_BLOCK = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
_SECONDS = re.compile(r" +\d+\.\d\d$", re.MULTILINE)
_PYTHON = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[list[str], str]]:
    """Command and what is shown of its output, "" for nothing."""
    found = []
    for block in _BLOCK.findall(page.read_text()):
        text = "".join(line[4:] or "\n" for line in block.splitlines(keepends=True))
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, _, expected = part.replace("\\\n", " ").partition("\n")
            found.append((shlex.split(line, comments=True), expected.strip("\n")))
    return found


def without_seconds(text: str) -> str:
    """A table of CPU times in its last column, without that."""
    return "\n".join(_SECONDS.sub("", line) for line in text.strip("\n").splitlines())


def stand_for_nvcc(command: list[str]) -> None:
    """Write what nvcc would, of a source that a sample has."""
    (source,) = (Path(word) for word in command if word.endswith(".cu"))
    if source.exists():
        Path(command[command.index("-o") + 1]).write_bytes(source.with_suffix(".ptx").read_bytes())


WITH_COMMANDS = [page for page in PAGES if examples(page)]
CASES = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.rotates] if page.parent.name == "questions" else [])
    for page in WITH_COMMANDS
]
"""Each page with its name; those that answer questions have long commands, and take turns in `make test`."""


@pytest.mark.parametrize("page", CASES)
def test_examples_are_what_is_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    for command, expected in examples(page):
        if command[0] == "nvcc":
            stand_for_nvcc(command)
            continue
        assert command[0] == "binalloc"
        answer = call(*command[1:])
        assert answer.code == 0, answer.err
        if not expected:
            continue
        printed = answer.out
        if "CPU s" in printed:
            expected, printed = f"{without_seconds(expected)}\n...", without_seconds(printed)
        assert shows(expected, printed.strip("\n")), f"$ {shlex.join(command)}\n{printed}"


def test_pages_show_what_commands_print() -> None:
    """No page of this folder is left out because its examples are written in another way."""
    assert sum(bool(expected) for page in PAGES for _, expected in examples(page)) >= LEAST
    for page in PAGES:
        assert page.read_text().count("$ binalloc ") == sum(command[0] == "binalloc" for command, _ in examples(page))


@pytest.mark.rotates("long")
@pytest.mark.parametrize("page", [p for p in PAGES if _PYTHON.search(p.read_text())], ids=lambda page: page.stem)
def test_python_examples_give_what_they_show(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    parsed = doctest.DocTestParser().get_doctest("".join(_PYTHON.findall(page.read_text())), {}, page.stem, None, None)
    assert len(parsed.examples) >= 5
    assert doctest.DocTestRunner().run(parsed).failed == 0
