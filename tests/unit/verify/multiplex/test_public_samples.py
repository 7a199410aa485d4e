"""The multiplex paper's ten kernels, whose blocks get shared memory as they run, are proven; small damage is found."""

from __future__ import annotations

from functools import cache
from itertools import islice

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module, Origin
from binalloc.isa.kinds import Flow
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.public import Multiplexed, get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.check import check_public
from binalloc.verify.multiplex.division import Division
from binalloc.verify.report import CheckReport
from tests.support.pairs.multiplex.public_mutants import KINDS, items, put
from tests.support.paths import sample_file

MACHINE = load_machine("gtx680")
NAMES = (
    "matrixVector", "fourierTransform", "marchingCubes", "slidingMD5", "scalarProducts", "histogram", "convolution",
    "matrixMultiply", "transpose", "reduction",
)  # fmt: skip


@cache
def sample(name: str) -> tuple[Module, Launch, Multiplexed]:
    path = sample_file(f"{name}.ptx")
    launch = load_launch(path.with_suffix(".toml"))
    module = import_ptx(path.read_text(), path.name, machine="gtx680").module
    return module, launch, get_as_they_run(module, launch.kernel, launch.block)


def judged(name: str, made: Module | None = None, **other: int) -> CheckReport:
    module, launch, right = sample(name)
    parts = right.parts
    numbers = {"low": parts.low, "first": parts.first, "high": parts.high, "moved": parts.moved, **other}
    return check_public(module, made or right.module, launch.kernel, launch.block, Division(**numbers))


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_kernel_is_proven(name: str) -> None:
    report = judged(name)
    assert report.ok, str(report)


def left(name: str, module: Module) -> dict[str, np.ndarray]:
    """What the test launch leaves, with more blocks than memory."""
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    options = RunOptions(machine=MACHINE, check=True, race=True, sms=1, over=1)
    return dict(run_launch(schedule(module, MACHINE), launch.kernel, launch, options).buffers)


@pytest.mark.rotates("long")
@pytest.mark.parametrize("name", ["reduction", "matrixMultiply", "transpose"])
def test_mutants_of_small_kernels_are_rejected_or_run_alike(name: str) -> None:
    module, launch, made = sample(name)
    words = items(made.module.function(launch.kernel))
    expected, rejected = left(name, module), 0
    for change in KINDS.values():
        for mutant in islice(change(words, module.function(launch.kernel)), 4):
            wrong = put(made.module, launch.kernel, mutant)
            if not judged(name, wrong).ok:
                rejected += 1
                continue
            found = left(name, wrong)
            assert all(np.array_equal(expected[k], found[k]) for k in expected)
    assert rejected > len(KINDS)


@pytest.mark.parametrize("number", ["low", "first", "high", "moved"])
def test_wrong_division_is_found(number: str) -> None:
    parts = sample("matrixMultiply")[2].parts
    assert not judged("matrixMultiply", **{number: getattr(parts, number) + 16}).ok


def test_block_of_another_size_is_not_proven() -> None:
    module, launch, made = sample("matrixMultiply")
    parts = made.parts
    division = Division(parts.low, parts.first, parts.high, parts.moved)
    assert not check_public(module, made.module, launch.kernel, (32, 16, 1), division).ok


def test_finding_has_both_places_what_was_found_and_what_was_expected() -> None:
    module, launch, made = sample("reduction")
    words = items(made.module.function(launch.kernel))
    wrong = next(iter(KINDS["raw_address"](words, module.function(launch.kernel))))
    (error, *_) = judged("reduction", put(made.module, launch.kernel, wrong)).errors
    assert (error.function, error.origin_function) == ("RD", "RD")
    assert error.index >= error.origin_index >= 0
    assert error.expected
    assert error.found


@pytest.mark.parametrize("index", [[], [-1], [10_000], [0, 0]])
def test_hostile_map_is_refused(index: list[int]) -> None:
    _, launch, made = sample("reduction")
    fn = made.module.function(launch.kernel)
    before, fn.origin = fn.origin, Origin(launch.kernel, index * (len(fn.instrs) if len(index) == 1 else 1))
    try:
        assert not judged("reduction").ok
    finally:
        fn.origin = before


def test_original_that_already_gets_memory_is_refused() -> None:
    _, launch, made = sample("reduction")
    division = Division(16, 16, 528, 512)
    assert any(i.control == Flow.ALLOC for i in made.module.function(launch.kernel).instrs)
    assert not check_public(made.module, made.module, launch.kernel, launch.block, division).ok
