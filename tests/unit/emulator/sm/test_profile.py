"""What single instructions did and waited for, in kernels small enough to count by hand: gtx680 has four schedulers of
two slots each, so that with one warp the first one's slots are the warp's and the others have no warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.profile import InstructionProfile
from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Instr
from binalloc.isa.table.opcodes import SPECIAL_REGISTERS
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import address, go, module, op

GTX680 = load_machine("gtx680")


@pytest.fixture(params=[False, True], ids=["event-skipping", "per-cycle"])
def reference(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def profiled(code: list[Instr], reference: bool, **options: Any) -> tuple[Result, InstructionProfile]:
    buffers = {"x": np.zeros(options.pop("words", 1 << 12), np.uint32)}
    made = module(code, params={"x": 8}, shared_bytes=1 << 14, local_bytes=16)
    result = go(made, buffers=buffers, profile=True, reference=reference, **options)
    return result, result.profile["k"]


def stalls(p: InstructionProfile) -> dict[str, list[int]]:
    return {name: slots.tolist() for name, slots in p.stalls.items() if slots.any()}


def test_stall_counts_are_held_against_the_instruction_that_waits(reference: bool) -> None:
    """Issues in cycles 0, 5 and 8, each without a partner; four and two cycles of two slots between them."""
    code = [op("MOV", stall=5, rd=6, rb=0), op("MOV", stall=3, rd=7, rb=0), op("EXIT")]
    result, p = profiled(code, reference)
    assert result.cycles == 9
    assert stalls(p) == {"stall_count": [0, 8, 4], "no_pair": [1, 1, 1]}
    assert result.stats["stalls"]["no_warp"] == 9 * 2 * 3


def test_a_branch_is_held_against_itself(reference: bool) -> None:
    latency = GTX680.units["bru"].latency
    code = [op("BRA", stall=1, target=0), op("EXIT", stall=1)]
    result, p = profiled(code, reference)
    assert result.cycles == latency + 1
    assert stalls(p) == {"branch": [2 * (latency - 1), 0], "no_pair": [1, 1]}


def test_a_scoreboard_is_held_against_the_instruction_that_waits_for_it(reference: bool) -> None:
    """LDS issues in cycle 0 and is there `shared.latency` later, when its user issues."""
    latency = GTX680.shared.latency
    code = [op("LDS", stall=1, rd=6, ra=255, width=4, wbar=0), op("MOV", stall=1, rd=7, rb=6, wait=1), op("EXIT")]
    _, p = profiled(code, reference)
    assert stalls(p) == {"scoreboard": [0, 2 * (latency - 1), 0], "no_pair": [1, 1, 1]}
    assert p.latencies.tolist() == [1, 0, 0]
    assert p.latency_sum.tolist() == p.latency_max.tolist() == [latency, 0, 0]


def test_the_oldest_of_the_warps_that_wait_stands_for_a_slot(reference: bool) -> None:
    """Warps 0 and 4 share a scheduler and wait for a load each, warp 4, which comes later, at another instruction. As
    long as both wait warp 0 stands for the slots, and when it goes on warp 4's data comes, too."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("ISETP", stall=15, pd0=0, ra=0, form=1, imm=128, icmp=6, wait=1),
        op("BRA", stall=1, guard=(0, False), target=3),
        op("LDS", stall=1, rd=6, ra=255, width=4, wbar=1),
        op("MOV", stall=1, rd=7, rb=6, wait=2),
        op("EXIT"),
        op("LDS", stall=1, rd=6, ra=255, width=4, wbar=1),
        op("MOV", stall=1, rd=7, rb=6, wait=2),
        op("EXIT"),
    ]
    result, p = profiled(code, reference, block=160)
    assert p.counters["warp_instructions"].tolist() == [5, 5, 5, 4, 4, 4, 1, 1, 1]
    assert p.stalls["scoreboard"][7] == 0
    assert p.stalls["scoreboard"][4] > 2 * 4 * (GTX680.shared.latency - 2)  # four schedulers wait for nearly all of it
    assert p.stalls["scoreboard"].sum() == result.stats["stalls"]["scoreboard"]


def test_the_oldest_is_not_the_first(reference: bool) -> None:
    """Block 0 ends at once, block 2 takes its place, before that of block 1 in number, but younger: while block 1 waits
    for DRAM, what block 2 waits for is not what slots are lost for."""
    of_block_1 = [op("LDG", stall=1, rd=6, ra=4, width=4, wbar=1), op("MOV", rd=7, rb=6, wait=2), op("EXIT")]
    of_block_2 = [op("LDS", stall=1, rd=6, ra=255, width=4, wbar=1), op("MOV", rd=7, rb=6, wait=2), op("EXIT")]
    code = [
        *address(),
        op("S2R", rd=8, sreg=SPECIAL_REGISTERS.index("SR_CTAID.X"), wbar=0),
        op("ISETP", stall=15, pd0=0, ra=8, form=1, imm=0, icmp=2, wait=1),
        op("ISETP", stall=15, pd0=1, ra=8, form=1, imm=2, icmp=2),
        op("EXIT", guard=(0, False)),
        op("BRA", stall=1, guard=(1, False), target=3),
        *of_block_1,
        *of_block_2,
    ]
    _, p = profiled(code, reference, block=128, grid=3, blocks_per_sm=2)
    assert p.counters["warp_instructions"].tolist()[7:] == [12, 8, 4, 4, 4, 4, 4, 4]
    assert p.stalls["scoreboard"][10] > 2 * 4 * 100
    assert p.stalls["scoreboard"][13] == 0


def test_the_barrier_is_held_against_the_one_who_waits_and_not_the_one_who_comes(reference: bool) -> None:
    """Warp 4, the younger one, is slow: what the scheduler loses until it comes is its stall count, not the barrier."""
    slow = [op("ISETP", stall=15, pd0=0, ra=0, form=1, imm=127, icmp=4), op("NOP", stall=15, guard=(0, False))]
    code = [op("S2R", rd=0, sreg=0, wbar=0), op("NOP", wait=1), *slow, op("BAR", stall=1, form=1, imm=0), op("EXIT")]
    result, p = profiled(code, reference, block=160)
    assert p.stalls["barrier"][4] == result.stats["stalls"]["barrier"] > 0
    assert p.counters["barriers"].tolist() == [0, 0, 0, 0, 5, 0]


def test_nobody_is_charged_without_a_warp(reference: bool) -> None:
    result, p = profiled([op("EXIT")], reference)
    assert stalls(p) == {"no_pair": [1]}
    assert result.stats["stalls"]["no_warp"] == 2 * 3


@pytest.mark.parametrize("stride", [1, 2, 32])
def test_bank_conflicts(stride: int, reference: bool) -> None:
    """A stride of 32 words takes 16 passes in banks of eight bytes, each a cycle more until the data is there."""
    passes = {1: 1, 2: 1, 32: 16}[stride]
    code = [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("IMAD", rd=6, ra=0, form=1, imm=4 * stride, rc=255, wait=1),
        op("LDS", rd=7, ra=6, width=4, wbar=1),
        op("EXIT", wait=2),
    ]
    _, p = profiled(code, reference)
    assert p.counters["shared_passes"].tolist() == [0, 0, passes, 0]
    assert p.counters["shared_accesses"].tolist() == [0, 0, 1, 0]
    assert p.latency_max[2] == GTX680.shared.latency + passes - 1


@pytest.mark.parametrize("lanes", ["one sector", "32 sectors"])
def test_latency_is_what_the_program_s_own_clock_says(lanes: str, reference: bool) -> None:
    """A clock is read, in the next cycle the load issues, and as soon as its data is there the clock is read again: for
    a load from DRAM, and for one from L2."""
    clock = SPECIAL_REGISTERS.index("SR_CLOCKLO")
    apart = 128 if lanes == "32 sectors" else 0
    code = [
        *address(),
        op("IMAD.WIDE", rd=4, ra=0, form=1, imm=apart, rc=2),
        *(
            instr
            for first in (8, 10)
            for instr in (
                op("CS2R", stall=1, rd=first, sreg=clock),
                op("LDG", stall=1, rd=6, ra=4, width=4, wbar=1),
                op("CS2R", rd=first + 1, sreg=clock, wait=2),
            )
        ),
        op("IADD3", rd=8, ra=9, rb=8, negb=1, rc=255),
        op("IADD3", rd=9, ra=11, rb=10, negb=1, rc=255),
        op("STG", ra=2, rb=8, width=4, rbar=5),
        op("STG", ra=2, rb=9, width=4, moff=4, rbar=5),
        op("EXIT", wait=32),
    ]
    result, p = profiled(code, reference)
    loads = [6, 9]
    assert result.buffers["x"][:2].tolist() == [latency + 1 for latency in p.latency_max[loads]]
    assert (p.latency_sum == p.latency_max).all()
    assert p.latencies.nonzero()[0].tolist() == loads
    assert p.counters["global_load_sectors"][loads].tolist() == ([32, 32] if apart else [1, 1])
    if not apart:
        assert GTX680.dram.latency - 4 < p.latency_max[6] <= GTX680.dram.latency
        assert p.latency_max[9] == GTX680.l2.latency


def test_lanes_and_local_memory(reference: bool) -> None:
    """Sixteen lanes pass the guard; the store takes a way of L1, the load finds the line there."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0),
        op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1, wait=1),
        op("STL", ra=255, rb=0, width=4, rbar=2, guard=(0, False)),
        op("LDL", rd=6, ra=255, width=4, wbar=1, wait=4),
        op("EXIT", wait=2),
    ]
    _, p = profiled(code, reference)
    assert p.counters["thread_instructions"].tolist() == [32, 32, 16, 32, 32]
    assert p.counters["l1_local_misses"].tolist() == [0, 0, 1, 1, 0]
    assert p.latencies.tolist() == [0, 0, 0, 1, 0]


def test_what_no_lane_executes_has_no_latency(reference: bool) -> None:
    code = [op("LDS", rd=6, ra=255, width=4, wbar=0, guard=(7, True)), op("EXIT", wait=1)]
    _, p = profiled(code, reference)
    assert p.counters["warp_instructions"].tolist() == [1, 1]
    assert not p.latencies.any()


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    """Tests have it always in the `python` engine; there `Result.profile` says so."""
    result = go(module([op("EXIT")]), engine="numba")
    assert result.profile == {}
    assert result.series == []
