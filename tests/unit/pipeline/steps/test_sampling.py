"""Runs of parts of a large grid: what they run, what is estimated from them, and where there is no estimate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from binalloc import assemble
from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault, UsageError
from binalloc.launch.schema import parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.advice.recommend import recommend
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.sampling import PARTS, WAVES, sample

MARK = """.kernel k
.param out, 8
.registers 40
.block 64
    S2R R4, SR_CTAID.X
    MOV R2, 4
    IMAD.WIDE R2, R4, R2, c[0][out]
    LDG R5, [R2]
    IADD3 R5, R5, R4, RZ
    IADD3 R5, R5, 1, RZ
    STG [R2], R5
    EXIT
.end
"""
"""Block b leaves b + 1."""
LAST_FIRST = """.kernel k
.param out, 8
.registers 8
.block 64
    S2R R4, SR_CTAID.X
    MOV R2, 0
    IMAD.WIDE R2, R2, R2, c[0][out]
    ISETP.EQ.AND P0, PT, R4, 0, PT
    MOV R6, 1
    @P0 STG [R2], R6
wait:
    LDG.CV R5, [R2]
    ISETP.EQ.AND P1, PT, R5, 0, PT
    @P1 BRA wait, uniform
    EXIT
.end
"""
"""All blocks wait for the first."""


def launch(blocks: int) -> Any:
    buffer = {"name": "out", "kind": "buffer", "dtype": "u32", "shape": [blocks], "init": "zeros"}
    return parse_launch({"kernel": "k", "grid": blocks, "block": 64, "argument": [buffer]})


def request(blocks: int, **more: Any) -> Request:
    return Request(kernel="k", machine="gtx680", launch=launch(blocks), **more)


def test_only_those_blocks_run_and_see_the_whole_grid() -> None:
    asked = request(100)
    module = baseline(assemble(MARK), asked).module
    result = run(module, "k", launch(100), load_machine("gtx680"), engine="python", only=range(40, 60))
    expected = np.where((np.arange(100) >= 40) & (np.arange(100) < 60), np.arange(100) + 1, 0)
    assert (result.buffers["out"] == expected).all()
    assert not result.partial


@pytest.mark.parametrize("only", [range(0), range(5, 5), range(90, 101), range(-1, 4), range(0, 10, 2)])
def test_what_is_no_part_of_the_grid_is_refused(only: range) -> None:
    module = baseline(assemble(MARK), request(100)).module
    with pytest.raises(UsageError, match="no blocks of the grid"):
        run(module, "k", launch(100), load_machine("gtx680"), engine="python", only=only)


def test_a_grid_of_equal_blocks_takes_what_its_parts_say() -> None:
    asked = request(4000)
    version = baseline(assemble(MARK), asked)
    whole, parts = measure(version, asked), measure(version, replace(asked, sampled=True))
    assert parts.sampled is not None
    assert parts.sampled.blocks == PARTS * WAVES * version.blocks_per_sm < 4000 / 3
    assert parts.sampled.error < 0.01
    assert parts.cycles == pytest.approx(whole.cycles, rel=0.02)
    assert same_results(asked, whole, whole)
    assert same_results(asked, whole, parts) is None


def test_a_small_grid_is_run_whole() -> None:
    asked = request(500, sampled=True)
    version = measure(baseline(assemble(MARK), asked), asked)
    assert version.sampled is None
    assert version.buffers["out"][499] == 500


def test_where_blocks_wait_for_others_all_are_run() -> None:
    asked = request(4000, sampled=True, max_cycles=2_000_000)
    version = measure(baseline(assemble(LAST_FIRST), asked), asked)
    assert version.sampled is None
    assert version.cycles is not None


def drawn(cycles: dict[range, int]) -> Any:
    return lambda only: SimpleNamespace(cycles=cycles[only], stats={"of": only}, counts={"of": only})


def test_the_estimate_by_hand() -> None:
    """16 blocks a part; 10 cycles to begin and end, 3 a block in the middle, 2 and 4 at the ends."""
    grid = 1000
    runs = {range(16): 42, range(500, 516): 58, range(984, 1000): 74, range(500, 532): 106}
    found = sample(drawn(runs), 1, grid)
    assert found is not None
    assert found.cycles == 10 + 3 * grid
    assert found.error == pytest.approx(1000 / 3010)
    assert (found.blocks, found.grid) == (80, 1000)
    assert found.stats == {"of": range(500, 532)}
    assert sample(drawn(runs), 1, 3 * 80 - 1) is None


def test_faults_are_left_to_the_whole_run() -> None:
    def faults(_: range) -> Any:
        raise KernelFault("out of bounds")

    assert sample(faults, 1, 1000) is None


def test_what_a_recommendation_says_of_it() -> None:
    asked = request(4000, sampled=True, policy="measured")
    found = recommend(assemble(MARK), asked)
    assert found.outcome.error is not None
    assert found.outcome.same_results is None
    assert found.outcome.verified
    assert any("estimated from runs of" in note.text for note in found.notes)
    exact = rewrite_kernel(assemble(MARK), replace(asked, sampled=False))
    assert exact.error is None
    assert exact.speedup == pytest.approx(found.outcome.speedup, rel=0.02)
