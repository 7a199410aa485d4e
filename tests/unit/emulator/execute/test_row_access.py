"""Accesses whose lanes lie side by side, which have a way of their own, against the same words in another order."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Module
from tests.support.kits.emulator import go, module, op

WORDS = 96
RZ = 255


def copy(flip: int, offset: int, source: int = 6) -> Module:
    """Lane t loads word `offset + t` of x and stores register `source` there in y; with `flip` 1, lanes from 2 on in
    pairs change places, so that the lines are met in the same order."""
    return module(
        [
            op("S2R", rd=0, sreg=12, wbar=0),
            op("ISETP", pd0=0, ra=0, form=1, imm=2, icmp=6, wait=1),
            op("LOP3", guard=(0, False), rd=0, ra=0, form=1, imm=flip, rc=RZ, lut=0x3C),
            op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
            op("MOV", rd=8, form=2, cbank=0, coff=8), op("MOV", rd=9, form=2, cbank=0, coff=12),
            op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2), op("IMAD.WIDE", rd=10, ra=0, form=1, imm=4, rc=8),
            op("LDG", stall=1, rd=6, ra=4, width=4, moff=4 * offset, wbar=1),
            op("LDG", stall=1, rd=7, ra=4, width=4, moff=4 * offset, wbar=1),  # waits for the port
            op("STG", ra=10, rb=source, width=4, moff=4 * offset, rbar=2, wait=2), op("EXIT", wait=4),
        ],
        params={"x": 8, "y": 8},
    )  # fmt: skip


def buffers() -> dict[str, np.ndarray]:
    return {"x": np.arange(1, WORDS + 1, dtype=np.uint32), "y": np.zeros(WORDS, np.uint32)}


def counted(result: Result) -> dict[str, object]:
    """All counters and the time; where the lanes' words are, but not in which order."""
    return {**result.stats, "cycles": result.cycles}


@pytest.mark.parametrize("machine", ["gtx285", "gtx480", "gtx680", "v100"])
@pytest.mark.parametrize("offset", [0, 1, 8, 23, 31, 32, 64])
def test_order_of_lanes_changes_nothing(machine: str, offset: int) -> None:
    runs = [go(copy(flip, offset), machine=machine, buffers=buffers(), hazards=False) for flip in (0, 1)]
    want = np.zeros(WORDS, np.uint32)
    want[offset : offset + 32] = np.arange(offset + 1, offset + 33)
    for result in runs:
        assert (result.buffers["y"] == want).all()
    assert counted(runs[0]) == counted(runs[1])


@pytest.mark.parametrize("flip", [0, 1])
def test_zero_register_is_stored_as_zeros(flip: int) -> None:
    arrays = {**buffers(), "y": np.full(WORDS, 7, np.uint32)}
    y = go(copy(flip, 3, source=RZ), buffers=arrays, hazards=False).buffers["y"]
    assert (y[3:35] == 0).all()
    assert (np.delete(y, np.s_[3:35]) == 7).all()


@pytest.mark.parametrize(("offset", "thread"), [(WORDS - 31, 31), (WORDS - 2, 2), (-1, 0), (WORDS + 40, 0)])
def test_the_first_lane_outside_is_named(offset: int, thread: int) -> None:
    with pytest.raises(KernelFault, match=rf"lane {thread}, thread {thread}:"):
        go(copy(0, offset), buffers=buffers(), hazards=False)
