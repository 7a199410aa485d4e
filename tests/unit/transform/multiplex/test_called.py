"""Functions that have to do with their block are inlined in front of a merge; then they are part of the kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.merged import Merge
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import NAMED, VTB, Built, Wanted, build, checked
from binalloc.pipeline.request import Request
from binalloc.transform.multiplex.called import with_own_code
from binalloc.transform.schedule.schedule import schedule
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
GRID = (3, 5, 1)
KERNEL = """.kernel k
.param out, 8
.shared_bytes 2048
    CALL place
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD.WIDE R2, R0, 0x4, R2
    SHF.L.U32 R5, R4, 0x2, RZ
    {guard}CALL exchange
    STG.32 [R2], R6
    EXIT
.end
{other}
.func place
    S2R R10, SR_TID.Z
    S2R R11, SR_TID.Y
    CALL along
    IMAD R11, R10, {y}, R11
    IMAD R4, R11, {x}, R4
    S2R R7, SR_CTAID.X
    S2R R8, SR_CTAID.Y
    S2R R9, SR_NCTAID.X
    IMAD R7, R8, R9, R7
    IMAD R0, R7, {threads}, R4
    RET
.end
.func along
    S2R R4, SR_TID.X
    RET
.end
.func exchange
    IMAD R6, R0, 0x7, RZ
    STS.32 [R5], R6
    BAR.SYNC 0
    IADD3 R6, -R5, {last}, RZ
    LDS.32 R6, [R6]
    S2R R9, SR_WARPID
    IMAD R6, R6, 0x10, R9
    RET
.end
"""
OTHER = """.kernel other
    CALL place
    EXIT
.end
"""


def text_of(block: tuple[int, int, int], guard: str = "", other: str = "") -> str:
    x, y, z = block
    threads = x * y * z
    return KERNEL.format(x=x, y=y, threads=threads, last=f"{4 * threads - 4:#x}", guard=guard, other=other)


def launch_of(block: tuple[int, int, int]) -> Launch:
    x, y, z = block
    return Launch("k", GRID, block, 0, (Argument("out", "buffer", "u32", (3 * 5 * x * y * z,)),))


def built(module: Module, block: tuple[int, int, int], wanted: Wanted) -> Built:
    return build(module, Request("k", MACHINE, launch_of(block)), wanted)


def left(module: Module, launch: Launch) -> np.ndarray:
    run = RunOptions(machine=MACHINE, check=True, race=True)
    return run_launch(schedule(module, MACHINE), "k", launch, run).buffers["out"]


@pytest.mark.rotates
@pytest.mark.parametrize("other", ["", OTHER])
@pytest.mark.parametrize("wanted", [Wanted(VTB, 2), Wanted(VTB, 3, NAMED)])
@pytest.mark.parametrize("block", [(64, 1, 1), (8, 4, 2), (10, 10, 1), (7, 3, 5)])
def test_functions_ask_for_the_virtual_block(block: tuple[int, int, int], wanted: Wanted, other: str) -> None:
    module = program(text_of(block, other=other))
    made = built(module, block, wanted)
    assert checked(module, made, "k").ok, str(checked(module, made, "k"))
    assert np.array_equal(left(made.module, made.launch), left(module, launch_of(block)))
    assert made.inlined is not None
    kept = {fn.name for fn in made.module.functions} - {"k"}
    stacked = block[0] * block[1] * block[2] % 32 == 0
    assert kept == ({"other", "place", "along"} if other else {"along"} if stacked else set())  # x stays along x


def test_the_inlining_is_proven() -> None:
    """Not the very code of a function is in place of its call."""
    module = program(text_of((64, 1, 1)))
    made = built(module, (64, 1, 1), Wanted(VTB, 2))
    wrong = program(text_of((64, 1, 1)).replace("IMAD R6, R0, 0x7, RZ", "IMAD R6, R0, 0x5, RZ"))
    assert not checked(wrong, made, "k").ok
    assert made.inlined is not None
    kernel = made.inlined.function("k")
    assert kernel.origin is not None
    without = replace(kernel, origin=replace(kernel.origin, inlined=[]))
    assert not checked(module, replace(made, inlined=replace(made.inlined, functions=[without])), "k").ok


def test_what_cannot_be_inlined_is_refused() -> None:
    guarded = program(text_of((64, 1, 1), guard="@P0 "))
    with pytest.raises(Refused) as error:
        built(guarded, (64, 1, 1), Wanted(VTB, 2))
    assert (error.value.message, error.value.place) == ("a function asks for its block or thread", "exchange+5")
    assert error.value.remedy is not None


def test_functions_that_ask_for_nothing_stay() -> None:
    plain = text_of((64, 1, 1)).replace("    S2R R4, SR_TID.X\n    RET", "    MOV R4, 0x0\n    RET")
    module = program(plain)
    made = with_own_code(module, "k", Merge(2, (64, 1, 1), 1))
    assert {fn.name for fn in made.functions} == {"k", "along"}
    alone = program(".kernel k\n    CALL f\n    EXIT\n.end\n.func f\n    MOV R0, 0x0\n    RET\n.end\n")
    assert with_own_code(alone, "k", Merge(2, (64, 1, 1), 1)) is alone
