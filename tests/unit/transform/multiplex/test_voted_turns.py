"""Where a region has barriers in loops, or behind branches, virtual blocks are told by votes that a turn is over."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.merged import PIPED, TURNS, merge_blocks
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.merged.check import check_merged
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
BLOCK = (64, 1, 1)
KERNEL = """.kernel k
.param out, 8
.param rounds, 4
.shared_bytes 256
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    LOP3 R9, R2, 0x3, RZ, 0xc0
    MOV R3, {}
    IMAD R7, R2, 0x40, R0
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    IMAD.WIDE R4, R7, 0x4, R4
    STS.32 [R1], R7
    MOV R8, RZ
    ISETP.LT.AND P1, PT, R0, 0x20, PT
head:
    BAR.SYNC 0
    LOP3 R6, R1, 0x4, RZ, 0x3c
    LDS.32 R7, [R6]
    BAR.SYNC 0
    IADD3 R7, R7, R2, RZ
    @P1 STS.32 [R1], R7
    IADD3 R8, R8, 0x1, RZ
    ISETP.LT.AND P0, PT, R8, R3, PT
    @P0 BRA head, on
on:
    STG.32 [R4], R7
    EXIT
.end
"""
ROUNDS = {"of all launches": "0x3", "of a launch": "c[0][rounds]", "of a block": "R9"}


def barriers(module: Module) -> list[tuple[bool, bool | None]]:
    """Whether each barrier is an inserted one, and what is given there."""
    fn = module.function("k")
    assert fn.origin is not None
    found = [(old < 0, set_of(i).barrier(i)) for i, old in zip(fn.instrs, fn.origin.index, strict=True)]
    return [(new, barrier.gives) for new, barrier in found if barrier is not None]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_loop_with_barriers_is_in_a_turn(rounds: str, count: int) -> None:
    module = program(KERNEL.format(ROUNDS[rounds]))
    made = merge_blocks(module, "k", BLOCK, count)
    assert [region.spans for region in made.regions] == [[(9, 21)]]
    assert barriers(made.module) == [(True, True), (True, True), (True, False), (True, False)]
    assert check_merged(module, made.module, "k", BLOCK, count, 0).ok
    launch = Launch("k", (7, 1, 1), BLOCK, 0, (
        Argument("out", "buffer", "u32", (7 * 64,)), Argument("rounds", "scalar", "u32", value=5),
    ))  # fmt: skip
    left = [
        run_launch(schedule(each, MACHINE), "k", given, RunOptions(machine=MACHINE, race=True)).buffers["out"]
        for each, given in ((module, launch), (made.module, made.merge.launch(launch)))
    ]
    assert np.array_equal(*left)


@pytest.mark.parametrize(("order", "remedy"), [(TURNS, "compute capability 2.0"), (PIPED, "Choose vtb.")])
def test_without_votes_a_barrier_in_a_loop_is_refused(order: str, remedy: str) -> None:
    with pytest.raises(Refused, match="more or less than once") as error:
        merge_blocks(program(KERNEL.format("0x3")), "k", BLOCK, 2, order=order, votes=False)
    assert error.value.place == "k+15"
    assert remedy in (error.value.remedy or "")


def test_a_region_with_as_many_barriers_on_all_ways_needs_no_votes() -> None:
    text = KERNEL.format("0x3").replace("    @P0 BRA head, on\n", "")
    made = merge_blocks(program(text), "k", BLOCK, 2)
    assert {gives for _, gives in barriers(made.module)} == {None}


def test_threads_that_end_behind_accesses_in_a_turn_with_votes_are_refused() -> None:
    """Accesses of warps that have ended are ordered by no barrier, and nobody closes the turn."""
    text = KERNEL.format("0x3").replace("    BAR.SYNC 0\n    IADD3 R7", "    {}\n    IADD3 R7")
    ends = "ISETP.LT.AND P2, PT, R2, 0x2, PT\n    @P2 EXIT"
    with pytest.raises(Refused, match="right behind accesses") as error:
        merge_blocks(program(text.format(f"{ends}\n    BAR.SYNC 0")), "k", BLOCK, 2)
    assert error.value.place == "k+16"
    module = program(text.format(f"BAR.SYNC 0\n    {ends}"))
    made = merge_blocks(module, "k", BLOCK, 2)
    assert check_merged(module, made.module, "k", BLOCK, 2, 0).ok


def test_a_way_that_no_thread_takes_does_not_count() -> None:
    never = "    ISETP.GE.AND P2, PT, R0, 0x40, PT\n    @P2 BRA on, on\nhead:\n"
    text = KERNEL.format("0x3").replace("head:\n", never).replace("    @P0 BRA head, on\n", "")
    made = merge_blocks(program(text), "k", BLOCK, 2)
    assert {gives for _, gives in barriers(made.module)} == {None}
    made = merge_blocks(program(text.replace("R0, 0x40", "R2, 0x40")), "k", BLOCK, 2)
    assert {gives for _, gives in barriers(made.module)} > {True, False}
