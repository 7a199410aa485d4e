"""Fixed results are in flight per lane: who waits at a reconvergence point keeps the time of its own result."""

from __future__ import annotations

import pytest

from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr, Module
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.hazards.check import find_hazards
from tests.support.kits.emulator.small import go, module, op


def leaving(before: int, filler: int) -> list[Instr]:
    """All lanes write R3; `before` cycles later half of them overwrite it (12 cycles) and leave in 2; the others read
    their R3 after `filler` more."""
    return [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1, wait=1),
        op("MOV", rd=4, rb=255),
        op("MOV", rd=3, rb=255, stall=before - 1),
        op("BRA", guard=(0, False), target=2, diverges=1, reconv=2, stall=1),
        op("DADD", rd=2, ra=4, rb=4, stall=1),
        op("EXIT", stall=1),
        op("NOP", stall=filler),
        op("MOV", rd=7, rb=3),
        op("EXIT"),
    ]


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_lanes_that_wait_read_their_own_result_when_it_is_there(engine: str) -> None:
    """R3 is there 9 cycles after its MOV for those that wait, whatever others have overwritten it with since."""
    go(module(leaving(6, 1)), engine=engine)
    go(module(leaving(3, 5)), engine=engine)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_their_own_result_is_still_not_read_before_time(engine: str) -> None:
    with pytest.raises(KernelFault, match=r"hazard: read before.*R3 is being written by k\+3 .*expected 1 more cycle"):
        go(module(leaving(3, 3)), engine=engine)


def test_a_legal_schedule_of_such_code_runs() -> None:
    """The scheduling pass follows lanes; the machine must not ask for more."""
    code = leaving(3, 3)
    fill = [op("MOV", rd=8 + k, rb=255) for k in range(5)]
    apart = [op("NOP") for _ in range(18)]  # so that only R3 is in flight at the branch
    m: Module = schedule(module([*code[:3], *apart, *code[3:7], *fill, *code[8:]]), load_machine("gtx680"))
    assert find_hazards(m, load_machine("gtx680").unit_latencies) == []
    go(m)
