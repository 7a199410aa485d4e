"""Instruction cache and constant cache, to the cycle: loops that fit and loops that do not, prefetching, constants as
operands and by LDC, what a look costs that misses, who waits for what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.policies.gates.table import GATES
from binalloc.emulator.runs.run import Result
from binalloc.emulator.state.layout import Warp
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.stops.deadlock import standing
from binalloc.isa.instruction import Instr, Module
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator import micro
from tests.support.kits.emulator.micro import latency, walks
from tests.support.kits.emulator.small import go, module, op
from tests.support.kits.machines import constant_lines, instruction_cache

V100 = load_machine("v100")
WORDS = 8  # of code in 128 bytes
BANK = 3
FROM_L2 = V100.l2.latency + 3
"""From a look that misses until the warp may issue: a load's answer has a packet of 40 bytes, this one of 136."""


def with_code(line_bytes: int, sets: int, ways: int, mshrs: int = 2, prefetch: int = 0, m: Machine = V100) -> Machine:
    return replace(m, instruction_cache=instruction_cache(line_bytes, sets, ways, mshrs, prefetch))


def with_constants(line_bytes: int, sets: int, ways: int, mshrs: int = 2, m: Machine = V100) -> Machine:
    return replace(m, constant_cache=constant_lines(line_bytes, sets, ways, mshrs))


def add(stall: int = 4) -> Instr:
    return op("IADD3", stall=stall, rd=9, ra=255, rb=255, rc=255)


def loop(lines: int, times: int) -> Module:
    """So many lines of code, through which one warp goes so many times, behind a first one."""
    head = [op("MOV", rd=4, form=1, imm=times), *[add() for _ in range(WORDS - 1)]]
    body = [
        op("IADD3", rd=4, ra=4, form=1, imm=0xFFFFFFFF, rc=255),
        op("ISETP", pd0=0, ra=4, form=1, imm=0, icmp=5, u32cmp=1),
        *[add() for _ in range(WORDS * lines - 4)], op("BRA", stall=1, guard=(0, False), target=-(WORDS * lines - 1)),
    ]  # fmt: skip
    return module([*head, *body, op("EXIT", stall=1)], machine="v100")


def gained(machine: Machine, code: Module, **options: Any) -> tuple[int, Result]:
    """Cycles more than without the caches, and the run."""
    off = replace(machine, instruction_cache=None, constant_cache=None)
    result = go(code, machine=machine, **options)
    return result.cycles - go(code, machine=off, **options).cycles, result


def test_a_loop_that_fits_costs_its_lines_once() -> None:
    machine = with_code(128, 1, 4)
    costs = {gained(machine, loop(2, times))[0] for times in (1, 2, 7, 50)}
    assert len(costs) == 1
    stats = go(loop(2, 50), machine=machine).stats
    assert (stats["instruction_misses"], stats["instruction_fill_sectors"]) == (3, 12)
    assert stats["instruction_hits"] == stats["warp_instructions"] - 3
    assert (stats["l2_instruction_misses"], stats["l2_misses"]) == (3, 3)


@pytest.mark.parametrize(("lines", "ways"), [(3, 2), (2, 1), (5, 4)])
def test_a_loop_of_a_line_more_than_the_cache_has_misses_every_line_every_time(lines: int, ways: int) -> None:
    """Least recently used: each line has gone when its turn comes again. From the second time on L2 has it."""
    machine = with_code(128, 1, ways)
    once, _ = gained(machine, loop(lines, 1))
    for times in (2, 5):
        more, result = gained(machine, loop(lines, times))
        assert more - once == (times - 1) * lines * FROM_L2
        assert result.stats["instruction_misses"] == 1 + lines * times
        assert result.stats["l2_instruction_hits"] == lines * (times - 1)


def test_a_loop_of_one_line_fits_a_cache_of_one() -> None:
    machine = with_code(128, 1, 1)
    assert gained(machine, loop(1, 2))[0] == gained(machine, loop(1, 30))[0]


@pytest.mark.parametrize("line_bytes", [32, 64, 128])
@pytest.mark.parametrize("prefetch", [0, 1, 3, 8])
def test_straight_code_asks_for_each_line_once(line_bytes: int, prefetch: int) -> None:
    code = module([*[add(1) for _ in range(63)], op("EXIT")], machine="v100")
    lines = 64 * 16 // line_bytes
    stats = go(code, machine=with_code(line_bytes, 1, 64, 16, prefetch)).stats
    assert stats["instruction_fill_sectors"] == lines * line_bytes // 32
    assert stats["instruction_prefetches"] == (lines - 1 if prefetch else 0)
    assert stats["instruction_hits"] + stats["instruction_misses"] == 64


def test_what_is_prefetched_comes_sooner() -> None:
    code = module([*[add(4) for _ in range(127)], op("EXIT")], machine="v100")
    cycles = [go(code, machine=with_code(128, 1, 64, 16, ahead)).cycles for ahead in (0, 1, 2, 4, 8)]
    assert cycles == sorted(cycles, reverse=True)
    assert len(set(cycles)) == 5


def test_code_of_other_functions_is_not_prefetched_beyond_the_last() -> None:
    code = module([op("EXIT")], machine="v100")
    stats = go(code, machine=with_code(128, 1, 64, 16, 8)).stats
    assert (stats["instruction_prefetches"], stats["instruction_fill_sectors"]) == (0, 4)


def test_a_second_warp_finds_what_the_first_has_asked_for() -> None:
    code = module([*[add() for _ in range(15)], op("EXIT")], machine="v100")
    stats = go(code, machine=with_code(128, 1, 4), block=64).stats
    assert (stats["instruction_misses"], stats["instruction_fill_sectors"]) == (4, 8)


def test_one_request_at_a_time_is_enough_for_warps_at_different_lines() -> None:
    """Half of the warps go on in another line than the others; a cache of one line and one request serves all."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("ISETP", pd0=0, ra=0, form=1, imm=64, icmp=1, wait=1),
        op("BRA", guard=(0, False), target=20, diverges=1, reconv=20), *[add() for _ in range(20)], add(), op("EXIT"),
    ]  # fmt: skip
    for machine in (with_code(32, 1, 1, 1), with_code(32, 1, 1, 1, 8), with_code(32, 2, 1, 1)):
        fast, slow = (go(module(code, machine="v100"), machine=machine, block=128, reference=r) for r in (False, True))
        assert (fast.cycles, fast.stats) == (slow.cycles, slow.stats)
        assert fast.stats["warp_instructions"] == 2 * 5 + 2 * 25


@pytest.mark.rotates
@pytest.mark.parametrize("name", list_machines())
def test_a_chase_through_constants_reads_back_the_latency_of_a_hit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second part of the walk; in the first one a load had to wait for the line."""
    m = load_machine(name)
    (plain,) = walks("chase_constant", name, engine="python")
    cached = with_constants(64, 4, 2, m=m)
    monkeypatch.setattr(micro, "load_machine", lambda _: cached)
    (parts,) = walks("chase_constant", name, engine="python")
    assert latency(plain, (8, 25)) == m.constant.latency
    assert parts[1] == plain[1]
    cold = parts[0] - plain[0] + m.constant.latency
    assert m.l2.latency < cold < m.dram.latency + 20  # of two sectors, where `dram.latency` is that of one


def chase(steps: int, far: int) -> Module:
    """LDC after LDC from two words that lie `far` apart and hold each other's offset; times behind the first four."""
    bank = np.zeros(1024, np.uint32)
    bank[0] = far
    walk = [op("LDC", rd=4, ra=4, cbank=BANK, width=4, wbar=0, wait=1, stall=2) for _ in range(steps)]
    start = [op("MOV", rd=4, form=1, imm=0), *walk[:4], op("MOV", rd=6, rb=4, wait=1)]
    code = [*start, op("CS2R", rd=8, sreg=25, stall=15), *walk[4:], op("EXIT", wait=1, stall=1)]
    return module(code, machine="v100", constants={BANK: bank.tobytes()})


def test_a_chase_that_a_cache_of_one_line_cannot_hold_reads_back_l2() -> None:
    """A line of 64 bytes is a packet of 72: three cycles, where the load that `l2.latency` tells of takes two."""
    cycles = [go(chase(n, 256), machine=with_constants(64, 1, 1)).cycles for n in (8, 20)]
    assert cycles[1] - cycles[0] == 12 * (V100.l2.latency + 1)
    near = [go(chase(n, 32), machine=with_constants(64, 1, 1)).cycles for n in (8, 20)]
    assert near[1] - near[0] == 12 * V100.constant.latency
    assert go(chase(20, 256), machine=with_constants(64, 1, 1)).stats["constant_misses"] == 20
    assert go(chase(20, 32), machine=with_constants(64, 1, 1)).stats["constant_hits"] == 19


def operands(*offsets: int) -> Module:
    read = [op("IADD3", stall=4, rd=9, ra=255, form=2, cbank=BANK, coff=at, rc=255) for at in offsets]
    return module([*read, op("EXIT", stall=1)], machine="v100", constants={BANK: bytes(4096)})


def test_operands_that_hit_cost_nothing_and_those_that_miss_hold_the_warp() -> None:
    one_line = with_constants(64, 1, 1)
    first, result = gained(one_line, operands(0, 4, 60, 8))
    assert (result.stats["constant_hits"], result.stats["constant_misses"]) == (3, 1)
    assert result.stats["stalls"]["constant"] == first
    assert gained(one_line, operands(*[0] * 40))[0] == first
    to_and_fro, result = gained(one_line, operands(0, 64, *[0, 64] * 5))
    two, _ = gained(one_line, operands(0, 64))
    assert to_and_fro - two == 10 * (V100.l2.latency + 1)
    assert result.stats["constant_fill_sectors"] == 24
    assert result.stats["l2_constant_hits"] == 10


def test_parameters_are_constants() -> None:
    code = [op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4), op("EXIT")]
    m = module(code, params={"x": 8}, machine="v100")
    stats = go(m, machine=with_constants(64, 4, 2), buffers={"x": [0]}).stats
    assert (stats["constant_hits"], stats["constant_misses"], stats["constant_fill_sectors"]) == (1, 1, 2)


def test_banks_lie_64_kb_apart_and_share_no_line() -> None:
    code = [op("IADD3", rd=9, ra=255, form=2, cbank=b, coff=0, rc=255) for b in (3, 4, 3, 4)]
    m = module([*code, op("EXIT")], machine="v100", constants={3: bytes(16), 4: bytes(16)})
    assert go(m, machine=with_constants(64, 1, 4)).stats["constant_misses"] == 2


def test_an_operand_outside_of_its_bank_is_a_fault_and_no_look() -> None:
    code = [op("IADD3", guard=(0, False), rd=9, ra=255, form=2, cbank=BANK, coff=4096, rc=255), op("EXIT")]
    m = module(code, machine="v100", constants={BANK: bytes(4096)})
    assert go(m, machine=with_constants(64, 1, 4)).stats["constant_misses"] == 0


def load_lanes(stride: int, width: int = 4) -> Module:
    """Each lane loads a word of its own, `stride` bytes from the next lane's; then another from the same lines."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("IMAD", rd=1, ra=0, form=1, imm=stride, rc=255, wait=1),
        op("LDC", rd=4, ra=1, cbank=BANK, width=width, wbar=1, stall=2),
        op("LDC", rd=8, ra=1, cbank=BANK, width=width, wbar=1, wait=2, stall=2), op("EXIT", wait=2, stall=1),
    ]  # fmt: skip
    return module(code, machine="v100", constants={BANK: bytes(4096)})


@pytest.mark.parametrize(("stride", "lines"), [(0, 1), (4, 2), (16, 8), (64, 32), (128, 32)])
def test_lanes_look_for_each_line_once_and_take_a_pass_for_each_word(stride: int, lines: int) -> None:
    machine = with_constants(64, 8, 4, 64)
    stats = go(load_lanes(stride), machine=machine).stats
    assert stats["constant_misses"] >= lines
    assert stats["constant_hits"] + stats["constant_misses"] == 2 * lines
    if lines <= 8:
        assert (stats["constant_misses"], stats["constant_hits"]) == (lines, lines)
        warm = [go(load_lanes(stride), machine=m).cycles for m in (V100, replace(V100, constant_cache=None))]
        assert warm[0] == warm[1]


@pytest.mark.rotates("long")
@pytest.mark.parametrize("mshrs", [1, 2, 31])
def test_lines_of_a_load_that_find_no_room_are_held(mshrs: int) -> None:
    """A cache of one line and 32 lines of one load: one after the other, and nothing else goes to memory meanwhile."""
    machine = with_constants(64, 1, 1, mshrs)
    fast, slow = (go(load_lanes(64), machine=machine, reference=reference, block=64) for reference in (False, True))
    assert (fast.cycles, fast.stats) == (slow.cycles, slow.stats)
    assert fast.stats["constant_misses"] + fast.stats["constant_hits"] == 4 * 32
    assert fast.stats["stalls"]["port_busy"] > 32 * V100.l2.latency


def test_a_pair_is_issued_together_only_where_both_words_are_there() -> None:
    """Word 7 and word 8 lie in two lines: the first time the second of them waits for its line, then they go
    together."""
    kepler = load_machine("gtx680")
    head = [op("MOV", rd=4, form=1, imm=3), *[add() for _ in range(5)]]
    body = [
        op("IADD3", rd=4, ra=4, form=1, imm=0xFFFFFFFF, rc=255), add(0), op("FFMA", rd=10, ra=255, rb=255, rc=255),
        op("ISETP", pd0=0, ra=4, form=1, imm=0, icmp=5, u32cmp=1), op("BRA", guard=(0, False), target=-5),
    ]  # fmt: skip
    code = module([*head, *body, op("EXIT")], machine="gtx680")
    assert go(code, machine=kepler).stats["dual_issues"] == 3
    result = go(code, machine=with_code(128, 1, 4, m=kepler))
    assert (result.stats["dual_issues"], result.stats["instruction_misses"]) == (2, 2)
    assert result.stats["instruction_hits"] == result.stats["warp_instructions"] - 2


def test_lost_slots_are_held_against_the_instruction_that_waits() -> None:
    code = module([*[add() for _ in range(9)], operands(0).functions[0].instrs[0], op("EXIT")], machine="v100",
                  constants={BANK: bytes(16)})  # fmt: skip
    machine = replace(with_code(128, 1, 4), constant_cache=constant_lines(64, 1, 1))
    result = go(code, machine=machine, profile=True)
    stalls = result.profile["k"].stalls
    assert [i for i, n in enumerate(stalls["instruction_fetch"]) if n] == [0, 8]
    assert [i for i, n in enumerate(stalls["constant"]) if n] == [9]


@pytest.mark.parametrize("gate", ["instruction_fetch", "constant"])
def test_a_warp_that_waits_for_its_code_or_a_constant_is_told_of(gate: str) -> None:
    machine = replace(with_code(128, 1, 4), constant_cache=constant_lines(64, 1, 1))
    told: set[str] = set()
    state = Warp.GATE + list(GATES).index(gate)

    def look(device: LaunchedDevice, cycle: int) -> None:
        if device.get("retired") == 0 and device.engine.get(device.sms, 0, "state")[0] == state:
            told.add(standing(StoppedContext(device)))

    go(operands(0), machine=machine, observer=look)
    what = GATES[gate].awaited
    assert told == {f"block 0 (SM 0): warp 0 waiting for {what} at k+0 `IADD3 R9, RZ, c[3][0x0], RZ`"}


@pytest.mark.parametrize("name", list_machines())
def test_caches_that_are_not_enabled_are_as_good_as_none(name: str) -> None:
    m = load_machine(name)
    bare = replace(m, instruction_cache=None, constant_cache=None)
    code = module([*[add() for _ in range(20)], op("EXIT")], machine=name)
    there, gone = (go(code, machine=each).stats for each in (m, bare))
    if not any(cache and cache.enabled for cache in (m.instruction_cache, m.constant_cache)):
        assert there == gone
    assert gone["instruction_hits"] == gone["stalls"]["instruction_fetch"] == 0


@pytest.mark.parametrize("name", [name for name in list_machines() if load_machine(name).instruction_cache])
def test_the_caches_of_every_file_run_when_they_are_switched_on(name: str) -> None:
    m = load_machine(name)
    assert m.instruction_cache is not None
    assert m.constant_cache is not None
    on = replace(
        m, instruction_cache=replace(m.instruction_cache, enabled=True),
        constant_cache=replace(m.constant_cache, enabled=True),
    )  # fmt: skip
    code = [op("MOV", rd=2, form=2, cbank=0, coff=0), *[add() for _ in range(20)], op("EXIT")]
    stats = go(module(code, params={"x": 8}, machine=name), machine=on, buffers={"x": [0]}, block=64).stats
    assert stats["instruction_hits"] + stats["instruction_misses"] == 44
    assert stats["instruction_fill_sectors"] == 12
    assert stats["constant_hits"] + stats["constant_misses"] == 2


def test_the_least_recently_used_row_makes_room() -> None:
    """A second look at line 0 keeps it: line 2 takes the row of line 1."""
    stats = go(operands(0, 64, 0, 128, 0, 64), machine=with_constants(64, 1, 2)).stats
    assert (stats["constant_hits"], stats["constant_misses"]) == (2, 4)


@pytest.mark.parametrize("comparison", [1, 6])
def test_what_has_come_for_a_warp_it_keeps_though_another_takes_the_row_in_that_cycle(comparison: int) -> None:
    """One of two warps goes through lines 1 to 3, the other jumps to line 4, in a cache of one: who had no room takes
    the row in the cycle in which the other's line has come to it. Lines are asked for twice only where a warp needs a
    further word of one that has gone."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=comparison, wait=1),
        op("BRA", guard=(0, False), target=5), *[add(1) for _ in range(4)], op("EXIT"), add(1), op("EXIT"),
    ]  # fmt: skip
    stats = go(module(code, machine="v100"), machine=with_code(32, 1, 1, 1), block=64).stats
    assert (stats["instruction_fill_sectors"], stats["instruction_misses"]) == (5 + 2, 9)


def test_loads_of_two_banks_share_no_line() -> None:
    code = [op("LDC", rd=4 + b, ra=255, cbank=b, width=4, wbar=0) for b in (3, 4)]
    m = module([*code, op("EXIT", wait=1)], machine="v100", constants={3: bytes(16), 4: bytes(16)})
    stats = go(m, machine=with_constants(64, 1, 4)).stats
    assert (stats["constant_hits"], stats["constant_misses"], stats["constant_fill_sectors"]) == (0, 2, 4)


def test_lanes_that_do_not_load_look_for_nothing() -> None:
    """Eight lanes of 32, each with a line of its own."""
    code = [
        op("S2R", rd=0, sreg=0, wbar=0), op("IMAD", rd=1, ra=0, form=1, imm=64, rc=255, wait=1),
        op("ISETP", pd0=0, ra=0, form=1, imm=8, icmp=1),
        op("LDC", rd=4, ra=1, cbank=BANK, width=4, wbar=1, guard=(0, False)), op("EXIT", wait=2),
    ]  # fmt: skip
    m = module(code, machine="v100", constants={BANK: bytes(4096)})
    assert go(m, machine=with_constants(64, 1, 64, 64)).stats["constant_misses"] == 8


@pytest.mark.parametrize("mshrs", [1, 4, 32])
def test_no_more_lines_are_under_way_than_there_are_requests(mshrs: int) -> None:
    """32 lines of one load, and room for all of them in the cache: as many at a time as may be asked for."""
    many = go(load_lanes(64), machine=with_constants(64, 1, 64, 64)).cycles
    some = go(load_lanes(64), machine=with_constants(64, 1, 64, mshrs)).cycles
    if mshrs == 32:
        assert some == many
    else:
        assert some >= 32 // mshrs * V100.l2.latency
