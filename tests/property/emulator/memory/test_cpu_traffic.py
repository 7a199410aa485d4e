"""CPU programs beside a kernel: alone they have the IPC that they state, both modes and engines agree, DRAM obeys its
rules, each program stays in its pages, and a kernel that hangs is still found."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.pages.frames import HIGH_ROW
from binalloc.emulator.state.memory_layout import DRAM_LOG_WORDS, FIRST_CPU_LINE, LogWord
from binalloc.errors import KernelFault, MalformedInput, UsageError
from binalloc.isa.text.assembler import assemble
from binalloc.models.dram.traffic import CpuProgram, CpuTraffic
from binalloc.models.machines.reader import load_machine
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.dram_commands import ROOM, commands, logging_devices, parameters
from tests.support.kits.emulator.small import go, module, op
from tests.support.oracles.emulator.dram_log import violations

NAMES = ("gem5gpu-batching", "gem5gpu-batching-8k")
SPIN = """
.kernel k
.registers 4
    MOV R2, 1000
again:
    IADD3 R2, R2, -1, RZ
    ISETP.NE.AND P0, PT, R2, 0, PT
@P0 BRA again, uniform
    EXIT
.end
"""
"""One thread counts down, and asks memory for nothing but its code."""


def random_program(rng: random.Random, name: str) -> CpuProgram:
    """A program whose stated IPC is possible."""
    inflight, latency, mhz = rng.randrange(1, 12), rng.uniform(60, 150), rng.choice((1000.0, 2000.0, 3500.0))
    mpki = rng.choice((0.5, 5.0, 20.0, 60.0))
    most = inflight * 1000 / mpki / (latency * mhz / 1000)
    ipc = min(4.0, most * rng.uniform(0.2, 1.0))
    size = rng.choice((4096, 100_000, 3_000_000, 50_000_000))
    return CpuProgram(name, mpki, inflight, size, rng.choice((0.0, 0.5, 0.95, 1.0)), ipc, mhz, latency)


def random_traffic(rng: random.Random, most: int = 3) -> CpuTraffic:
    programs = tuple(random_program(rng, f"p{i}") for i in range(rng.randrange(1, most + 1)))
    return CpuTraffic(programs, "near", rng.randrange(1000))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_alone_a_program_has_the_ipc_that_it_states(name: str, seed: int) -> None:
    """But for the time by which a miss takes longer or shorter than one alone to a closed bank."""
    rng = random.Random(f"alone {seed}")
    traffic = CpuTraffic((random_program(rng, "alone"),), seed=seed)
    program = traffic.programs[0]
    result = go(assemble(SPIN, "k"), block=1, machine=load_machine(name), sms=8, cpu=traffic, hazards=False)
    assert result.cpu is not None
    (run,) = result.cpu.programs
    per_ns = 0.7
    closed = program.latency * per_ns
    assert run.misses > 20
    each = (result.cycles - run.under_way) / run.misses * program.inflight  # cycles of a lap, about
    lap = program.lap * per_ns
    assert run.delay_each is not None
    wanted = lap / (lap + run.delay_each - 24)  # 24: cycles of the commands for a closed bank, about
    assert run.ipc / program.ipc == pytest.approx(wanted, rel=0.04)
    assert each == pytest.approx(lap / (run.ipc / program.ipc), rel=0.1)
    assert run.ipc / program.ipc > 0.7
    assert closed <= lap * 1.001


def drawn(seed: int) -> dict[str, Any]:
    """How the random kernel of a seed is run."""
    rng = random.Random(f"beside CPU programs {seed}")
    name = rng.choice(NAMES)
    pages = rng.choice(
        ("identity", "interleaved", "coloured", "coloured:channels=one", "bandwidth", "bandwidth:within=coloured")
    )
    traffic = random_traffic(rng)
    if pages != "identity" and rng.random() < 0.3:
        traffic = CpuTraffic(traffic.programs, "far", traffic.seed)
        if any(p.latency * 0.7 < 30 for p in traffic.programs):
            traffic = CpuTraffic(traffic.programs)
    return {
        "machine": load_machine(name), "pages": pages, "sms": 8, "grid": rng.randrange(1, 12),
        "block": rng.choice((32, 96)), "dispatcher": rng.choice(("interleaved", "serial")), "cpu": traffic,
        "cpu_rows": rng.choice(("mixed", "split")), "cpu_first": rng.random() < 0.5,
        "scheduler": rng.choice(("lrr", "gto", "ccws", "tbas")), "hazards": False,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
def test_both_modes_and_engines_agree(seed: int) -> None:
    options = drawn(seed)
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    program = waiting_program(seed, options["machine"].name)
    fast, slow = (go(program, buffers=words, engine="numba", reference=r, **options) for r in (False, True))
    assert (fast.stats, fast.cpu) == (slow.stats, slow.cpu)
    assert np.array_equal(fast.buffers["x"], slow.buffers["x"])
    if seed % 4 == 0:
        plain = go(program, buffers=words, engine="python", **options)
        assert (plain.stats, plain.cpu) == (fast.stats, fast.cpu)
    alone = go(program, buffers=words, engine="numba", **(options | {"cpu": None}))
    assert alone.cpu is None
    assert alone.stats["dram_cpu_requests"] == 0
    assert alone.stats["warp_instructions"] == fast.stats["warp_instructions"]


@pytest.mark.parametrize("seed", range(8))
def test_commands_obey_their_rules_and_pages_stay_apart(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With split rows the GPU has the low rows of each bank, and CPU programs the high ones."""
    devices = logging_devices(monkeypatch)
    options = drawn(seed) | {"pages": ("interleaved", "coloured", "bandwidth")[seed % 3], "cpu_rows": "split"}
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    result = go(waiting_program(seed, options["machine"].name), buffers=words, engine="python", **options)
    device, m = devices[-1], options["machine"]
    log = commands(device)
    assert 0 < len(log) < ROOM
    near = [c for c in log if c.channel < m.dram.channels]
    assert violations(near, parameters(m), m.dram.groups, m.dram.command_buses) == []
    far = [c for c in log if c.channel >= m.dram.channels]
    assert violations(far, parameters(m.far), m.far.dram.groups, m.far.dram.command_buses) == []
    high = asked_in_high_rows(device)
    assert result.cpu is not None
    assert 0 < high <= sum(p.misses + p.under_way for p in result.cpu.programs)


def asked_in_high_rows(device: LaunchedDevice) -> int:
    """Requests whose rows are high. Exactly those of CPU programs are: half a line each, from one half of a line."""
    log = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[: device.get("dram_logged")]
    found = set()
    for row in log.tolist():
        if row[LogWord.COMMAND] in (0, 1) and row[LogWord.ROW] >= HIGH_ROW:
            assert row[LogWord.WORDS] in (0xFFFF, 0xFFFF0000)
            found.add(row[LogWord.AGE])
    return len(found)


def test_a_kernel_that_hangs_is_found_beside_cpu_programs() -> None:
    """One warp waits at a barrier of two, and the other has ended. CPU programs go on for ever."""
    rng = random.Random("hang")
    code = [op("S2R", rd=0, sreg=0, wbar=0), op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=6, wait=1),
            op("EXIT", guard=(0, False)), op("BAR", barid=3, form=1, imm=64), op("EXIT")]  # fmt: skip
    hang = module(code)
    for engine in ("python", "numba"):
        with pytest.raises(KernelFault, match="deadlock"):
            go(hang, block=64, machine=load_machine(NAMES[0]), sms=8, cpu=random_traffic(rng), hazards=False,
               engine=engine)  # fmt: skip


def test_impossible_runs_are_refused() -> None:
    rng = random.Random("refused")
    traffic = random_traffic(rng)
    options: dict[str, Any] = {"machine": load_machine(NAMES[0]), "block": 1, "hazards": False}
    spin = assemble(SPIN, "k")
    with pytest.raises(UsageError, match="whole machine"):
        go(spin, sms=4, cpu=traffic, **options)
    with pytest.raises(UsageError, match="without pages"):
        go(spin, sms=8, cpu=CpuTraffic(traffic.programs, "far"), **options)
    with pytest.raises(UsageError, match="no far memory"):
        go(spin, sms=15, cpu=CpuTraffic(traffic.programs, "far"), pages="interleaved",
           **(options | {"machine": load_machine("gtx480")}))  # fmt: skip
    short = CpuProgram("short", 1.0, 1, 4096, 0.5, 0.5, 1000.0, 5.0)
    with pytest.raises(MalformedInput, match="less time than DRAM") as caught:
        go(spin, sms=8, cpu=CpuTraffic((short,)), **options)
    assert caught.value.place == "programs[0].latency"
    assert FIRST_CPU_LINE
