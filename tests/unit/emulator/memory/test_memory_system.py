"""The memory system from outside: latencies to the cycle, links that carry no more than they can, conservation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Instr
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import address, go, module, op

MACHINES = ("gtx680", "c2075", "gpgpusim-sharing")
FIRST_LANE = op("ISETP", pd0=0, ra=0, form=1, imm=1, icmp=1)


def cycles(machine: str, *body: Instr) -> int:
    """Cycles of a block of one warp that has the address of its buffer's words in R4:R5, the first lane's in P0."""
    code = [*address(), FIRST_LANE, *body, op("EXIT")]
    return go(
        module(code, params={"x": 8}, machine=machine), buffers={"x": np.zeros(4096, np.uint32)}, machine=machine
    ).cycles


def used(offset: int = 0) -> tuple[Instr, Instr]:
    """A load of one word by one lane, and an instruction that waits for it."""
    load = op("LDG", rd=8, ra=4, width=4, wbar=1, moff=offset, stall=1, guard=(0, False))
    return load, op("NOP", wait=2, stall=1)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_load_takes_the_latency_of_the_level_that_has_it(machine: str) -> None:
    m = load_machine(machine)
    none = cycles(machine, op("NOP", stall=1))
    cold = cycles(machine, *used())
    again = cycles(machine, *used(), *used())
    tick = m.clock.core_mhz / m.dram.command_mhz
    assert m.dram.latency <= cold - none <= m.dram.latency + 1 + tick  # the command clock ticks when it ticks
    assert again - cold - 1 == (m.l1.latency if m.l1.caches_global else m.l2.latency)


def stream(machine: str, blocks: int, *, loads: bool, stores: bool, **options: Any) -> Result:
    """Every thread loads or stores, or copies, eight words; each word of the grid is touched once."""
    span = 4 * 256 * blocks
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("S2R", rd=1, sreg=6, wbar=0),
        op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4),
        op("IMAD", rd=0, ra=1, form=1, imm=256, rc=0, wait=1), op("IMAD.WIDE", rd=4, ra=0, form=1, imm=4, rc=2),
    ]  # fmt: skip
    if loads:
        code += [op("LDG", rd=8 + i, ra=4, width=4, wbar=1, moff=i * span, stall=1) for i in range(8)]
        code += [op("NOP", wait=2, stall=1)]
    if stores:
        first = 8 if loads else 0
        code += [op("STG", ra=4, rb=8 + i, width=4, moff=(first + i) * span, stall=1) for i in range(8)]
    made = module([*code, op("EXIT")], params={"x": 8}, machine=machine, registers=24)
    words = np.zeros(16 * 256 * blocks, np.uint32)
    return go(made, grid=blocks, block=256, buffers={"x": words}, machine=machine, **options)


@pytest.mark.rotates
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("loads", "stores"), [(True, False), (False, True), (True, True)])
def test_no_link_carries_more_than_its_peak(machine: str, loads: bool, stores: bool) -> None:
    m = load_machine(machine)
    result = stream(machine, 8, loads=loads, stores=stores)
    stats = result.stats
    assert stats["dram_bytes"] <= m.bytes_per_cycle_per_sm * result.cycles
    assert stats["request_bytes"] <= m.interconnect.request_bytes * result.cycles
    assert stats["response_bytes"] <= m.interconnect.response_bytes * result.cycles


@pytest.mark.parametrize("machine", MACHINES)
def test_a_stream_of_loads_reaches_three_quarters_of_the_peak(machine: str) -> None:
    m = load_machine(machine)
    result = stream(machine, 16, loads=True, stores=False)
    assert result.stats["dram_bytes"] >= 0.7 * m.bytes_per_cycle_per_sm * result.cycles


def test_what_one_level_asks_for_the_next_one_gives() -> None:
    stats = stream("gtx680", 8, loads=True, stores=True).stats
    assert stats["global_load_sectors"] == stats["l2_fill_sectors"] == stats["dram_reads"] == 8 * 8 * 256 * 4 // 32
    assert stats["l2_hits"] + stats["l2_misses"] == 8 * 8 * 8
    assert stats["l2_stores"] == 8 * 8 * 8
    assert stats["dram_writes"] == stats["l2_writeback_sectors"]
    assert stats["request_bytes"] == 8 * 1024 + 32 * stats["global_store_sectors"]
    assert stats["response_bytes"] == 8 * 1024 + 32 * stats["global_load_sectors"]


@pytest.mark.parametrize("sms", [1, 3])
def test_the_per_cycle_mode_agrees_on_streams(sms: int) -> None:
    fast = stream("gtx680", 6, loads=True, stores=True, sms=sms)
    slow = stream("gtx680", 6, loads=True, stores=True, sms=sms, reference=True)
    assert fast.stats == slow.stats


STORE = op("STG", ra=4, rb=6, width=4, stall=1)


def fence(scope: int, board: int = 3) -> tuple[Instr, Instr]:
    """A fence of the scope (0: block, 1: device, 2: system), and an instruction that waits for it."""
    return op("MEMBAR", scope=scope, stall=1, wbar=board), op("NOP", wait=1 << board, stall=1)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scope", [1, 2])
def test_a_fence_waits_until_what_was_stored_has_arrived(machine: str, scope: int) -> None:
    after = op("NOP", stall=9)
    arrived = cycles(machine, STORE)  # a grid ends when its last store has
    assert cycles(machine, STORE, *fence(0), after) == arrived
    assert cycles(machine, STORE, *fence(scope), after) == arrived + 1 + 9
    assert cycles(machine, *fence(scope), after) == cycles(machine, *fence(0), after)


def test_fences_one_behind_the_other_end_together() -> None:
    pair = [op("MEMBAR", scope=1, stall=1, wbar=board) for board in (3, 3, 4)]
    one = cycles("gtx680", STORE, *fence(1))
    assert cycles("gtx680", STORE, *pair, op("NOP", wait=24, stall=1)) == one


def test_a_fence_waits_for_atomics_too() -> None:
    red = op("RED", ra=4, rb=7, aop=0, wbar=0)
    alone = cycles("gtx680", red)
    assert cycles("gtx680", red, *fence(1)) >= alone


def test_strides_of_a_power_of_two_find_ways_in_l1() -> None:
    """Sets are hashed: lines 4096 bytes apart are not all of one set."""
    m = load_machine("c2075")
    loads = [op("LDG", rd=255, ra=4, width=4, moff=4096 * i, stall=1) for i in range(m.l1.ways + 4)]
    again = [op("LDG", rd=255, ra=4, width=4, moff=4096 * i, wbar=1, stall=1) for i in range(m.l1.ways + 4)]
    code = [*address(), *loads, op("NOP", stall=1), op("BAR", stall=15), *again, op("NOP", wait=2, stall=1), op("EXIT")]
    made = module(code, params={"x": 8}, machine="c2075")
    stats = go(made, buffers={"x": np.zeros(1 << 15, np.uint32)}, machine="c2075").stats
    assert stats["l1_evictions"] < len(loads)


def test_hits_of_spilled_values_are_told_from_those_of_the_programs_own_local_memory() -> None:
    """Words 0 and 1 of a thread are the program's, 2 and 3 hold spilled values; each is one line of the warp's."""
    own = [op("STL", ra=255, rb=255, width=4, moff=0), op("LDL", rd=4, ra=255, width=4, moff=4, wbar=0)]
    spills = [
        op("STL", ra=255, rb=255, width=4, moff=8, spill=1), op("LDL", rd=5, ra=255, width=4, moff=8, spill=1, wbar=0),
        op("LDL", rd=6, ra=255, width=4, moff=12, spill=1, wbar=0), op("STL", ra=255, rb=255, width=4, moff=8, spill=1),
    ]  # fmt: skip
    code = module([*own, *spills, op("EXIT", wait=1)], local_bytes=8, spill_local=8)
    stats = go(code, block=64).stats
    assert (stats["l1_local_hits"], stats["l1_local_misses"]) == (4, 8)
    assert (stats["l1_spill_hits"], stats["l1_spill_misses"]) == (4, 4)
    assert (stats["l2_local_hits"] + stats["l2_local_misses"], stats["l2_spill_misses"]) == (4, 2)


@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gtx285"])
def test_local_memory_without_spills_has_no_such_hits(machine: str) -> None:
    own = [op("LDL", rd=4 + i, ra=255, width=4, moff=at, wbar=0) for i, at in enumerate((0, 4, 0))]
    stats = go(module([*own, op("EXIT", wait=1)], local_bytes=8, machine=machine), machine=machine).stats
    assert [stats[f"{level}_spill_{what}"] for level in ("l1", "l2") for what in ("hits", "misses")] == [0, 0, 0, 0]
    own = [each.replace(spill=1) for each in own]
    stats = go(module([*own, op("EXIT", wait=1)], spill_local=8, machine=machine), machine=machine).stats
    for level in ("l1", "l2"):
        for what in ("hits", "misses"):
            assert stats[f"{level}_spill_{what}"] == stats[f"{level}_local_{what}"]
    assert stats["l2_spill_hits"] + stats["l2_spill_misses"] > 0
