"""Units of an SM's partitions: what a warp, a partition and a whole SM get of each, to the cycle, on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.isa.instruction import Instr, Module
from binalloc.isa.interface.places import LANES
from binalloc.isa.table.fields import PT
from binalloc.isa.timing import UNIT_CLASSES
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.limits import LIMITS, Granularity
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import Rule
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import address, go, module, op, store

ENGINES = ("python", "numba")
ALL = list_machines()
DIVIDED = [name for name in ALL if any(group.divided for group in load_machine(name).port_groups)]
FIRST_PARTITIONED = 5.0
"""Compute capability of Maxwell."""
STREAMS = {
    "alu": "IADD3", "imad": "IMAD", "fma": "FFMA", "conv": "POPC", "sfu": "MUFU", "dp": "DFMA", "lsu": "SHFL",
    "tex": "TXQ", "sys": "S2R",
}  # fmt: skip
"""An instruction of each unit whose warp need not wait for it."""
GUIDE = {
    "7.0": {"FADD": 64, "FMUL": 64, "FFMA": 64, "DADD": 32, "DFMA": 32, "SHFL": 32},
    "7.5": {"FADD": 64, "FMUL": 64, "FFMA": 64, "DADD": 2, "DFMA": 2, "SHFL": 16},
    "8.0": {"FADD": 64, "FMUL": 64, "FFMA": 64, "DADD": 32, "DFMA": 32, "SHFL": 32},
    "8.6": {"FADD": 128, "FMUL": 128, "FFMA": 128, "DADD": 2, "DFMA": 2, "SHFL": 32},
    "8.9": {"FADD": 128, "FMUL": 128, "FFMA": 128, "DADD": 2, "DFMA": 2, "SHFL": 32},
    "9.0": {"FADD": 128, "FMUL": 128, "FFMA": 128, "DADD": 64, "DFMA": 64, "SHFL": 32},
    "10.0": {"FADD": 128, "FMUL": 128, "FFMA": 128, "DADD": 64, "DFMA": 64, "SHFL": 32},
    "12.0": {"FADD": 128, "FMUL": 128, "FFMA": 128, "DADD": 2, "DFMA": 2, "SHFL": 32, "IADD3": 128, "IMNMX": 128},
}
"""Results per clock cycle and SM, of the table of throughput of arithmetic instructions in the CUDA programming guide,
those of 10.0 and 12.0 in the best practices guide of CUDA 13."""
NOT_APART = {"12.0": ("SHF", "LOP3", "ISETP", "VOTE")}
"""What the guide has at half the rate of additions, and the machine, whose integers are of one class, at theirs."""
BARRIERS = 16
"""Operations of __syncthreads() a cycle on 7.x and 8.x, of the same guide's section on synchronization instructions."""
COMMON = {
    "MUFU": 16, "IADD3": 64, "IMAD": 64, "SHF": 64, "ISETP": 64, "IMNMX": 64, "LOP3": 64, "VOTE": 64, "BREV": 16,
    "FLO": 16, "POPC": 16, "F2F": 16,
}  # fmt: skip
"""The same on all of those capabilities. (F2F between two f32; what converts 8 bits is not told apart.)"""


def instruction(name: str) -> Instr:
    """It reads nothing, and its result is dropped: nothing depends on it. The query of a texture takes its port, as all
    instructions whose guard holds in no lane, and has no texture to ask."""
    return op(name, stall=1, guard=(PT, name == "TXQ"))


def stream(machine: Machine, instr: Instr, count: int) -> Module:
    return module([*[instr] * count, op("EXIT", stall=15)], machine=machine.name)


def last_start(machine: Machine, unit: str, count: int, ports: int) -> int:
    """Cycle in which the last of so many instructions starts, where one may start a cycle, on so many ports."""
    interval, starts = machine.units[unit].interval, list[int]()
    for i in range(count):
        soonest = starts[-1] + 1 if i else 0
        starts.append(max(soonest, starts[i - ports] + interval) if i >= ports else soonest)
    return starts[-1]


def share(machine: Machine, unit: str) -> int:
    """Ports that one scheduler has of the unit, and of its group."""
    group = next(group for group in machine.port_groups if group.name == machine.units[unit].port_group)
    return min(machine.units[unit].ports, group.ports) // machine.owners(unit)


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ALL)
def test_one_warp_gets_exactly_its_partitions_rate(name: str, engine: str) -> None:
    machine = load_machine(name)
    for unit, mnemonic in STREAMS.items():
        count = 40
        result = go(stream(machine, instruction(mnemonic), count), machine=machine, engine=engine)
        assert result.stats["units"][unit] == count, unit
        assert result.cycles == last_start(machine, unit, count, share(machine, unit)) + 2, unit


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DIVIDED)
def test_warps_of_one_partition_share_its_units_and_leave_the_others_alone(name: str, engine: str) -> None:
    """Of 4 n + 1 warps one partition has n + 1."""
    machine = load_machine(name)
    for unit, mnemonic in STREAMS.items():
        if machine.owners(unit) > 1:
            count, parts = 12, machine.schedulers.count
            for warps in (parts, parts + 1, 3 * parts):
                code = stream(machine, instruction(mnemonic), count)
                result = go(code, block=LANES * warps, machine=machine, engine=engine)
                most = -(-warps // parts)
                last = last_start(machine, unit, most * count, share(machine, unit))
                assert result.cycles == max(last + 2, most * (count + 1)), (unit, warps)  # an EXIT takes a slot, too


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DIVIDED)
@pytest.mark.parametrize("each", [1, 2, 4])
def test_equal_warps_end_within_one_instructions_time_of_each_other(name: str, engine: str, each: int) -> None:
    """In which each warp of a partition issues one."""
    machine = load_machine(name)
    parts = machine.schedulers.count
    warps = parts * each
    for unit in ("alu", "imad", "fma", "dp", "sfu", "conv"):
        if machine.owners(unit) == 1:
            continue
        body = [instruction(STREAMS[unit])] * 24
        ended = op("CS2R", rd=6, sreg=22, stall=15)
        code = module([*body, ended, *address(), *store(6)], params={"x": 8}, machine=name)
        buffers = {"x": np.zeros(LANES * warps, np.uint32)}
        times = go(code, block=LANES * warps, machine=machine, engine=engine, buffers=buffers).buffers["x"][::LANES]
        assert times.min() > 0
        rounds = max(each * machine.units[u].interval / share(machine, u) for u in (unit, "alu"))  # alu: the clock's
        assert int(times.max()) - int(times.min()) <= rounds, (unit, times)


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DIVIDED)
def test_a_full_sm_reaches_the_programming_guides_throughput(name: str, engine: str) -> None:
    """What 2 n instructions of each of its warps take longer than n of each."""
    machine = load_machine(name)
    warps = 8 * machine.schedulers.count
    for mnemonic, results in (COMMON | GUIDE[machine.cc]).items():
        if mnemonic in NOT_APART.get(machine.cc, ()):
            continue
        instr = instruction(mnemonic)
        cycles = [
            go(stream(machine, instr, count), block=LANES * warps, machine=machine, engine=engine).cycles
            for count in (4, 8)
        ]
        assert LANES * warps * 4 == results * (cycles[1] - cycles[0]), mnemonic


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DIVIDED)
def test_barriers_take_sixteen_threads_a_cycle(name: str, engine: str) -> None:
    """Blocks of a warp each, as many as there are at once: none waits for another one's."""
    machine = load_machine(name)
    blocks = machine.sm.blocks_per_sm
    bar = op("BAR", stall=1, form=1)
    cycles = [go(stream(machine, bar, n), grid=blocks, machine=machine, engine=engine).cycles for n in (20, 40)]
    assert LANES * blocks * 20 == BARRIERS * (cycles[1] - cycles[0])


@pytest.mark.parametrize("name", ALL)
def test_machines_from_maxwell_on_are_partitioned_and_older_ones_are_not(name: str) -> None:
    machine = load_machine(name)
    assert (name in DIVIDED) == (float(machine.cc) >= FIRST_PARTITIONED)
    assert {machine.owners(unit) for unit in UNIT_CLASSES} <= {1, machine.schedulers.count}
    if name in DIVIDED:
        assert all(machine.owners(unit) == machine.schedulers.count for unit in ("alu", "imad", "fma", "sfu", "conv"))
        assert machine.owners("lsu") == machine.owners("tex") == 1


@pytest.mark.rotates
@pytest.mark.parametrize("name", [name for name in ALL if load_machine(name).occupancy_rule.rule == Rule.NVIDIA])
def test_no_partition_holds_more_warps_than_its_registers_allow(name: str) -> None:
    """Warp slots go round the schedulers, blocks take slots from 0 on: the fullest scheduler has its share of registers
    for as many warps as occupancy leaves it, for every number of registers and warps of a block."""
    machine = load_machine(name)
    parts, limits = machine.schedulers.count, LIMITS[machine.cc]
    if limits.register_granularity == Granularity.BLOCK:
        return
    for registers in range(1, machine.sm.registers_per_thread + 1):
        for warps in range(1, machine.sm.threads_per_block // LANES + 1):
            occupancy = machine.occupancy(KernelUse(registers, 0, LANES * warps))
            fullest = -(-occupancy.blocks_per_sm * warps // parts)
            a_warp = occupancy.registers_per_block // warps
            assert fullest * a_warp <= machine.sm.registers_per_sm // parts, (registers, warps)


def test_what_the_sm_has_for_all_is_taken_in_turn() -> None:
    """Loads of shared memory of one warp, and of four in four partitions, take the one port for a cycle each."""
    machine = load_machine("a100")
    load = op("LDS", stall=1, width=4)
    for warps in (1, 2, 4):
        code = module([*[load] * 40, op("EXIT", stall=15)], machine="a100", shared_bytes=128)
        assert go(code, block=LANES * warps, machine=machine).cycles == 40 * warps + 1


def test_slots_are_lost_to_busy_ports_in_the_partition_whose_ports_they_are() -> None:
    machine = load_machine("a100")
    for warps in (1, 2, 4):
        result = go(stream(machine, instruction("DFMA"), 20), block=LANES * warps, machine=machine)
        assert result.stats["stalls"]["port_busy"] == 19 * (machine.units.dp.interval - 1) * warps
