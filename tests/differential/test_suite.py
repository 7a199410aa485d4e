"""Every sample that comes as PTX: imported, run, rewritten for many budgets, checked and run again.

Samples are found, not listed: a new .ptx with its launch file and reference is covered from the next run on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.file import check_against, compare, load_launch, reference_outputs
from binalloc.launch.types import Array, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.paths import sample_file, sample_files

NAMES = tuple(p.stem for p in sample_files(".ptx"))


def turn(name: str) -> pytest.MarkDecorator:
    """All tests of a kernel, which is imported and run for all of them, take turns together."""
    return pytest.mark.rotates("kernels of the suites", name)


KERNELS = [pytest.param(name, marks=turn(name)) for name in NAMES]
GTX680 = load_machine("gtx680")
REGISTERS = (20, 24, 32, 40)
SLOTS = (0, 4, 16)
QUICK = {(20, 16), (32, 4)}


@dataclass(frozen=True)
class Sample:
    """module: as imported. expected: what the reference says. result: of the imported kernel's run."""

    name: str
    launch: Launch
    module: Module
    expected: dict[str, Array]
    result: Result


@cache
def sample(name: str) -> Sample:
    path = sample_file(f"{name}.ptx")
    launch = load_launch(path.with_suffix(".toml"), "test")
    module = read_module(write_module(import_ptx(path.read_text(), path.name, machine="gtx680").module))
    expected = reference_outputs(launch, launch.make_buffers())
    return Sample(name, launch, module, expected, emulate(module, launch))


def emulate(module: Module, launch: Launch) -> Result:
    check_against(launch, module.function(launch.kernel).info)
    return run(module, launch.kernel, launch, GTX680, max_cycles=5_000_000)


def differences(of: Sample, result: Result) -> list[str]:
    printed = of.result.printed.differs(result.printed)
    return [str(d) for d in compare(of.launch, of.expected, result.buffers)] + ([] if printed is None else [printed])


def test_the_suites_of_both_papers_are_here() -> None:
    unified = {"cfd", "dxtc", "FDTD3d", "hotspot", "imageDenoising", "particles", "recursiveGaussian", "heartwall"}
    multiplex = {
        "matrixVector", "fourierTransform", "marchingCubes", "slidingMD5", "scalarProducts",
        "histogram", "convolution", "matrixMultiply", "transpose", "reduction",
    }
    assert unified | multiplex <= set(NAMES)


@pytest.mark.parametrize("name", KERNELS)
def test_imported_kernel_leaves_what_the_reference_says(name: str) -> None:
    of = sample(name)
    assert differences(of, of.result) == []
    before = of.launch.make_buffers()
    assert any(not np.array_equal(of.result.buffers[b], before[b]) for b in of.expected)
    for buffer, data in before.items():
        if buffer not in of.expected:
            assert np.array_equal(of.result.buffers[buffer], data), f"{buffer} is an input"


@pytest.mark.parametrize("name", KERNELS)
def test_imported_kernel_reads_nothing_uninitialised_and_has_no_races(name: str) -> None:
    of = sample(name)
    run(of.module, of.launch.kernel, of.launch, GTX680, check=True)
    run(of.module, of.launch.kernel, of.launch, GTX680, race=True)


@pytest.mark.parametrize(
    ("name", "registers", "slots"),
    [
        pytest.param(name, *budget, marks=[turn(name)] if budget in QUICK else [turn(name), pytest.mark.full])
        for name in NAMES
        for budget in product(REGISTERS, SLOTS)
    ],
)
def test_rewritten_kernel_is_proven_and_leaves_the_same(name: str, registers: int, slots: int) -> None:
    of = sample(name)
    kernel = of.launch.kernel
    try:
        new = rewrite(of.module, kernel, registers, slots)
    except Infeasible:
        assert registers < minimum_registers(of.module, kernel, slots)
        return
    new = read_module(write_module(schedule(new, GTX680)))
    info = new.function(kernel).info
    assert info.registers <= registers
    assert info.slot_bytes <= 128 * slots
    report = check(of.module, new, kernel)
    assert report.ok, report.errors[:3]
    result = emulate(new, of.launch)
    assert differences(of, result) == []
    for buffer, data in of.result.buffers.items():
        assert np.array_equal(result.buffers[buffer].view(np.uint8), data.view(np.uint8)), f"{buffer}: other bits"
