"""`run --smm` and `run --over`: what they change, what they refuse, and the exit codes of faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, refused
from tests.support.kits.emulator.public import kernel, ready, section

LAUNCH = """
kernel = "k"
grid = 8
block = 64

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 512
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.toml").write_text(LAUNCH)
    return tmp_path


def line(folder: Path, body: str, *options: str, private: int = 0) -> list[str]:
    from binalloc.isa.sets.files import write_module

    (folder / "k.loom").write_bytes(write_module(ready(kernel(body, private=private))))
    files = [str(folder / "k.loom"), "--launch", str(folder / "k.toml")]
    return ["run", *files, "--machine", "gtx285", "--engine", "python", *options]


def ran(folder: Path, body: str, *options: str) -> Any:
    answer = call(*line(folder, body, *options), "--json")
    assert answer.code == 0, answer.err
    return answer.json


def test_management_and_the_limit_beyond_it(folder: Path) -> None:
    body = section("8376")
    found = {o: ran(folder, body, *o) for o in ((), ("--over", "1"), ("--smm", "static"), ("--over", "0"))}
    assert [f["blocks_per_sm"] for f in found.values()] == [8, 2, 1, 1]
    stats = [f["stats"] for f in found.values()]
    assert [s["shared_allocations"] for s in stats] == [8, 8, 0, 8]
    assert [s["shared_waits"] > 0 for s in stats] == [True, True, False, False]
    assert [s["stalls"]["shared_full"] > 0 for s in stats] == [True, True, False, False]
    text = call(*line(folder, body)).out
    assert "waits for shared memory that other blocks hold" in text
    assert "shared_wait_cycles" in text


def test_what_is_refused(folder: Path) -> None:
    unknown = "    MOV R11, 0x400\n" + section("R11")
    found = refused(1, *line(folder, unknown, "--smm", "static"))
    assert "the shared memory that BAR.ALLOC asks for is not known before the launch" in found
    assert "Give the size of BAR.ALLOC as an immediate." in found
    assert "--over" in refused(1, *line(folder, unknown, "--over", "1"))
    assert refused(1, *line(folder, section("0x4000"), private=512)).count("no block fits on an SM of gtx285") == 1
    assert call(*line(folder, unknown, "--over", "-1")).code == 2
    assert call(*line(folder, unknown, "--smm", "none")).code == 2


def test_faults_have_exit_code_5(folder: Path) -> None:
    nested = "    BAR.ALLOC R5, 0x800\n    BAR.ALLOC R6, 0x800\n"
    answer = call(*line(folder, nested))
    assert answer.code == 5
    assert "shared memory is allocated by a block that holds some" in answer.err
    assert "k+8 `BAR.ALLOC R6, 0x800`, SM 0, block 0, warp" in answer.err
