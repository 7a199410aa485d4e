"""A small kernel that gains from merged blocks, and the binary that `rewrite --multiplex` makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call
from tests.support.programs.chase import chase_files

MACHINE = ("--machine", "gtx285")


@dataclass(frozen=True)
class Taken:
    """The files of the kernel, the binary made of it, and what the command printed as JSON and as text."""

    binary: str
    launch: str
    program: str
    made: str
    found: Any
    out: str


@pytest.fixture(scope="package")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Taken:
    folder: Path = tmp_path_factory.mktemp("turns")
    binary, launch, program = chase_files(folder)
    made = str(folder / "made.loom")
    command = ["rewrite", binary, "--launch", launch, *MACHINE, "--auto", "--multiplex", "today"]
    return Taken(binary, launch, program, made, call(*command, "--json").json, call(*command, "-o", made).out)
