"""Timelines show when blocks of an SM use shared memory, as the multiplex paper draws it (Fig. 4)."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.frontend.importer import import_ptx
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import VTB, Wanted, build
from binalloc.pipeline.multiplex.timeline import COLUMNS, Shown, timelines
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Preparations, Request
from tests.support.kits.cli import call
from tests.support.paths import sample_file

pytestmark = pytest.mark.usefixtures("shared_versions")

MACHINE = load_machine("gtx285")
ACCESSES = ("LDS", "STS")


def shown(launch: Launch, merge: int | None) -> tuple[Shown, Request]:
    """FFT as it is, or merged, with a request for the original."""
    module = import_ptx(sample_file("fourierTransform.ptx").read_text(), machine=MACHINE).module
    request = Request("FFT", MACHINE, launch, options=RunOptions(machine=MACHINE))
    if merge is None:
        return Shown(baseline(module, request), launch), request
    built = build(module, request, Wanted(VTB, merge=merge))
    own = replace(request, launch=built.launch, prepared=Preparations())
    return Shown(baseline(built.module, own), built.launch, built.merge), request


def expected(one: Shown, merge: int, blocks: int, column: int) -> dict[int, str]:
    """The marks of each block, row by row of the log, by the names of instructions; two warps are a block."""
    names = {fn.address + k: i.name for fn in one.version.module.functions for k, i in enumerate(fn.instrs)}
    come: dict[int, int] = {}
    gone: dict[int, int] = {}
    acts: dict[int, dict[int, str]] = {}

    def receive(batch: Batch) -> None:
        for row in batch.rows:
            cycle, place = int(row[LogColumn.CYCLE]), int(row[LogColumn.CYCLE]) // column
            block = int(row[LogColumn.BLOCK]) * merge + int(row[LogColumn.IN_BLOCK]) // 2
            if row[LogColumn.KIND] == LogKind.BLOCK:
                for v in range(merge):
                    come[int(row[LogColumn.BLOCK]) * merge + v] = cycle
            elif row[LogColumn.KIND] == LogKind.WARP_END:
                gone[block] = max(gone.get(block, 0), cycle)
            elif row[LogColumn.KIND] == LogKind.ISSUE:
                marks = acts.setdefault(block, {})
                if names[int(row[LogColumn.PC])] in ACCESSES:
                    marks[place] = "#"
                else:
                    marks.setdefault(place, "=")

    log = IssueLog([Listener(receive)])
    run_launch(one.version.module, "FFT", one.launch, RunOptions(machine=MACHINE, log=log))
    return {
        b: "".join(
            " " if k < come[b] // column else acts[b].get(k, ".") for k in range(gone[b] // column + 1)
        )
        for b in range(blocks)
    }  # fmt: skip


@pytest.mark.rotates("long")
@pytest.mark.parametrize("axis", [0, 1])
def test_each_block_and_virtual_block_has_what_it_did(axis: int) -> None:
    launch = load_launch(sample_file("fourierTransform.toml"), "test")
    launch = replace(launch, grid=(3, 1, 1) if axis == 0 else (1, 3, 1))
    found = [shown(launch, merge) for merge in (None, 2)]
    drawn = timelines([one for one, _ in found], found[0][1])
    for (one, _), merge, lives in zip(found, (1, 2), drawn.lives, strict=True):
        assert [life.block for life in lives] == [0, 1, 2], "the merged blocks have a virtual block too many"
        assert {life.block: life.marks for life in lives} == expected(one, merge, 3, drawn.column)
    ends = [max(len(life.marks) for life in lives) for lives in drawn.lives]
    assert COLUMNS // 2 < max(ends) <= COLUMNS + 1


def test_no_more_than_eight_blocks_are_followed() -> None:
    launch = load_launch(sample_file("fourierTransform.toml"), "test")
    few = [a if a.name not in ("in", "out") else replace(a, shape=(10, *a.shape[1:])) for a in launch.arguments]
    launch = replace(launch, grid=(10, 1, 1), arguments=tuple(few))
    found = [shown(launch, merge) for merge in (None, 4)]
    drawn = timelines([one for one, _ in found], found[0][1])
    assert [[life.block for life in lives] for lives in drawn.lives] == [list(range(8))] * 2
    alone, together = ([life.marks for life in lives] for lives in drawn.lives)
    for first, second in pairwise(alone):
        assert len(first) - 1 <= len(second) - len(second.lstrip(" ")), "an SM holds one block"
    assert [len(marks) - len(marks.lstrip(" ")) for marks in together[:4]] == [0] * 4


@pytest.mark.rotates("long")
def test_the_command_draws_them() -> None:
    line = ["multiplex", str(sample_file("fourierTransform.ptx")), "--launch",
            str(sample_file("fourierTransform.toml")), "--size", "test", "--machine", "gtx285", "--scheme", "hw",
            "--regions", "as-is", "--timeline"]  # fmt: skip
    found = call(*line, "--json").json["timelines"]
    assert [one["version"] for one in found["versions"]] == ["the original", "hw"]
    for one in found["versions"]:
        assert [life["block"] for life in one["blocks"]] == [0, 1, 2]
        assert all(re.fullmatch(" *[.=#]+", life["marks"]) for life in one["blocks"])
    text = call(*line).out
    assert f"A column is {found['cycles_per_column']:,} cycles: # shared memory is accessed" in text
    for one in found["versions"]:
        drawn = "".join(f"{life['block']:>6} {life['marks']}\n" for life in one["blocks"])
        assert f"{one['version']}\n{drawn}" in text
    assert "timelines" not in call(*line[:-1], "--json").json
