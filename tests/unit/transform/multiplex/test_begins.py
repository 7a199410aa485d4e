"""An access region may begin and end in several places: virtual blocks take turns from each of its begins on."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.shared.regions import Bound
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.isa.sets.table import set_of
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.merged import HANDED, PIPED, TURNS, merge_blocks
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.merged.check import check_merged
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
BLOCK = (64, 1, 1)
ITERATED = """.kernel k
.param out, 8
.param rounds, 4
.shared_bytes 256
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    S2R R2, SR_CTAID.X
    IMAD R7, R2, 0x40, R0
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    IMAD.WIDE R4, R7, 0x4, R4
    MOV R8, RZ
    STS.32 [R1], R7
head:
    BAR.SYNC 0
    LOP3 R6, R1, 0x4, RZ, 0x3c
    LDS.32 R7, [R6]
    BAR.SYNC 0
    IADD3 R7, R7, R2, RZ
    STS.32 [R1], R7
    IADD3 R8, R8, 0x1, RZ
    ISETP.LT.AND P0, PT, R8, c[0][rounds], PT
    @P0 BRA head, on
on:
{}
    STG.32 [R4], R7
    EXIT
.end
"""
"""Behind the load nothing is held that anybody reads: the next store overwrites it."""


READ = "    BAR.SYNC 0\n    LDS.32 R7, [R6]\n"


@pytest.mark.rotates
@pytest.mark.parametrize(("order", "last", "votes"), [(TURNS, READ, False), (TURNS, "", True), (HANDED, READ, False)])
@pytest.mark.parametrize("count", [2, 3])
def test_virtual_blocks_take_turns_in_each_round(order: str, last: str, votes: bool, count: int) -> None:
    """votes: turns have one barrier in all rounds but for the last one, which has none."""
    module = program(ITERATED.format(last))
    made = merge_blocks(module, "k", BLOCK, count, order=order)
    (region,) = made.regions
    assert region.begins == [Bound(8, None), Bound(14, None)]
    assert len(region.ends) == 2
    assert check_merged(module, made.module, "k", BLOCK, count, 0).ok
    found = [set_of(i).barrier(i) for i in made.module.function("k").instrs]
    assert any(barrier is not None and barrier.vote for barrier in found) == votes
    launch = Launch("k", (7, 1, 1), BLOCK, 0, (
        Argument("out", "buffer", "u32", (7 * 64,)), Argument("rounds", "scalar", "u32", value=5),
    ))  # fmt: skip
    left = [
        run_launch(schedule(each, MACHINE), "k", given, RunOptions(machine=MACHINE, race=True)).buffers["out"]
        for each, given in ((module, launch), (made.module, made.merge.launch(launch)))
    ]
    assert np.array_equal(*left)


def test_a_pipe_needs_one_begin() -> None:
    with pytest.raises(Refused, match="an access region begins in several places") as error:
        merge_blocks(program(ITERATED.format(READ)), "k", BLOCK, 2, order=PIPED)
    assert (error.value.place, error.value.found, error.value.remedy) == ("k+8", "k+8 and k+14", "Choose vtb.")


def test_a_region_behind_which_threads_end_on_several_ways_is_refused() -> None:
    text = """.kernel k
.shared_bytes 256
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    ISETP.LT.AND P0, PT, R0, 0x5, PT
    @P0 BRA other, on
on:
    STS.32 [R1], R0
    EXIT
other:
    LDS.32 R2, [R1]
    EXIT
.end
"""
    with pytest.raises(Refused, match="threads do not come together behind an access region") as error:
        merge_blocks(program(text), "k", BLOCK, 2)
    assert (error.value.place, error.value.found) == ("k+5", "EXIT at k+5 and k+7")
