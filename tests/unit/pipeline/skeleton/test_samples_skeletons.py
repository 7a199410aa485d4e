"""Skeletons of all samples beside their launch files: kinds are those of the files, dtypes mostly, and most run.

What code cannot tell: bytes that are read four at once (`u8` in the files), the sign of numbers that are only added and
stored, types of values that are only moved. What a skeleton cannot run without: contents of a certain form, and the
shape of a block with three axes.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault, LimitHit
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Function, Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import check_against, load_launch
from binalloc.launch.program.schema import parse_program
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.skeleton.program import skeleton
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.report.skeleton.text import launch_text
from tests.support.paths import SAMPLES, sample_file, sample_files

MACHINE = load_machine("gtx680")
FILES = [path for ending in (".loom", ".ptx") for path in sample_files(ending)]
FAULTS = {
    "chase_constant", "chase_global",  # follow links in memory
    "bplustree", "heartwall_128",  # need sorted keys, and points inside a picture
    "libor",  # walks through a buffer in loops that are longer than what of the code is followed
    "pgain",  # has as many dimensions as a shared array has room for, which no code says
    "DCT1", "DCT2", "DCT1_64x32", "DCT2_64x32",  # need a block of three axes, of which the code states only the product
}  # fmt: skip
"""Samples whose skeletons end in a fault."""
LONG = {"mum"}
"""Samples whose skeletons run for too long: mum's threads have a thousand rounds of bytes that are not side by side."""
DTYPES_ALIKE = 0.88


@cache
def module_of(path: Path) -> Module:
    return import_ptx(path.read_text(), path.name, machine="gtx680").module if path.suffix == ".ptx" else load(path)


@cache
def pair(path: Path) -> tuple[Function, Launch, Launch]:
    """The kernel, its launch file, and the skeleton's launch."""
    real, module = load_launch(path.with_suffix(".toml")), module_of(path)
    fn = find_kernel(module, real.kernel)
    made = parse_launch(tomllib.loads(launch_text(skeleton(module, fn.name, MACHINE))))
    return fn, real, made


@pytest.mark.rotates
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kinds_are_those_of_the_launch_file(path: Path) -> None:
    fn, real, made = pair(path)
    check_against(made, fn.info)
    names = [p.name for p in fn.info.params]
    theirs, ours = real.bind(names), made.bind(names)
    assert {n: ours[n].kind for n in names} == {n: theirs[n].kind for n in names}


@pytest.mark.rotates("long")
def test_most_dtypes_are_those_of_the_launch_file() -> None:
    alike = total = 0
    for path in FILES:
        fn, real, made = pair(path)
        names = [p.name for p in fn.info.params]
        theirs, ours = real.bind(names), made.bind(names)
        same = [ours[n].dtype == theirs[n].dtype for n in names if theirs[n].kind != "struct"]
        alike, total = alike + sum(same), total + len(same)
    assert total > 250
    assert alike >= DTYPES_ALIKE * total, (alike, total)


@pytest.mark.rotates
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_skeletons_run(path: Path) -> None:
    fn, _, made = pair(path)
    if path.stem in FAULTS | LONG:
        with pytest.raises(KernelFault if path.stem in FAULTS else LimitHit):
            run(module_of(path), fn.name, made, MACHINE, max_cycles=5_000_000)
    else:
        result = run(module_of(path), fn.name, made, MACHINE, max_cycles=5_000_000)
        assert result.stats["blocks"] == made.blocks if "blocks" in result.stats else result.cycles > 0


@pytest.mark.rotates
@pytest.mark.parametrize("path", sorted((SAMPLES / "programs").glob("*.ptx")), ids=lambda path: path.name)
def test_programs_have_a_step_for_each_kernel(path: Path) -> None:
    module = module_of(path)
    made = skeleton(module, None, MACHINE, sequence=True)
    program = parse_program(tomllib.loads(launch_text(made)))
    assert list(program.kernels) == [k.name for k in module.kernels()]


def test_a_skeleton_is_the_same_every_time() -> None:
    module = module_of(sample_file("cfd.ptx"))
    texts = {launch_text(skeleton(module, None, MACHINE)) for _ in range(2)}
    assert len(texts) == 1
