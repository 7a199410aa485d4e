"""Blocks with dynamic shared memory are merged as those with a variable of as many bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import MalformedInput, Refused
from binalloc.isa.instruction import Module
from binalloc.launch.merged import DYNAMIC as RECORD
from binalloc.launch.merged import MERGED, fitting
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import CO_HW, CO_VTB, HW, VTB, Built, Wanted, build, checked
from binalloc.pipeline.multiplex.dynamic import with_variable, without_variable
from binalloc.pipeline.multiplex.multiplexing import Tried, recorded
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import make_version
from binalloc.transform.schedule.schedule import schedule
from tests.support.programs.builder import program

MACHINE = load_machine("gtx285")
DYNAMIC = 512
KERNEL = """.kernel k
.param out, 8
.shared_bytes {static}
    S2R R0, SR_TID.X
    S2R R2, SR_CTAID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    IMAD R3, R2, 0x40, R0
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    IMAD.WIDE R4, R3, 0x4, R4
    STS.32 [R1+0x80], R3
    BAR.SYNC 0
    LOP3 R6, R1, 0x4, RZ, 0x3c
    LDS.32 R7, [R6+0x80]
    BAR.SYNC 0
    IADD3 R7, R7, 0x5, RZ
    STG.32 [R4], R7
    BAR.SYNC 0
    STS.32 [R1+0x180], R7
    BAR.SYNC 0
    LDS.32 R8, [R6+0x180]
    STG.32 [R4], R8
    EXIT
.end
"""
"""A block uses 256 bytes behind the 128 static ones, and then 256 others."""


def launch(dynamic: int = DYNAMIC) -> Launch:
    return Launch("k", (5, 1, 1), (64, 1, 1), dynamic, (Argument("out", "buffer", "u32", (5 * 64,)),))  # type: ignore[arg-type]


def original(static: int = 128) -> Module:
    return program(KERNEL.format(static=static))


def merged(module: Module, of: Launch, scheme: str = VTB) -> Built:
    return build(module, Request("k", MACHINE, of), Wanted(scheme, merge=2))


def left(module: Module, of: Launch) -> np.ndarray:
    made = schedule(module, MACHINE)
    return run_launch(made, "k", of, RunOptions(machine=MACHINE, engine="python")).buffers["out"]


def test_merged_blocks_do_the_same_and_are_proven() -> None:
    module = original()
    built = merged(module, launch())
    assert (built.launch.grid, built.launch.dynamic_shared) == ((3, 1, 1), DYNAMIC)
    assert np.array_equal(left(built.module, built.launch), left(module, launch()))
    report = checked(module, built, "k")
    assert report.ok, report.errors


def test_they_have_the_regions_of_static_memory() -> None:
    """The code is the same as where the bytes are static; they are dynamic again afterwards."""
    built, twin = merged(original(), launch()), merged(original(128 + DYNAMIC), launch(0))
    assert built.regions == twin.regions == 2
    fn, other = built.module.function("k"), twin.module.function("k")
    assert fn.instrs == other.instrs
    assert (fn.info.shared_bytes, other.info.shared_bytes) == (128, 128 + DYNAMIC)
    assert fn.shared == original().function("k").shared


def test_a_wrong_version_is_not_proven() -> None:
    """A merged block has lost its barriers."""
    module = original()
    built = merged(module, launch())
    fn = built.module.function("k")
    fewer = [instr for instr in fn.instrs if instr.name != "BAR"]
    broken = replace(built.module, functions=[replace(fn, instrs=fewer)])
    assert not checked(module, replace(built, module=broken), "k").ok


@pytest.mark.parametrize("scheme", [HW, CO_VTB, CO_HW])
def test_other_schemes_divide_static_memory_alone(scheme: str) -> None:
    with pytest.raises(Refused) as error:
        merged(original(), launch(), scheme)
    assert error.value.found == "512 bytes"
    assert scheme in error.value.message


def test_without_dynamic_memory_the_module_stays() -> None:
    module = original()
    assert with_variable(module, "k", 0) is module
    assert without_variable(module, "k", 0) is module


def written(dynamic: object = DYNAMIC) -> Module:
    """A merged binary with a record, as it is written."""
    built = merged(original(), launch())
    assert built.merge is not None
    record = {"kernel": "k", MERGED: built.merge.record(), RECORD: dynamic}
    return replace(built.module, provenance=[record])


def unsaid() -> list[dict[str, object]]:
    """The record of a binary that says nothing of dynamic memory."""
    return [{key: value for key, value in record.items() if key != RECORD} for record in written().provenance]


def test_the_record_says_for_how_many_bytes_it_was_made() -> None:
    built = merged(original(), launch())
    assert fitting(launch(), written(), "k") == built.launch
    assert fitting(built.launch, written(), "k") == built.launch, "one that was adapted before"
    for other in (0, 256):
        with pytest.raises(MalformedInput) as error:
            fitting(launch(other), written(), "k")
        assert (error.value.found, error.value.expected) == (f"{other} bytes", "512 bytes")
    without = replace(written(), provenance=unsaid())
    assert fitting(launch(0), without, "k").dynamic_shared == 0
    with pytest.raises(MalformedInput):
        fitting(launch(), without, "k")
    for wrong in (-1, "512", None):
        with pytest.raises(MalformedInput):
            fitting(launch(), written(wrong), "k")


@pytest.mark.parametrize("scheme", [VTB, HW])
def test_a_version_says_with_which_launch_it_was_made(scheme: str) -> None:
    """Versions of hw are proven for launches without dynamic memory: accesses beyond static bytes are faults then."""
    module, dynamic = original(128 + DYNAMIC), 0
    if scheme == VTB:
        module, dynamic = original(), DYNAMIC
    built = merged(module, launch(dynamic), scheme)
    own = Request("k", MACHINE, built.launch)
    version = make_version(schedule(built.module, MACHINE), own, ["k"])
    tried = Tried(Wanted(scheme, merge=2), version, built=built)
    made = recorded(tried, Request("k", MACHINE, launch(dynamic)), b"")
    assert fitting(launch(dynamic), made, "k") == built.launch
    with pytest.raises(MalformedInput):
        fitting(launch(dynamic + 4), made, "k")


def test_a_load_that_may_go_anywhere_stays_in_the_block() -> None:
    """Nothing is known of the address. Without dynamic memory it is in the block's bytes, or the original faults."""
    text = KERNEL.format(static=128 + DYNAMIC).replace("    LOP3 R6, R1, 0x4, RZ, 0x3c\n", "    LDG.32 R6, [R4]\n")
    module = program(text)
    report = checked(module, merged(module, launch(0), HW), "k")
    assert report.ok, report.errors
