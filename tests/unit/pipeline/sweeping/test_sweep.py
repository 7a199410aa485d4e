"""Sweeps: which configurations there are, what is run for them, and what rows say."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import UsageError
from binalloc.isa.sets.files import assemble, read_module, write_module
from binalloc.launch.file import load_launch, parse_launch
from binalloc.models.machines.budget import levels
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import Request, measure, rewrite_kernel
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.sweeping.configuration import UPWARDS, Subject
from binalloc.pipeline.sweeping.rows import COLUMNS, columns_of
from binalloc.pipeline.sweeping.tasks import Build, Judge, Run
from binalloc.report.shapes.commands.sweep import SweepRowJson
from binalloc.report.shapes.fields import fields_of
from binalloc.report.sweep import render_rows
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.sweeps import asked_of, subject, swept
from tests.support.paths import ROOT, sample_file

CLOCK = """.kernel clock
.param out, 8
.block 32, 1, 1
    S2R R0, SR_TID.X
    MOV R2, c[0][out]
    MOV R3, c[0][out+4]
    IMAD.WIDE R2, R0, 4, R2
    CS2R.32 R1, SR_CLOCKLO
    STG [R2], R1
    EXIT
.end
"""
RECURSIVE = """.kernel k
.param out, 8
.block 32, 1, 1
    MOV R2, c[0][out]
    MOV R3, c[0][out+4]
    STG [R2], RZ
    ISETP.NE P0, PT, RZ, RZ, PT
@P0 CALL f
    EXIT
.end
.func f
@P0 CALL f
    RET
.end
"""


def made(text: str, compare: Any = "exact", shape: int = 32) -> Subject:
    """A kernel with one buffer, launched once."""
    module = schedule(assemble(text), load_machine("gtx680"))
    kernel = module.kernels()[0].name
    argument = {"name": "out", "kind": "buffer", "dtype": "u32", "shape": shape, "init": "zeros", "compare": compare}
    launch = parse_launch({"kernel": kernel, "grid": 4, "block": 32, "argument": [argument]})
    return Subject("made", write_module(module), kernel, launch, load_machine("gtx680"))


@pytest.mark.rotates("long")
def test_levels_are_all_that_the_machine_holds_the_originals_own_and_those_below_it() -> None:
    one = subject("nbody")
    module = read_module(one.binary)
    budgets = levels(one.machine, kernel_use(module.function(one.kernel), one.launch))
    own = rewrite_kernel(module, Request(one.kernel, one.machine, one.launch, emulate=False, policy="unified")).original
    first, *others = asked_of(one, schedulers=("lrr",))
    assert (first.allocator, first.blocks, first.held) == ("original", None, False)
    assert [(c.blocks, c.registers, c.slots, c.allocator) for c in others] == [
        (b.blocks, b.registers, b.slots, name) for b in budgets for name in ("local", "best")
    ]
    assert [c.held for c in others] == [c.blocks < own.blocks_per_sm for c in others if c.blocks is not None]
    assert 1 < own.blocks_per_sm < budgets[-1].blocks
    upwards = asked_of(one, UPWARDS, schedulers=("lrr", "gto"))
    assert [c.options.scheduler for c in upwards if c.allocator == "original"] == ["lrr", "gto"]
    assert {c.blocks for c in upwards} - {None} == {b.blocks for b in budgets if b.blocks >= own.blocks_per_sm}


def test_below_the_originals_level_fewer_blocks_of_it_are_resident(tmp_path: Path) -> None:
    one = subject("stencil3d")
    rows, _, _ = swept(asked_of(one, (1, 2), allocators=("local", "best"), engine="numba"), tmp_path)
    plain = baseline(read_module(one.binary), Request(one.kernel, one.machine, one.launch))
    request = Request(one.kernel, one.machine, one.launch)
    original, held = measure(plain, request), measure(plain, request, blocks=1)
    assert held.cycles != original.cycles
    assert rows[0].cycles == original.cycles
    assert [row.allocator for row in rows] == ["original", *["local", "best"] * 2]
    for row in rows[1:3]:
        assert (row.program, row.blocks, row.blocks_per_sm, row.proven) == ("original", 1, 1, None)
        assert (row.cycles, row.occupancy) == (held.cycles, original.occupancy / 2)
        assert row.speedup == round((original.cycles or 0) / (held.cycles or 1), 4)
    assert [row.proven for row in rows[3:]] == [True, True]
    assert {row.same_results for row in rows} == {True}


@pytest.mark.rotates("long")
def test_rows_have_what_rewrite_has(tmp_path: Path) -> None:
    one = subject("nbody")
    asked = asked_of(one, (6,), allocators=("best",), engine="numba")
    (first, told), _, _ = swept(asked, tmp_path)
    outcome = rewrite_kernel(read_module(one.binary), Request(one.kernel, one.machine, one.launch, blocks=6))
    version, original = outcome.rewritten, outcome.given
    assert original.cycles is not None
    assert version.cycles is not None
    assert (first.cycles, first.instruction_change, first.proven) == (original.cycles, 1, None)
    assert version.slots
    assert version.local_bytes
    named = ("cycles", "registers", "slots", "local_bytes", "blocks_per_sm", "instructions")
    assert [getattr(told, name) for name in named] == [getattr(version, name) for name in named]
    assert told.speedup == round(outcome.given.cycles / version.cycles, 4)  # over the input, in whatever order
    assert told.instruction_change == round(version.instructions / original.instructions, 4)
    stats = version.stats
    assert told.spill_accesses == stats["spill_accesses"]
    assert told.slot_accesses == stats["spill_shared_loads"] + stats["spill_shared_stores"] > 0
    assert told.local_accesses == stats["spill_accesses"] - told.slot_accesses > 0
    slots = sum(stats["stalls"].values()) + stats["issue_slots"]
    assert told.stalls["scoreboard"] == round(stats["stalls"]["scoreboard"] / slots, 6) > 0
    assert list(columns_of(told)) == [column.name for column in COLUMNS]


@pytest.mark.rotates("long")
def test_one_program_with_as_many_blocks_is_run_once(tmp_path: Path) -> None:
    """callchain fits at every level: all that allocators make of it are two programs."""
    asked = asked_of(subject("callchain"), allocators=("local", "unified", "best"), schedulers=("lrr", "gto"))
    rows, executor, tally = swept(asked, tmp_path)
    assert len({task.key for task in executor.tasks}) == len(executor.tasks) == tally.done
    runs = [task for task in executor.tasks if isinstance(task, Run)]
    programs = {(row.program, row.blocks_per_sm, row.scheduler) for row in rows}
    assert len(runs) == len(programs) < len(rows)
    assert sum(isinstance(task, Build) for task in executor.tasks) == 4
    seen: dict[object, object] = {}
    for row in rows:
        figures = [row.cycles, row.registers, row.stalls.get("scoreboard"), row.spill_accesses]
        assert seen.setdefault((row.program, row.blocks_per_sm, row.scheduler), figures) == figures


def test_what_does_not_fit_is_infeasible_and_says_why(tmp_path: Path) -> None:
    rows, _, _ = swept(asked_of(subject("callchain"), (8, 9), allocators=("local",)), tmp_path)
    assert [row.status for row in rows] == ["ok", "ok", "infeasible"]
    assert rows[2].reason == "gtx680 has no room at once for 9 blocks of 256 threads"
    assert (rows[2].cycles, rows[2].program, rows[2].registers_allowed) == (None, None, None)
    one = asked_of(subject("callchain"), (8,), allocators=("best",))
    tight = [one[0], replace(one[1], registers=3)]
    rows, executor, _ = swept(tight, tmp_path)
    assert [row.status for row in rows] == ["ok", "infeasible"]
    assert "registers cannot hold" in str(rows[1].reason)
    assert rows[1].original_cycles == rows[0].cycles
    assert not any(isinstance(task, Run) for task in executor.tasks)


def test_a_kernel_that_cannot_be_rewritten_still_has_its_original(tmp_path: Path) -> None:
    rows, _, _ = swept(asked_of(made(RECURSIVE), (1, 16), allocators=("local",)), tmp_path)
    assert [row.status for row in rows] == ["ok", "ok", "refused"]
    reason = "recursion: the depth of the call stack is not known statically"
    assert [row.reason for row in rows] == ["", f"the original as it is: {reason}", reason]
    text = render_rows(rows)
    assert text.endswith(f"\nk on gtx680, at 1: the original as it is: {reason}\nk on gtx680, local at 16: {reason}\n")


def test_a_block_that_no_sm_has_room_for_gives_one_row(tmp_path: Path) -> None:
    one = subject("callchain")
    wide = replace(one, launch=replace(one.launch, block=(1024, 1, 1), dynamic_shared=1 << 20))
    rows, _, _ = swept(asked_of(wide), tmp_path)
    assert [(row.status, row.reason) for row in rows] == [("refused", "no block fits on an SM of gtx680")]


def test_limits_and_faults_are_rows(tmp_path: Path) -> None:
    rows, _, _ = swept(asked_of(subject("callchain"), (8,), max_cycles=2000, allocators=("best",)), tmp_path)
    assert [row.status for row in rows] == ["limit", "ok"]
    assert rows[0].reason == "the kernel did not end within the cycle limit"
    assert (rows[1].speedup, rows[1].same_results, rows[1].original_cycles) == (None, None, None)
    assert rows[1].cycles == 1684
    rows, _, _ = swept(asked_of(made(CLOCK, shape=2), (1,), allocators=("best",)), tmp_path)
    assert {row.status for row in rows} == {"fault"}
    assert all(row.reason and row.registers for row in rows)


@pytest.mark.parametrize(("tolerance", "same"), [(1_000_000, True), (0, False)])
def test_other_bits_within_a_tolerance_are_the_same(tmp_path: Path, tolerance: int, same: bool) -> None:
    """What the clock says hangs on how many blocks are resident."""
    one = made(CLOCK.replace("S2R R0", "MOV R4, 1\n    S2R R0"), {"atol": tolerance})
    rows, executor, _ = swept(asked_of(one, (1,), allocators=("best",)), tmp_path)
    assert [row.same_results for row in rows] == [True, same]
    assert sum(isinstance(task, Judge) for task in executor.tasks) == 1
    ignored, executor, _ = swept(asked_of(made(CLOCK, "ignore"), (1,)), tmp_path)
    assert {row.same_results for row in ignored} == {True}
    assert not any(isinstance(task, Judge) for task in executor.tasks)
    exact, executor, _ = swept(asked_of(made(CLOCK), (1,), allocators=("best",)), tmp_path)
    assert [row.same_results for row in exact] == [True, False]


OTHER_RUNS = ({"scheduler": "gto"}, {"blocks_per_sm": 1}, {"max_cycles": 7}, {"sms": 2}, {"check": True}, {"skew": 1})


def test_keys_change_with_contents_not_with_names(tmp_path: Path) -> None:
    one = subject("callchain")
    key = Build(one).key
    run = Run(one, "AAAA", RunOptions(engine="python"))
    assert Build(replace(one, file="elsewhere.loom")).key == key
    assert Build(replace(one, launch=replace(one.launch, path="elsewhere.toml"))).key == key
    others = [
        Build(replace(one, binary=one.binary + b"\0")),
        Build(replace(one, launch=replace(one.launch, grid=(4, 1, 1)))),
        Build(replace(one, machine=load_machine("c2075"))),
        Build(one, "best"),
        Build(one, slots=1),
        *(replace(run, **changed) for changed in ({}, {"program": "AAAB"})),
        *(replace(run, options=replace(run.options, **changed)) for changed in OTHER_RUNS),
    ]
    assert len({key, *(task.key for task in others)}) == len(others) + 1
    shutil.copy(sample_file("callchain.toml"), tmp_path / "x.toml")
    text = (tmp_path / "x.toml").read_text().replace('init = "zeros"', 'init = { file = "x.npy" }')
    (tmp_path / "x.toml").write_text(text)
    keys = []
    for value in (0, 1):
        np.save(tmp_path / "x.npy", np.full(1000, value, "<f4"))
        keys.append(Build(replace(one, launch=load_launch(tmp_path / "x.toml", "test"))).key)
    assert keys[0] != keys[1]
    (tmp_path / "x.npy").unlink()
    with pytest.raises(UsageError, match="cannot read the file"):
        _ = Build(replace(one, launch=load_launch(tmp_path / "x.toml", "test"))).key


def test_the_page_has_every_column_in_order() -> None:
    page = (ROOT / "binalloc/report/SWEEP.md").read_text().split("## Columns")[1].split("\n## ")[0]
    columns = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert [name for name, _ in columns] == [column.name for column in COLUMNS]
    assert columns == [(field.name, field.meaning) for field in fields_of(SweepRowJson)]
