"""The multiplex paper's kernels with shorter access regions: proven, the same results, and where regions begin."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.memory import shared_memory
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.shorter import shorter_regions
from binalloc.pipeline.request import Request
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.shorten import Step, shortened
from binalloc.transform.shorten.unroll import written_out
from tests.support.paths import sample_file
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
NAMES = (
    "matrixVector", "fourierTransform", "marchingCubes", "slidingMD5", "scalarProducts", "histogram", "convolution",
    "matrixMultiply", "transpose", "reduction",
)  # fmt: skip


@cache
def sample(name: str) -> tuple[Module, Launch, list[Step]]:
    path = sample_file(f"{name}.ptx")
    launch = load_launch(path.with_suffix(".toml"), "test")
    module = import_ptx(path.read_text(), path.name, machine="t4").module
    return module, launch, shortened(module, launch.kernel, launch.block)


def regions(module: Module, launch: Launch) -> list[Region]:
    return access_regions(shared_memory(analyse(module, launch.kernel), launch.block))


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_samples_are_proven_and_leave_the_same(name: str) -> None:
    module, launch, steps = sample(name)
    made = shorter_regions(module, Request(launch.kernel, MACHINE, launch))
    assert made.unproven == ""
    assert made.module.function(launch.kernel).instrs == steps[-1].module.function(launch.kernel).instrs
    run = RunOptions(machine=MACHINE, check=True, race=True)
    expected = run_launch(schedule(module, MACHINE), launch.kernel, launch, run).buffers
    for step in steps:
        found = run_launch(schedule(step.module, MACHINE), launch.kernel, launch, run).buffers
        assert all(np.array_equal(found[b], expected[b]) for b in expected)


ROUNDS = {"matrixVector": [3, 3], "scalarProducts": [15, 1, 0], "convolution": [15]}
"""The last rounds of the loops with accesses whose rounds are known."""


@pytest.mark.rotates
@pytest.mark.parametrize("name", NAMES)
def test_loops_around_accesses_are_written_out(name: str) -> None:
    assert [last for step in sample(name)[2] for _, last in step.last] == ROUNDS.get(name, [])


@pytest.mark.rotates
@pytest.mark.parametrize(("name", "stores"), [
    ("matrixVector", 32), ("scalarProducts", 16), ("convolution", 16), ("marchingCubes", 72),
])  # fmt: skip
def test_regions_begin_with_all_their_stores(name: str, stores: int) -> None:
    """Nothing but stores and the next barrier, or load, comes first: everything else lies in front of the region."""
    _, launch, steps = sample(name)
    made = steps[-1].module
    code = made.function(launch.kernel).instrs
    region = regions(made, launch)[0]
    (begin,) = region.begins
    assert [instr.name for instr in code[begin.word : begin.word + stores + 1]][:stores] == ["STS"] * stores


def test_a_region_ends_behind_the_last_load_on_each_way() -> None:
    """In matrixVector whole tiles are loaded by straight code, others in a loop: behind it, nothing is held."""
    _, launch, steps = sample("matrixVector")
    (region,) = regions(steps[-1].module, launch)
    code = steps[-1].module.function(launch.kernel).instrs
    first = min(bound.word for bound in region.ends)
    assert [code[k].name for k in range(first - 32, first)] == ["LDS"] * 32
    assert all(code[start].name in ("LDS", "STS") for start, _ in region.spans[:1])


NESTED = """.kernel k
.param out, 8
.shared_bytes 1024
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R2, 0x0
outer:
    MOV R3, 0x0
inner:
    IADD3 R4, R2, R3, RZ
    IMAD R5, R2, 0x3, R3
    IMAD R5, R5, 0x80, R1
    STS.32 [R5], R4
    IADD3 R3, R3, 0x1, RZ
    ISETP.LT.AND P0, PT, R3, 0x3, PT
    @P0 BRA inner, done
done:
    IADD3 R2, R2, 0x1, RZ
    ISETP.LT.AND P0, PT, R2, 0x2, PT
    @P0 BRA outer, over
over:
    BAR.SYNC 0
    LDS.32 R6, [R1+0x280]
    MOV R8, c[0][out]
    MOV R9, c[0][out+0x4]
    IMAD.WIDE R8, R0, 0x4, R8
    STG.32 [R8], R6
    EXIT
.end
"""


def test_nested_loops_are_written_out_together() -> None:
    module = program(NESTED)
    first, late, last = shortened(module, "k", (32, 1, 1))
    assert first.last == ((3, 1), (4, 2))
    index = late.module.function("k").origin
    assert index is not None
    code = last.module.function("k").instrs
    at = [k for k, instr in enumerate(code) if instr.name == "STS"]
    barrier = next(k for k, instr in enumerate(code) if instr.name == "BAR")
    assert at == list(range(barrier - 6, barrier))
    assert not any(instr.name == "BRA" for instr in code)


def test_long_code_is_refused() -> None:
    module = program(NESTED)
    kernel = analyse(module, "k").kernel
    with pytest.raises(Refused, match="loops written out are too long"):
        written_out(module, kernel, {0: 5000})
