"""Closed forms of the timing model, conservation of issue slots, and agreement of the two clock modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.isa.instruction import Instr, Module
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.every_unit import counters, one_of_each
from tests.support.kits.emulator.small import address, go, module, op


def stream(n: int, name: str = "IADD3") -> Module:
    body = [op(name, stall=1, rd=8 + i % 16, ra=255, rb=255, rc=255) for i in range(n)]
    return module([*body, op("EXIT", stall=15)], registers=24)


@pytest.mark.parametrize(("machine", "blocks"), [("gtx680", 8), ("c2075", 6)])
def test_a_dependence_free_stream_issues_one_instruction_per_scheduler_and_cycle(machine: str, blocks: int) -> None:
    m = stream(60)
    m.functions[0].info.machine = machine
    result = go(m, grid=blocks, block=256, machine=machine)
    target = load_machine(machine)
    ports = min(target.schedulers.count, target.units.alu.ports / target.units.alu.interval)
    ideal = 60 * blocks * 8 / ports
    assert ideal <= result.cycles <= ideal * 1.1 + 60


def test_lanes_that_read_the_same_word_share_one_pass() -> None:
    loads = [op("LDS", stall=1, rd=255, ra=255, width=4, moff=64) for _ in range(10)]
    assert go(module([*loads, op("EXIT")], shared_bytes=128)).stats["shared_passes"] == 10


@pytest.mark.parametrize(("lanes", "passes"), [(1, 1), (17, 2)])
def test_a_wide_access_of_few_lanes_takes_a_pass_a_half_in_use_and_no_conflict(lanes: int, passes: int) -> None:
    start = [op("S2R", rd=0, sreg=12, wbar=0), op("IMAD", rd=1, ra=0, form=1, imm=8, rc=255, wait=1)]
    some = op("ISETP", pd0=0, ra=0, form=1, imm=lanes, icmp=1)
    load = op("LDS", rd=4, ra=1, width=5, wbar=1, guard=(0, False))
    code = module([*start, some, load, op("EXIT", wait=2)], shared_bytes=512, machine="c2075")
    stats = go(code, machine="c2075").stats
    assert (stats["shared_passes"], stats["bank_conflict_cycles"]) == (passes, 0)


@pytest.mark.parametrize(
    ("scale", "width", "sectors"), [(4, 4, 4), (8, 4, 8), (32, 4, 32), (0, 4, 1), (16, 6, 16), (1, 0, 1)]
)
def test_a_global_load_moves_its_distinct_sectors(scale: int, width: int, sectors: int) -> None:
    code = address()
    code[3] = op("IMAD.WIDE", rd=4, ra=0, form=1, imm=scale, rc=2, wait=1)
    code += [op("LDG", rd=8, ra=4, width=width, wbar=1), op("EXIT", wait=2)]
    result = go(module(code, params={"x": 8}), buffers={"x": np.zeros(512, np.uint32)})
    assert result.stats["global_load_sectors"] == sectors
    assert result.stats["l2_fill_sectors"] == sectors
    assert result.stats["dram_bytes"] == 32 * sectors


@pytest.mark.rotates("long")
def test_bandwidth_bounds_a_stream_of_loads() -> None:
    code = [*address(), *[op("LDG", stall=1, rd=255, ra=4, width=4, moff=128 * i) for i in range(64)], op("EXIT")]
    result = go(module(code, params={"x": 8}), grid=8, block=256, buffers={"x": np.zeros(16384, np.uint32)})
    machine = load_machine("gtx680")
    least = result.stats["dram_bytes"] / machine.bytes_per_cycle_per_sm
    assert result.one_for_all
    assert least <= result.cycles


def test_local_memory_hits_in_l1_at_its_latency() -> None:
    code = [op("STL", ra=255, rb=255, width=4), op("LDL", rd=4, ra=255, width=4, wbar=0), op("EXIT", wait=1, stall=1)]
    result = go(module(code, local_bytes=4))
    assert result.stats["l1_local_hits"] == 1
    assert result.stats["l1_local_misses"] == 1
    assert result.stats["dram_bytes"] == 0
    machine = load_machine("gtx680")
    assert result.cycles == 15 + machine.l1.latency + 1


def test_a_cold_local_load_fetches_its_line() -> None:
    result = go(module([op("LDL", rd=4, ra=255, width=4, wbar=0), op("EXIT", wait=1)], local_bytes=4))
    assert result.stats["local_fill_sectors"] == 4
    assert result.stats["local_bytes_moved"] == 128
    assert result.cycles > load_machine("gtx680").dram.latency


def test_dirty_local_lines_are_written_back_when_they_are_evicted() -> None:
    machine = load_machine("gtx680")
    lines = machine.l1.sets * machine.l1.ways
    code = [op("STL", stall=1, ra=255, rb=255, width=4, moff=4 * i) for i in range(lines + 10)]
    result = go(module([*code, op("EXIT")], local_bytes=4 * len(code)))
    assert result.stats["l1_evictions"] == 10
    assert result.stats["local_writeback_sectors"] == 40


def test_fermi_caches_global_loads_and_kepler_does_not() -> None:
    code = [*address(), op("LDG", rd=6, ra=4, width=4, wbar=1), op("LDG", rd=7, ra=4, width=4, wbar=1, wait=2),
            op("EXIT", wait=2)]  # fmt: skip
    for machine, hits in (("c2075", 1), ("gtx680", 0)):
        m = module(code, params={"x": 8}, machine=machine)
        result = go(m, buffers={"x": np.zeros(32, np.uint32)}, machine=machine)
        assert result.stats["l1_global_hits"] == hits, machine


def test_atomics_on_one_address_follow_one_another() -> None:
    def cycles(scale: int) -> int:
        code = address()
        code[3] = op("IMAD.WIDE", rd=4, ra=0, form=1, imm=scale, rc=2, wait=1)
        code += [op("MOV", rd=7, form=1, imm=1), op("RED", ra=4, rb=7, aop=0, wbar=0), op("EXIT", wait=1)]
        result = go(module(code, params={"x": 8}), buffers={"x": np.zeros(32, np.uint32)})
        assert result.buffers["x"].sum() == 32
        return result.cycles

    assert cycles(0) >= cycles(4) + 10  # though it moves one sector, not four


def test_stall_zero_issues_the_next_instruction_in_the_same_cycle_where_ports_permit() -> None:
    def pair(second: Instr, machine: str = "gtx680") -> Any:
        code = [i for _ in range(20) for i in (op("FFMA", stall=0, rd=8, ra=255, rb=255, rc=255), second)]
        return go(module([*code, op("EXIT")], machine=machine), machine=machine)

    add = op("IADD3", stall=9, rd=9, ra=255, rb=255, rc=255)
    both = pair(add)
    assert both.stats["dual_issues"] == 20
    assert both.cycles == pytest.approx(20 * 9, abs=2)
    assert pair(add, "c2075").stats["dual_issues"] == 0


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gpgpusim-sharing"])
@pytest.mark.parametrize("sms", [1, 3])
def test_every_issue_slot_is_an_issue_or_one_stall_reason(machine: str, sms: int) -> None:
    cycles, stats, _, _ = counters(one_of_each(), machine, sms=sms)
    m = load_machine(machine)
    slots = cycles * m.schedulers.count * m.schedulers.issue_width * sms
    assert stats["issue_slots"] + sum(stats["stalls"].values()) == slots
    assert stats["issue_slots"] == stats["warp_instructions"] == sum(stats["units"].values())
    assert stats["blocks_dispatched"] == stats["blocks_retired"] == 7


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075"])
@pytest.mark.parametrize("sms", [1, 2])
@pytest.mark.parametrize("blocks", [1, None])
def test_the_per_cycle_mode_agrees_on_every_counter(machine: str, sms: int, blocks: int | None) -> None:
    fast = counters(one_of_each(), machine, sms=sms, blocks_per_sm=blocks)
    slow = counters(one_of_each(), machine, sms=sms, blocks_per_sm=blocks, reference=True)
    assert fast == slow


def test_cache_misses_are_fills_and_merges() -> None:
    _, stats, _, _ = counters(one_of_each())
    assert stats["local_fill_sectors"] == 0
    code = [
        op("LDL", stall=1, rd=4, ra=255, width=4, wbar=0),
        op("LDL", stall=1, rd=5, ra=255, width=4, wbar=0),
        op("EXIT"),
    ]
    stats = go(module(code, local_bytes=4)).stats
    assert stats["l1_local_misses"] == stats["local_fill_sectors"] // 4 + stats["l1_merges"] == 2


def test_fewer_resident_blocks_lower_the_occupancy() -> None:
    m = module([op("IADD3", stall=9, rd=8, ra=8, rb=255, rc=255) for _ in range(30)] + [op("EXIT")], registers=24)
    one = go(m, grid=8, block=256, blocks_per_sm=1)
    all_ = go(m, grid=8, block=256)
    assert one.occupancy < all_.occupancy
    assert one.cycles > all_.cycles
