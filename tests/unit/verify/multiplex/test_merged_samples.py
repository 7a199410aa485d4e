"""The multiplex paper's ten kernels, merged by two and four blocks, are proven; small damage is found."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module, Origin
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import Merged, merge_blocks
from binalloc.transform.multiplex.split import Split, private_bytes
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.report import CheckReport
from binalloc.verify.shorten.exits import check_late_exits
from tests.support.pairs.multiplex.merged_mutants import KINDS
from tests.support.pairs.multiplex.public_mutants import items, put
from tests.support.paths import sample_file
from tests.unit.verify.multiplex.test_public_samples import MACHINE, NAMES, sample


@cache
def merged(name: str, count: int) -> tuple[Module, Launch, Merged]:
    module, launch, _ = sample(name)
    axis = max(range(3), key=lambda k: launch.grid[k])
    return module, launch, merge_blocks(module, launch.kernel, launch.block, count, axis)


CUTS = {"marchingCubes": "vertices=16", "slidingMD5": "staged=80/16256", "histogram": "counters=16/32"}
"""The three kernels to which the paper applied CO-VTB (section 6), each with a cut."""


@cache
def copied(name: str, count: int) -> tuple[Module, Launch, Merged]:
    """A kernel whose virtual blocks have copies of private bytes."""
    given, launch, _ = sample(name)
    module = with_late_exits(given, launch.kernel, launch.block)
    memory = shared_memory(analyse(module, launch.kernel), launch.block)
    private = private_bytes(memory, [Split.parse(CUTS[name])])
    return module, launch, merge_blocks(module, launch.kernel, launch.block, count, private=private)


def judged(name: str, count: int, made: Module | None = None) -> CheckReport:
    module, launch, right = merged(name, count)
    merge = right.merge
    return check_merged(module, made or right.module, launch.kernel, merge.block, merge.count, merge.axis)


ENDING = ("marchingCubes", "transpose")
"""Kernels in which warps may end right behind accesses to shared memory, in a region: by ISA.md's memory model no
barrier orders these accesses and those of the virtual block whose turn is next."""


@pytest.mark.rotates
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_merged_kernel_is_proven(name: str, count: int) -> None:
    report = judged(name, count)
    if name in ENDING:
        assert {error.kind for error in report.errors} == {"ended"}, str(report)
    else:
        assert report.ok, str(report)


@pytest.mark.parametrize("name", ENDING)
def test_merged_kernel_is_proven_if_threads_end_behind_their_region(name: str) -> None:
    given, launch, _ = sample(name)
    module = with_late_exits(given, launch.kernel, launch.block)
    assert check_late_exits(given, module, launch.kernel).ok
    axis = max(range(3), key=lambda k: launch.grid[k])
    for count in (2, 4):
        made = merge_blocks(module, launch.kernel, launch.block, count, axis)
        report = check_merged(module, made.module, launch.kernel, launch.block, count, axis)
        assert report.ok, str(report)


@pytest.mark.rotates
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", CUTS)
def test_merged_kernel_with_private_copies_is_proven(name: str, count: int) -> None:
    module, launch, made = copied(name, count)
    report = check_merged(module, made.module, launch.kernel, launch.block, count, 0)
    assert report.ok, str(report)
    fn = made.module.function(launch.kernel)
    small = replace(fn, info=replace(fn.info, shared_bytes=made.copies.size - 4))
    wrong = replace(made.module, functions=[small if each is fn else each for each in made.module.functions])
    report = check_merged(module, wrong, launch.kernel, launch.block, count, 0)
    assert {error.kind for error in report.errors} == {"address"}


def test_copies_of_another_number_of_blocks_are_not_proven() -> None:
    module, launch, made = copied("histogram", 2)
    for count, axis in ((3, 0), (1, 0), (2, 1)):
        assert not check_merged(module, made.module, launch.kernel, launch.block, count, axis).ok


def left(module: Module, launch: Launch) -> dict[str, np.ndarray] | None:
    """What a launch leaves; None where it stops."""
    options = RunOptions(machine=MACHINE, check=True, race=True, sms=1, max_cycles=2_000_000)
    try:
        return dict(run_launch(schedule(module, MACHINE), launch.kernel, launch, options).buffers)
    except BinallocError:
        return None


@pytest.mark.rotates("long")
@pytest.mark.parametrize("name", ["reduction", "matrixMultiply"])
def test_mutants_of_merged_kernels_are_rejected_or_run_alike(name: str) -> None:
    module, _, made = merged(name, 2)
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    words = items(made.module.function(launch.kernel))
    expected, rejected = left(module, launch), 0
    assert expected is not None
    for kind, change in KINDS.items():
        for mutant in islice(change(words, module.function(launch.kernel)), 3):
            wrong = put(made.module, launch.kernel, mutant)
            if not judged(name, 2, wrong).ok:
                rejected += 1
                continue
            found = left(wrong, made.merge.launch(launch))
            assert found is not None, kind
            assert all(np.array_equal(expected[k], found[k]) for k in expected), kind
    assert rejected > len(KINDS)


@pytest.mark.parametrize("change", ["count", "axis", "block"])
def test_another_merge_is_not_proven(change: str) -> None:
    module, launch, made = merged("matrixMultiply", 2)
    count, axis, block = made.merge.count, made.merge.axis, made.merge.block
    given = {"count": (block, 4, axis), "axis": (block, count, 0), "block": ((32, 16, 1), count, axis)}[change]
    assert not check_merged(module, made.module, launch.kernel, *given).ok


@pytest.mark.parametrize("index", [[], [-1], [10_000], [0, 0]])
def test_hostile_map_of_merged_blocks_is_refused(index: list[int]) -> None:
    _, launch, made = merged("reduction", 2)
    fn = made.module.function(launch.kernel)
    before, fn.origin = fn.origin, Origin(launch.kernel, index * (len(fn.instrs) if len(index) == 1 else 1))
    try:
        assert not judged("reduction", 2).ok
    finally:
        fn.origin = before


def test_finding_names_the_virtual_blocks() -> None:
    module, launch, made = merged("matrixMultiply", 2)
    words = items(made.module.function(launch.kernel))
    reports = [
        judged("matrixMultiply", 2, put(made.module, launch.kernel, mutant))
        for mutant in KINDS["no_barrier"](words, module.function(launch.kernel))
    ]
    races = [error for report in reports for error in report.errors if error.kind == "race"]
    assert races
    assert all("virtual blocks 0 and 1" in error.found for error in races)
    assert all(error.function == launch.kernel for error in races)


@pytest.mark.parametrize(
    ("field", "value"),
    [("params", []), ("shared_bytes", 4), ("max_threads", 64), ("block", (128, 1, 1)), ("registers", 1)],
)
def test_record_of_merged_blocks_must_fit(field: str, value: object) -> None:
    _, launch, made = merged("reduction", 2)
    fn = made.module.function(launch.kernel)
    wrong = replace(fn, info=replace(fn.info, **{field: value}))
    report = judged("reduction", 2, replace(made.module, functions=[wrong]))
    assert ("address" if field == "shared_bytes" else "resources") in {error.kind for error in report.errors}
