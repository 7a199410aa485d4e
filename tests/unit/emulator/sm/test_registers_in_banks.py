"""Register banks and the operand cache: what others have measured, worked out to the cycle, and rules one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import RegisterFile
from tests.support.kits.emulator.run_log import logged
from tests.support.kits.emulator.small import address, go, module, op, outcome


def ffma(a: int, b: int, c: int, d: int = 6, **code: Any) -> Instr:
    return op("FFMA", **{"stall": 1, **code}, rd=d, ra=a, rb=b, rc=c)


def iadd3(a: int, b: int, c: int, d: int = 6, **code: Any) -> Instr:
    return op("IADD3", **{"stall": 1, **code}, rd=d, ra=a, rb=b, rc=c)


def execute(*body: Instr, machine: Machine | str = "rtx3070", block: int = 32, **options: Any) -> Result:
    target = load_machine(machine) if isinstance(machine, str) else machine
    registers = min(128, target.sm.registers_per_thread)
    code = module([*body, op("EXIT")], machine=target.name, registers=registers)
    return go(code, machine=target, block=block, hazards=False, **options)


def with_banks(shape: RegisterFile, name: str = "gtx680") -> Machine:
    return replace(load_machine(name), register_file=shape)


ONE = RegisterFile(banks=2, reads=1, window=1, operand_cache=True)
"""Without any slack: an instruction waits a cycle for each register beyond the first of a bank."""


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["v100", "rtx2060", "rtx3070"])
@pytest.mark.parametrize(
    ("first", "third", "reuse", "cycles"),
    [(97, 100, 0, 2), (97, 101, 0, 3), (98, 100, 0, 2), (98, 101, 0, 2), (97, 101, 2, 2)],
)
def test_an_ffma_takes_a_cycle_more_where_all_its_sources_are_in_one_bank(
    machine: str, first: int, third: int, reuse: int, cycles: int
) -> None:
    """FFMA R6, R97, R99, RX and FFMA R6, R98, R99, RX: Jia et al., Volta. A stream of them on every scheduler. On Volta
    and Turing they come every two cycles, so only three of a bank are too many; on Ampere two are."""
    n = 60
    result = execute(*[ffma(first, 99, third, reuse=reuse)] * n, machine=machine, block=128)
    assert n * cycles - 2 <= result.cycles <= n * cycles + 1
    assert (result.stats["register_conflicts"] > 0) == (cycles == 3 or machine == "rtx3070")


@pytest.mark.parametrize(("x", "y", "cycles"), [(19, 21, 5), (18, 21, 6), (18, 20, 7)])
def test_two_ffmas_of_ampere_in_a_row(x: int, y: int, cycles: int) -> None:
    """Listing 1 of Huerta et al.: two FFMA and two NOP; the registers of the first are all even, as is one of the
    second's."""
    nop = op("NOP", stall=1)
    result = execute(ffma(10, 12, 14, 11), ffma(16, x, y, 13), nop, nop)
    assert result.cycles == cycles
    assert result.stats["stalls"]["register_bank"] == result.stats["register_wait_cycles"] == cycles - 5


@pytest.mark.parametrize(
    ("instr", "bubble"),
    [
        (op("FMUL", stall=1, rd=6, ra=10, rb=13), 0),
        (op("FMUL", stall=1, rd=6, ra=10, rb=12), 1),
        (ffma(10, 12, 13), 1),
        (ffma(10, 12, 14), 2),
        (ffma(10, 10, 13), 0),  # one register for two operands is read once
        (op("FFMA", stall=1, rd=6, ra=10, rb=12, rc=255), 1),  # RZ is not read, nor are immediates
        (op("FFMA", stall=1, rd=6, ra=10, rc=12, form=1, imm=0), 1),
        (op("FFMA", stall=1, rd=6, ra=10, rc=13, form=3, imm=0), 0),
        (op("MOV", stall=1, rd=6, form=1, imm=1), 0),
    ],
)
def test_bubbles_of_a_stream(instr: Instr, bubble: int) -> None:
    """Huerta et al., section 5.3: FMUL of two registers of a bank 1 cycle, FFMA of three 2 cycles."""
    machine = load_machine("rtx3070")
    fma, alu = (replace(unit, interval=1) for unit in (machine.units.fma, machine.units.alu))
    every = replace(machine.units, fma=fma, alu=alu)
    n = 50
    cycles = execute(*[instr] * n, machine=replace(machine, units=every)).cycles
    assert abs(cycles - n * (1 + bubble)) <= 3


def test_both_words_of_a_pair_are_in_banks_of_their_own() -> None:
    machine = with_banks(ONE, "v100")
    for pairs, waited in (((10, 255), 0), ((10, 12), 1), ((10, 10), 0)):
        result = execute(op("DADD", rd=6, ra=pairs[0], rb=pairs[1]), machine=machine)
        assert result.stats["register_wait_cycles"] == waited
    wide = op("IMAD.WIDE", rd=6, ra=10, rb=13, rc=20)
    assert execute(wide, machine=machine).stats["register_wait_cycles"] == 1


@pytest.mark.parametrize(
    ("instrs", "hits"),
    [
        ((iadd3(2, 3, 4, reuse=1), ffma(2, 7, 8), iadd3(2, 12, 13)), 1),
        ((iadd3(2, 3, 4, reuse=1), ffma(2, 7, 8, reuse=1), iadd3(2, 12, 13)), 2),
        ((iadd3(2, 3, 4, reuse=1), ffma(7, 2, 8), iadd3(2, 12, 13)), 1),
        ((iadd3(2, 3, 4, reuse=1), ffma(4, 7, 8), iadd3(2, 12, 13)), 0),
    ],
)
def test_what_the_operand_cache_keeps(instrs: tuple[Instr, ...], hits: int) -> None:
    """Listing 4 of Huerta et al., examples 1 to 4."""
    assert execute(*instrs).stats["operand_cache_hits"] == hits


def test_a_kept_operand_is_not_read() -> None:
    body = [ffma(10, 12, 14, reuse=4), ffma(16, 18, 14)]
    assert execute(*body, machine=with_banks(ONE)).stats["register_wait_cycles"] == 2 + 1
    without = with_banks(replace(ONE, operand_cache=False))
    assert execute(*body, machine=without).stats["register_wait_cycles"] == 2 + 2


def test_another_warp_uses_up_what_a_warp_has_kept() -> None:
    """Two warps of one scheduler in turn (lrr), on the same entry: neither finds its own, nor the other's."""
    body = [ffma(10, 13, 15, reuse=1), ffma(10, 13, 15, reuse=1), ffma(10, 13, 15)]
    assert execute(*body).stats["operand_cache_hits"] == 2
    assert execute(*body, block=5 * 32).stats["operand_cache_hits"] == 3 * 2  # warps 0 and 4 share scheduler 0
    assert execute(*body, block=5 * 32, scheduler="gto").stats["operand_cache_hits"] == 5 * 2


def test_a_warp_does_not_find_what_one_before_it_in_its_slot_has_left() -> None:
    body = [ffma(10, 13, 15, reuse=7)]
    machine = load_machine("rtx3070")
    alone = replace(machine, sm=replace(machine.sm, blocks_per_sm=1))
    result = execute(*body, machine=alone, grid=4)
    assert (result.blocks_per_sm, result.stats["operand_cache_hits"]) == (1, 0)


def test_slow_units_and_memory_read_no_banks() -> None:
    loads = [*address(), op("STG", stall=1, ra=4, rb=10, width=4), op("MUFU", stall=1, rd=6, rb=12, wbar=1)]
    code = module([*loads, op("EXIT", wait=2)], params={"x": 8}, machine="v100", registers=32)
    machine = with_banks(RegisterFile(1, 1, 1, True), "v100")
    result, rows = logged(code, machine=machine, buffers={"x": np.zeros(32, np.uint32)}, hazards=False)
    cycle = {row.pc: row.cycle for row in rows if row.kind == "issue"}
    assert cycle[5] == cycle[4] + 1
    assert result.stats["register_conflicts"] == 1  # IMAD.WIDE of `address`: R0 and the pair R2:R3


def test_whoever_waits_issues_alone() -> None:
    """The second of a pair goes with the first where that does not wait, and the two share the banks."""
    machine = with_banks(ONE)
    free = execute(ffma(10, 13, 255, stall=0), iadd3(15, 16, 255), machine=machine).stats
    assert (free["dual_issues"], free["register_wait_cycles"]) == (1, 1)
    late = execute(ffma(10, 12, 255, stall=0), iadd3(15, 255, 255), machine=machine)
    assert (late.stats["dual_issues"], late.stats["register_wait_cycles"]) == (0, 1)
    roomy = with_banks(replace(ONE, window=2))
    assert late.cycles == execute(ffma(10, 12, 255), iadd3(15, 255, 255), machine=roomy).cycles + 1


def test_a_result_behind_a_scoreboard_is_as_late_as_its_instruction() -> None:
    def issued(machine: Machine) -> int:
        code = [ffma(10, 12, 14, wbar=0), op("NOP", wait=1), op("EXIT")]
        _, rows = logged(module(code, registers=32), machine=machine, hazards=False)
        return next(row.cycle for row in rows if row.kind == "issue" and row.pc == 1)

    assert issued(with_banks(ONE)) == issued(load_machine("gtx680")) + 2


def test_ports_are_taken_until_a_late_instruction_has_begun_and_gone() -> None:
    """Of an SM with one port; the next FFMA is another scheduler's."""
    plain = load_machine("gtx680")
    units = replace(plain.units, fma=replace(plain.units.fma, ports=1, interval=3))
    both = [replace(plain, units=units, register_file=shape) for shape in (ONE, None)]
    for machine, cycle in zip(both, (5, 3), strict=True):
        code = module([ffma(10, 12, 14), op("EXIT")], registers=32)
        _, rows = logged(code, machine=machine, block=64, hazards=False)
        assert [row.cycle for row in rows if row.kind == "issue" and row.pc == 0] == [0, cycle]


def test_stall_counts_that_are_right_without_conflicts_are_right_with_them() -> None:
    """Results are exactly as far from their users as their latency; a late one makes its users late, too."""
    latency = load_machine("v100").units.fma.latency
    body = [op("FFMA", stall=latency, rd=6, ra=6, rb=10, rc=8) for _ in range(6)]
    code = module([*body, op("EXIT")], machine="v100", registers=32)
    assert go(code, machine="v100").stats["register_wait_cycles"] == 0
    machine = with_banks(ONE, "v100")
    assert go(code, machine=machine).stats["register_wait_cycles"] == 6 * 2
    body[2] = op("FFMA", stall=latency - 1, rd=6, ra=6, rb=10, rc=8)
    with pytest.raises(KernelFault, match="hazard: read before"):
        go(module([*body, op("EXIT")], machine="v100", registers=32), machine=machine)


def test_flags_never_change_values() -> None:
    """Hardware would give the second IADD3 what R6 was before; here values are always right."""
    body = [
        op("MOV", rd=6, form=1, imm=5), iadd3(6, 255, 255, 7, stall=15, reuse=1),
        op("MOV", rd=6, form=1, imm=9), iadd3(6, 255, 255, 8, stall=15),
    ]  # fmt: skip
    found = outcome(body, register=8, machine="rtx2060", info={"machine": "rtx2060"})
    assert set(found.tolist()) == {9}


def test_without_banks_flags_mean_nothing() -> None:
    body = [ffma(10, 12, 14, reuse=7), ffma(10, 12, 14, reuse=7)]
    plain, flagged = (execute(*code, machine="gtx680") for code in ([ffma(10, 12, 14)] * 2, body))
    assert plain.stats == flagged.stats
    assert flagged.stats["stalls"]["register_bank"] == flagged.stats["operand_cache_hits"] == 0


def test_a_profile_holds_the_lost_slots_against_who_waits() -> None:
    result = execute(ffma(10, 12, 14), ffma(10, 12, 14), machine=with_banks(ONE), profile=True)
    found = result.profile["k"]
    assert found.stalls["register_bank"].tolist() == [4, 4, 0]  # two slots a cycle
    assert found.counters["register_wait_cycles"].tolist() == [2, 2, 0]
