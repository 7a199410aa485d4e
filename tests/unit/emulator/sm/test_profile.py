"""What single instructions did and waited for, in kernels small enough to count by hand: gtx680 has four schedulers of
two slots each, so that with one warp the first one's slots are the warp's and the others have no warp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.profile import Profile
from binalloc.emulator.host.run import Result
from binalloc.isa.instruction import Instr
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator import address, go, module, op

GTX680 = load_machine("gtx680")


@pytest.fixture(params=[False, True], ids=["event-skipping", "per-cycle"])
def reference(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def profiled(code: list[Instr], reference: bool, **options: Any) -> tuple[Result, Profile]:
    buffers = {"x": np.zeros(options.pop("words", 1 << 12), np.uint32)}
    made = module(code, params={"x": 8}, shared_bytes=1 << 14, local_bytes=16)
    result = go(made, buffers=buffers, profile=True, reference=reference, **options)
    return result, result.profile["k"]


def stalls(p: Profile) -> dict[str, list[int]]:
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
    """Warps 0 and 4 share a scheduler. They issue the load in cycles 0 and 1 (one port would not do for both), each has
    its data a latency later, and until then both wait: warp 0 is the oldest of them until it goes on."""
    code = [op("LDS", stall=1, rd=6, ra=255, width=4, wbar=0), op("MOV", stall=1, rd=7, rb=6, wait=1), op("EXIT")]
    result, p = profiled(code, reference, block=160)
    lost = result.stats["stalls"]
    assert p.stalls["scoreboard"][1] == lost["scoreboard"] > 0
    assert p.stalls["port_busy"][0] == lost["port_busy"] > 0
    assert p.stalls["block_drain"][2] == lost["block_drain"] > 0


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


def test_sectors_and_latency_of_a_load_from_dram_and_of_the_next_one_from_l2(reference: bool) -> None:
    code = [
        *address(),
        op("LDG", rd=6, ra=4, width=4, wbar=1),
        op("LDG", rd=7, ra=4, width=4, wbar=1, wait=2),
        op("EXIT", wait=2),
    ]
    _, p = profiled(code, reference)
    first, second = 4, 5
    assert p.counters["global_load_sectors"].tolist() == [0, 0, 0, 0, 4, 4, 0]
    assert p.latencies.tolist() == [0, 0, 0, 0, 1, 1, 0]
    share = -(-32 // GTX680.l2.port_bytes)  # of a sector's time at the slice: four follow one another
    assert GTX680.dram.latency - 4 < p.latency_max[first] < GTX680.dram.latency + 40
    assert GTX680.l2.latency <= p.latency_max[second] <= GTX680.l2.latency + 4 * share
    assert (p.latency_sum == p.latency_max).all()


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
