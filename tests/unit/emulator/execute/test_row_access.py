"""Accesses whose lanes lie side by side, which have a way of their own, against the same words in another order."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Module
from tests.support.kits.emulator.small import go, module, op

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


@pytest.mark.rotates
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


def shared_copy(flip: int, stride: int, offset: int, width: int = 4) -> Module:
    """Each lane stores its number at element stride * lane + offset of shared memory, and loads it from there into y;
    `flip` as in `copy`."""
    size = 4 << (width - 4)
    return module(
        [
            op("S2R", rd=0, sreg=12, wbar=0),
            op("ISETP", pd0=0, ra=0, form=1, imm=2, icmp=6, wait=1),
            op("LOP3", guard=(0, False), rd=0, ra=0, form=1, imm=flip, rc=RZ, lut=0x3C),
            op("MOV", rd=8, form=2, cbank=0, coff=0), op("MOV", rd=9, form=2, cbank=0, coff=4),
            op("IMAD.WIDE", rd=10, ra=0, form=1, imm=4, rc=8),
            op("IMAD", rd=12, ra=0, form=1, imm=size * stride & 0xFFFFFFFF, rc=RZ), op("MOV", rd=4, rb=0),
            op("STS", rb=4, ra=12, width=width, moff=size * offset), op("LDS", rd=4, ra=12, width=width,
               moff=size * offset, wbar=1),
            op("STG", ra=10, rb=4, width=4, rbar=2, wait=2), op("EXIT", wait=4),
        ],
        params={"y": 8}, shared_bytes=16384,
    )  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx285", "gtx480", "gtx680", "gtx780ti"])
@pytest.mark.parametrize("stride", [1, 2, 3, 8, 31, 32, 33, 64, 65, -1, -2, -33])
@pytest.mark.parametrize("width", [4, 5])
def test_order_of_lanes_in_shared_memory_changes_nothing(machine: str, stride: int, width: int) -> None:
    offset = 1 + max(0, -31 * stride)
    y = {"y": np.zeros(32, np.uint32)}
    if (32 * abs(stride) + 2) * (4 << (width - 4)) > 16384:
        pytest.skip("more than there is")
    runs = [go(shared_copy(flip, stride, offset, width), machine=machine, buffers=y, hazards=False) for flip in (0, 1)]
    for result in runs:
        assert (result.buffers["y"] == np.arange(32)).all()
    assert counted(runs[0]) == counted(runs[1])


def test_the_highest_lane_wins_a_store_to_one_address() -> None:
    y = {"y": np.zeros(32, np.uint32)}
    assert (go(shared_copy(0, 0, 5), buffers=y, hazards=False).buffers["y"] == 31).all()


@pytest.mark.parametrize("stride", [1, 33, -1])
def test_an_access_that_ends_outside_is_a_fault_of_its_first_lane_there(stride: int) -> None:
    last = 16384 // 4 - 1
    offset = last - 31 * stride + 2 if stride > 0 else 31 - 2  # lanes from some on are beyond one of the ends
    lane = next(t for t in range(32) if not 0 <= offset + t * stride <= last)
    with pytest.raises(KernelFault) as raised:
        go(shared_copy(0, stride, offset), buffers={"y": np.zeros(32, np.uint32)}, hazards=False)
    assert f"thread ({lane}, 0, 0)" in str(raised.value) or f"lane {lane}" in str(raised.value), str(raised.value)


def test_one_address_of_all_lanes_is_one_sector() -> None:
    code = [
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("LDG", rd=6, ra=2, width=4, moff=4 * 77, wbar=0), *[op("NOP", wait=1)],
        op("S2R", rd=0, sreg=0, wbar=0), op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2, wait=1),
        op("STG", ra=4, rb=6, width=4, rbar=1), op("EXIT", wait=2),
    ]  # fmt: skip
    result = go(module(code, params={"x": 8}), buffers={"x": np.arange(100, dtype=np.uint32)})
    assert result.stats["global_load_sectors"] == 1
    assert (result.buffers["x"][:32] == 77).all()
