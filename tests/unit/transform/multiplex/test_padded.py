"""Blocks that are not of whole warps are merged: each thread finds the place in block, warp and grid that it had, and
the lanes that it had beside it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Flow
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, Merged, merge_blocks
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.merged.check import check_merged
from tests.support.generator.transform.exchanges import PARTIAL, PLACES
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
LANES = 32
BLOCKS = (*PARTIAL, (31, 1, 1), (1, 1, 33), (127, 1, 1), (1, 100, 1), (5, 25, 1), (11, 1, 11), (2, 2, 2))
GRID = (3, 5, 1)
LANES_TOLD = (
    "VOTE.ANY R20, P6, PT", "MATCH.ANY P6, R20, R0", "SHFL.DOWN P6, R20, R4, 0x1, 0x1f", "VOTE.ALL R20, P6, P5",
)  # fmt: skip
"""What a thread is told of its lanes."""
GUARDED = ("@P5 S2R R20, SR_TID.Y", "@P5 S2R R20, SR_TID.X", "@!P5 S2R R20, SR_TID.Z", "@!P5 S2R R20, SR_NTID.Z")
"""What only some threads are told."""
WORDS = len(PLACES) + len(LANES_TOLD) + len(GUARDED) + 1  # that a thread writes


@cache
def asking(block: tuple[int, int, int], *, guarded: bool = True) -> Module:
    """Return a kernel whose threads write out what they are told, and what another thread of the block has stored.
    guarded: some are told what others are not."""
    x, y, _ = block
    threads = math.prod(block)
    told = [*(f"S2R R20, SR_{name}" for name in PLACES), *LANES_TOLD, "LDS.32 R20, [R6]", *(GUARDED if guarded else ())]
    lines = "\n".join(
        line for k, ask in enumerate(told) for line in ("MOV R20, 0x63", ask, f"STG.32 [R2+{4 * k:#x}], R20")
    )
    return program(f""".kernel k
.param out, 8
.shared_bytes {4 * threads}
    S2R R7, SR_CTAID.X
    S2R R8, SR_CTAID.Y
    IMAD R7, R8, {GRID[0]:#x}, R7
    S2R R10, SR_TID.Z
    S2R R11, SR_TID.Y
    S2R R4, SR_TID.X
    IMAD R11, R10, {y:#x}, R11
    IMAD R4, R11, {x:#x}, R4
    IMAD R0, R7, {threads:#x}, R4
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD R12, R0, {WORDS:#x}, RZ
    IMAD.WIDE R2, R12, 0x4, R2
    ISETP.LT.AND P5, PT, R4, {max(threads // 2, 1):#x}, PT
    SHF.L.U32 R5, R4, 0x2, RZ
    IADD3 R6, -R5, {4 * threads - 4:#x}, RZ
    STS.32 [R5], R0
    BAR.SYNC 0
{lines}
    EXIT
.end
""")


def launch_of(block: tuple[int, int, int]) -> Launch:
    words = math.prod(GRID) * math.prod(block) * WORDS
    return Launch("k", GRID, block, 0, (Argument("out", "buffer", "u32", (words,)),))


def ran(module: Module, launch: Launch, **options: object) -> Result:
    given = RunOptions(machine=MACHINE, **options)  # type: ignore[arg-type]
    return run_launch(schedule(module, MACHINE), "k", launch, given)


@cache
def expected(block: tuple[int, int, int]) -> np.ndarray:
    return ran(asking(block), launch_of(block)).buffers["out"]


def merged(block: tuple[int, int, int], count: int, order: str = TURNS, axis: int = 1) -> Merged:
    return merge_blocks(asking(block), "k", block, count, axis, order=order)


@pytest.mark.rotates
@pytest.mark.parametrize("count", range(2, 9))
@pytest.mark.parametrize("block", BLOCKS)
def test_threads_are_told_the_same(block: tuple[int, int, int], count: int) -> None:
    orders = [TURNS, *([PIPED] if count == 2 else []), *([HANDED] if count < 8 else [])]
    for order in orders:
        made = merged(block, count, order, count % 2)
        if made.merge.padded * count > MACHINE.limits.threads_per_block:
            continue
        found = ran(made.module, made.merge.launch(launch_of(block)), check=True, race=True)
        assert np.array_equal(found.buffers["out"], expected(block)), order


@pytest.mark.rotates
@pytest.mark.parametrize(("block", "count", "order"), [
    ((10, 10, 1), 3, TURNS), ((7, 3, 5), 2, PIPED), ((33, 1, 1), 5, HANDED), ((1, 1, 1), 8, TURNS),
])  # fmt: skip
def test_engines_and_modes_agree(block: tuple[int, int, int], count: int, order: str) -> None:
    made = merged(block, count, order)
    launch = made.merge.launch(launch_of(block))
    runs = [ran(made.module, launch, **options) for options in ({}, {"engine": "python"}, {"reference": True})]
    for each in runs:
        assert np.array_equal(each.buffers["out"], expected(block))
        assert each.stats == runs[0].stats


def test_the_merged_block_has_one_dimension() -> None:
    made = merged((10, 10, 1), 3)
    assert made.merge.merged_block == (3 * 128, 1, 1)
    assert made.merge.launch(launch_of((10, 10, 1))).grid == (3, 2, 1)
    stacked = merged((8, 8, 3), 3)
    assert stacked.merge.merged_block == (8, 8, 9)
    assert merged((2, 1, 32), 2).merge.merged_block == (2, 1, 64)
    assert merged((2, 1, 32), 3).merge.merged_block == (3 * 64, 1, 1)  # no GPU has blocks with more than 64 along z


def test_padding_threads_end_before_anything_else() -> None:
    for block in BLOCKS:
        made = merged(block, 2)
        instrs = made.module.function("k").instrs
        ends = [n for n, instr in enumerate(instrs) if instr.control == Flow.EXIT]
        padded = math.prod(block) % LANES != 0
        assert len(ends) == 2 + padded  # padding, virtual blocks beyond the grid, the kernel's own
        assert all(instr.control == Flow.NONE for instr in instrs[: ends[0]])


@pytest.mark.rotates
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_all_this_is_proven(block: tuple[int, int, int], count: int) -> None:
    """All but special registers that only some threads read."""
    module = asking(block, guarded=False)
    made = merge_blocks(module, "k", block, count)
    report = check_merged(module, made.module, "k", block, count, 0)
    assert report.ok, str(report)
