"""Samples whose blocks can share memory two by two, and a GPU of one SM, which a small grid fills."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.paths import ROOT, sample_file


@dataclass(frozen=True)
class Shareable:
    """A kernel as a binary, the options of its launch, and a folder for what is made of it."""

    binary: str
    launch: list[str]
    folder: Path


def shareable(name: str, machine: str, folder: Path) -> Shareable:
    """A sample, imported for a machine, at its smallest size."""
    binary = str(folder / f"{name}.loom")
    answer = call("import-ptx", str(sample_file(f"{name}.ptx")), "--machine", machine, "-o", binary)
    assert answer.code == 0, answer.err
    launch = ["--launch", str(sample_file(f"{name}.toml")), "--size", "test", "--machine", machine]
    return Shareable(binary, launch, folder)


@pytest.fixture(scope="session")
def one_sm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sharing paper's machine with one SM."""
    given = (ROOT / "binalloc/models/machines/gpgpusim-sharing.toml").read_text()
    made = tmp_path_factory.mktemp("machine") / "one.toml"
    assert "sms = { value = 14," in given
    made.write_text(given.replace("sms = { value = 14,", "sms = { value = 1,"))
    return str(made)


@pytest.fixture(scope="package")
def srad(tmp_path_factory: pytest.TempPathFactory) -> Shareable:
    return shareable("SRAD2", "gpgpusim-sharing", tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="package")
def queens(tmp_path_factory: pytest.TempPathFactory) -> Shareable:
    """A kernel of which many values are live, so that few registers take slots."""
    return shareable("NQU", "gpgpusim-sharing", tmp_path_factory.mktemp("queens"))
