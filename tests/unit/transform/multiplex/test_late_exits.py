"""Threads that would end within an access region end behind it, where nothing in between waits for others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.isa.instruction import Module, Origin
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.late_exits import with_late_exits
from binalloc.transform.multiplex.merged import merge_blocks
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.multiplex.merged.check import check_merged
from binalloc.verify.shorten.exits import check_late_exits
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
BLOCK = (64, 1, 1)
KERNEL = """.kernel k
.param out, 8
.shared_bytes 256
    S2R R0, SR_TID.X
    S2R R2, SR_CTAID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    IMAD R3, R2, 0x40, R0
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    IMAD.WIDE R4, R3, 0x4, R4
    LOP3 R6, R0, 0x3, RZ, 0xc0
    ISETP.EQ.AND P0, PT, R6, 0x1, PT
    ISETP.EQ.AND P1, PT, R6, 0x2, PT
    STS.32 [R1], R3
{}
    EXIT
.end
"""
TWICE = """    @P0 EXIT
    LDS.32 R7, [R1]
    STG.32 [R4], R7
    @P1 EXIT
    LDS.32 R8, [R1]
"""
"""Threads of a warp end in two places of a region that lasts to the end of the kernel."""


EXCHANGE = "    SHFL.DOWN PT, R7, R7, 0x1, 0x1f\n"
LOADED = """    LDS.32 R7, [R1]
    ISETP.GE.AND P0, PT, R7, 0x0, PT
    @P0 EXIT
    LDS.32 R7, [R1]
"""
"""A loaded word says where a thread ends."""


def left(module: Module, launch: Launch) -> np.ndarray:
    run = RunOptions(machine=MACHINE, check=True, race=True)
    return run_launch(schedule(module, MACHINE), "k", launch, run).buffers["out"]


def launch() -> Launch:
    return Launch("k", (5, 1, 1), BLOCK, 0, (Argument("out", "buffer", "u32", (5 * 64,)),))  # type: ignore[arg-type]


def test_threads_end_together() -> None:
    module = program(KERNEL.format(TWICE))
    later = with_late_exits(module, "k", BLOCK)
    names = [instr.name for instr in later.function("k").instrs]
    assert names.count("EXIT") == 1
    assert names.count("BRA") == 2
    assert check_late_exits(module, later, "k").ok
    expected = left(module, launch())
    assert np.array_equal(left(later, launch()), expected)
    assert np.count_nonzero(expected) == 5 * 48 - 1


@pytest.mark.parametrize("behind", ["", "    IMAD R8, R8, R7, R3\n" * 20 + "    STG.32 [R4], R8\n"])
def test_merged_blocks_are_proven_then(behind: str) -> None:
    """A barrier orders no accesses of warps that have ended; here all lanes of a warp may end. behind: the region does
    not last to the end of the kernel."""
    module = program(KERNEL.format(LOADED + behind))
    assert not check_merged(module, merge_blocks(module, "k", BLOCK, 2).module, "k", BLOCK, 2, 0).ok
    later = with_late_exits(module, "k", BLOCK)
    made = merge_blocks(later, "k", BLOCK, 2)
    assert check_late_exits(module, later, "k").ok
    assert check_merged(later, made.module, "k", BLOCK, 2, 0).ok


@pytest.mark.parametrize("body", [
    "    @P0 EXIT\n    BAR.SYNC 0\n    LDS.32 R7, [R1]\n    STG.32 [R4], R7\n",
    f"    @P0 EXIT\n    LDS.32 R7, [R1]\n{EXCHANGE}    STG.32 [R4], R7\n",
    "    @P1 BRA on, on\n    @P0 EXIT\n    LDS.32 R7, [R1]\non:\n    LDS.32 R7, [R1]\n    STG.32 [R4], R7\n",
])  # fmt: skip
def test_ends_that_others_may_see_stay(body: str) -> None:
    """A barrier waits for lanes that have not ended, an exchange between lanes does not see those that have."""
    module = program(KERNEL.format(body))
    assert with_late_exits(module, "k", BLOCK) is module


@pytest.mark.parametrize(("between", "moved"), [
    ("    BAR.SYNC 0\n", False), ("", True), ("    BAR.SYNC 0\n    LDS.32 R7, [R1]\n", True),
])  # fmt: skip
def test_ends_right_behind_a_barrier_stay_in_a_region_that_ends_earlier(between: str, moved: bool) -> None:
    """The barrier orders the accesses in front of it, and the region need not be longer."""
    last = "    LDS.32 R8, [R1]\n" + "    IMAD R8, R8, R8, R3\n" * 20 + "    STG.32 [R4], R8\n"
    module = program(KERNEL.format(f"{between}    @P0 EXIT\n{last}"))
    assert (with_late_exits(module, "k", BLOCK) is not module) == moved


@pytest.mark.parametrize(("before", "after"), [
    ("    @P0 EXIT\n    BAR.SYNC 0\n", "    @P0 BRA end, end\n    BAR.SYNC 0\n"),
    (f"    @P0 EXIT\n{EXCHANGE}", f"    @P0 BRA end, end\n{EXCHANGE}"),
    ("    @P0 EXIT\n    WARPSYNC R7\n", "    @P0 BRA end, end\n    WARPSYNC R7\n"),
    ("    @P0 EXIT\n    NOP\n", "    @!P0 BRA end, end\n    NOP\n"),
    ("    @P0 EXIT\n    NOP\n", "    @P1 BRA end, end\n    NOP\n"),
    ("    @P0 EXIT\n    NOP\n    STG.32 [R4], R3\n", "    @P0 BRA on, on\n    NOP\non:\n    STG.32 [R4], R3\n"),
    ("    @P0 EXIT\n    @P1 EXIT\n    NOP\n", "    @P0 BRA end, end\n    @P0 EXIT\n    NOP\n"),
    ("    @P1 BRA on, on\n    @P0 EXIT\n    NOP\non:\n    NOP\n",
     "    @P1 BRA on, on\n    @P0 BRA end, end\n    NOP\non:\n    NOP\n"),
])  # fmt: skip
def test_wrong_ends_are_not_proven(before: str, after: str) -> None:
    module = program(KERNEL.format(before))
    wrong = program(KERNEL.replace("    EXIT\n.end", "end:\n    EXIT\n.end").format(after))
    fn = wrong.function("k")
    named = replace(fn, origin=Origin("k", list(range(len(fn.instrs)))))
    assert not check_late_exits(module, replace(wrong, functions=[named]), "k", BLOCK).ok


def test_whole_blocks_end_behind_their_region() -> None:
    """No barrier waits for them any more, so they may pass barriers by. Blocks of another size may part there."""
    body = """
    S2R R9, SR_CTAID.X
    S2R R10, SR_TID.Y
    IADD3 R9, R9, R10, RZ
    STS.32 [R1], R0
    BAR.SYNC 0
    LDS.32 R7, [R1]
    ISETP.GE.AND P2, PT, R9, 0x3, PT
    @P2 EXIT
    BAR.SYNC 0
    LDS.32 R8, [R1]
    STG.32 [R4], R8
"""
    module = program(KERNEL.format(body))
    later = with_late_exits(module, "k", BLOCK)
    assert [instr.name for instr in later.function("k").instrs].count("EXIT") == 1
    assert check_late_exits(module, later, "k", BLOCK).ok
    assert not check_late_exits(module, later, "k").ok
    assert not check_late_exits(module, later, "k", (32, 2, 1)).ok
    made = merge_blocks(later, "k", BLOCK, 2)
    assert check_merged(later, made.module, "k", BLOCK, 2, 0).ok
    expected = left(module, launch())
    assert np.array_equal(left(later, launch()), expected)
    assert np.array_equal(left(made.module, made.merge.launch(launch())), expected)


@pytest.mark.rotates("long")
def test_many_ends_fit_on_the_reconvergence_stack() -> None:
    """Each lane leaves once, so 60 branches take 31 entries at most."""
    ends = "".join(f"    ISETP.EQ.AND P0, PT, R0, {n:#x}, PT\n    @P0 EXIT\n    LDS.32 R7, [R1]\n" for n in range(60))
    module = program(KERNEL.format(ends))
    later = with_late_exits(module, "k", BLOCK)
    assert [instr.name for instr in later.function("k").instrs].count("BRA") == 60
    assert check_late_exits(module, later, "k").ok
    left(later, launch())
