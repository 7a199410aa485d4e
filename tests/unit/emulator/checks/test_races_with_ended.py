"""A barrier of all warps that run comes behind whatever those did that have ended: `race` knows that."""

from __future__ import annotations

import pytest

from binalloc.errors import KernelFault
from binalloc.launch.types import Argument, ArgumentKind, Launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.transform.pairs_of_blocks import GPGPUSIM, ran
from tests.support.programs.builder import program

KERNEL = """
    .kernel k registers=16
    .memory_model {model}
    .shared_bytes 256
    .param out 8
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    ISETP.LT.AND P0, PT, R0, {ending:#x}, PT
    {before} [R1], R0
    {exit}
    {between}
    LOP3 R2, R1, {other:#x}, RZ, 0x3c
    {behind}
    EXIT
"""
LAUNCH = Launch("k", (1, 1, 1), (64, 1, 1), 0, (Argument("out", ArgumentKind.BUFFER, "u32", (4,)),))
STORE, LOAD, WRITE = "STS.32", "LDS.32 R3, [R2]", "STS.32 [R2], R0"
WARP, LANES = {"ending": 32, "other": 128}, {"ending": 16, "other": 64}
"""A whole warp ends, or half of the lanes of one; the others access its words."""


def races(engine: str, **parts: object) -> bool:
    given: dict[str, object] = {"model": "loom", "before": STORE, "exit": "@P0 EXIT", "between": "BAR.SYNC 0"}
    text = KERNEL.format(**({"behind": LOAD} | given | parts))
    module = program(text.replace("LDS.32 [R1], R0", "LDS.32 R3, [R1]"))
    try:
        ran(schedule(module, GPGPUSIM), LAUNCH, GPGPUSIM, check=False, engine=engine)
    except KernelFault as fault:
        return fault.message == "shared-memory race"
    return False


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("model", "who"), [("loom", WARP), ("ptx", WARP), ("ptx", LANES)])
@pytest.mark.parametrize(("before", "behind"), [(STORE, LOAD), (STORE, WRITE), ("LDS.32", WRITE)])
def test_a_barrier_is_behind_the_ends_of_others(
    engine: str, model: str, who: dict[str, int], before: str, behind: str
) -> None:
    parts: dict[str, object] = {"model": model, "before": before, "behind": behind, **who}
    assert not races(engine, **parts)
    assert races(engine, **parts, between="NOP")
    assert races(engine, **parts, between="NOP", exit="NOP")


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_barrier_of_some_warps_does_not_wait_for_the_others(engine: str) -> None:
    assert races(engine, **WARP, between="BAR.SYNC 1, 0x20")


def test_what_is_done_behind_the_barrier_is_not_ordered_by_it() -> None:
    """The first warp ends behind the barrier, at which both have been."""
    assert races("python", **WARP, before="BAR.SYNC 0\n STS.32", between="NOP")
    assert races("python", **WARP, exit="BAR.SYNC 0\n STS.32 [R1], R0\n @P0 EXIT", between="NOP")
