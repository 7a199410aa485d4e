"""Variables over one another in kernels with dynamic shared memory, which lies behind them and begins lower then."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import Result, run_launch
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.sharing.overlays import overlay_plan
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.sharing.overlay import overlay_memory
from binalloc.verify.sharing.overlay.check import check_overlay
from tests.support.programs.builder import program

MACHINE = load_machine("v100")
BLOCK = (64, 1, 1)
TEXT = """
.kernel k
.param out, 8
.shared a, 264, 4, 0
.shared b, 256, 4, 264
S2R R0, SR_TID.X
SHF.L.U32 R1, R0, 0x2, RZ
LOP3 R2, R1, 0x4, RZ, 0x3c
MOV R4, c[0][out]
MOV R5, c[0][out+0x4]
IMAD.WIDE R4, R0, 0x4, R4
SHF.L.U32 R6, R0, 0x3, RZ
STS.64 [R6+0x208], R0
STS.32 [R1+a], R0
BAR.SYNC 0
LDS.32 R8, [R2+a]
BAR.SYNC 0
STS.32 [R1+b], R8
BAR.SYNC 0
LDS.32 R8, [R2+b]
LDS.32 R9, [R6+0x208]
IADD3 R8, R8, R9, RZ
STG.32 [R4], R8
EXIT
.end
"""
"""Dynamic memory begins at 520 and has eight bytes a thread."""


def launch(dynamic: int) -> Launch:
    return Launch("k", (1, 1, 1), BLOCK, dynamic, (Argument("out", "buffer", "u32", (64,)),))


def ran(module: Module, dynamic: int) -> Result:
    options = RunOptions(machine=MACHINE, engine="python", check=True, race=True)
    return run_launch(schedule(module, MACHINE), "k", launch(dynamic), options)


def test_dynamic_memory_begins_lower_by_a_multiple_of_sixteen() -> None:
    module = program(TEXT)
    plan = overlay_plan(shared_memory_of(module, "k", BLOCK), 512)
    assert (plan.before, plan.bytes, plan.distances) == (520, 264, (0, -264))
    made = overlay_memory(module, plan.memory, plan.units, plan.distances, plan.bytes)
    (store,) = (i for i in made.function("k").instrs if i.name == "STS" and i.f["moff"] == 0x208 - 256)
    assert store.f["width"] == next(i for i in module.function("k").instrs if i.f.get("moff") == 0x208).f["width"]
    assert check_overlay(module, made, "k", BLOCK, 512).ok
    assert np.array_equal(ran(module, 512).buffers["out"], ran(made, 512).buffers["out"])


def test_bytes_that_are_no_multiple_stay_empty() -> None:
    """264 bytes could be saved of 528, but dynamic memory stays as aligned as it was."""
    module = program(TEXT.replace(".shared b, 256, 4, 264", ".shared b, 264, 4, 264").replace("0x208", "0x210"))
    plan = overlay_plan(shared_memory_of(module, "k", BLOCK), 512)
    assert (plan.before, plan.bytes) == (528, 272)
    made = overlay_memory(module, plan.memory, plan.units, plan.distances, plan.bytes)
    assert check_overlay(module, made, "k", BLOCK, 512).ok
    assert overlay_plan(shared_memory_of(module, "k", BLOCK), 0).bytes == 264


def test_an_access_that_may_go_to_both_keeps_dynamic_memory_in_its_place() -> None:
    module = program(TEXT.replace("LDS.32 R9, [R6+0x208]", "LDS.32 R9, [R6+0x108]"))
    with pytest.raises(Refused) as caught:
        overlay_plan(shared_memory_of(module, "k", BLOCK), 512)
    assert "dynamic memory has to stay where it is" in caught.value.message
    assert caught.value.place == "k+15"
