"""Many blocks that take shared memory as they run, for times that differ by block and round, on random machines,
shapes, schedulers and numbers of SMs: all end with the right buffers, memory goes to whom a replay of the log gives it,
and modes and engines agree on every counter."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Flow
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.property.emulator.test_schedulers_agree import require_conservation
from tests.support.kits.emulator.public import kernel, ready
from tests.support.kits.emulator.run_log import Row, logged
from tests.support.oracles.emulator.public_memory import replay

MACHINES = ("gtx285", "gtx480-16k", "gtx680", "v100", "gpgpusim-sharing")
SEEDS = 20
ROUNDS = 4  # most times that a block takes memory
PARAMS = ".param out, 8\n.param got, 8\n.param src, 8"


@dataclass(frozen=True)
class Drawn:
    """A kernel and its launch. sizes: of the public and the private part. ends: of blocks whose number has these bits
    set, the last round ends without BAR.FREE."""

    size: int
    private: int
    threads: int
    grid: int
    ends: int
    spread: int
    machine: Machine
    options: dict[str, Any]

    def text(self) -> str:
        return kernel(
            f"""
    MOV R20, RZ
    MOV R21, RZ
    LOP3 R22, R1, {ROUNDS - 1}, RZ, 0xc0
    MOV R24, {4 * self.threads - 4}
    IADD3 R24, R24, -R4, RZ
again:
    IMAD R25, R1, 0x25, R21
    IMAD R25, R25, 0x1d, R1
    LOP3 R26, R25, {self.spread}, RZ, 0xc0
early:
    IADD3 R26, R26, 0xffffffff, RZ
    ISETP.GE.AND P0, PT, R26, 0x0, PT
    @P0 BRA early
    LOP3 R27, R25, 0xff, RZ, 0xc0
    MOV R28, 0x80
    IMAD.WIDE R28, R27, R28, c[0][src]
    LDG.32 R27, [R28]
    IADD3 R20, R20, R27, RZ
    BAR.ALLOC R5, {self.size:#x}
    IMAD R30, R1, {ROUNDS}, R21
    MOV R31, 0x4
    IMAD.WIDE R30, R30, R31, c[0][got]
    STG.32 [R30], R5
    IMAD R7, R9, 0x3, R21
    IADD3 R6, R4, R5, RZ
    STS.32 [R6], R7
    BAR.SYNC 0
    LOP3 R26, R9, {self.spread}, RZ, 0xc0
held:
    IADD3 R26, R26, 0xffffffff, RZ
    ISETP.GE.AND P0, PT, R26, 0x0, PT
    @P0 BRA held
    IADD3 R6, R24, R5, RZ
    LDS.32 R7, [R6]
    IADD3 R20, R20, R7, RZ
    IADD3 R21, R21, 0x1, RZ
    ISETP.GT.AND P1, PT, R21, R22, PT
    LOP3 R26, R1, {self.ends}, RZ, 0xc0
    ISETP.EQ.AND P2, PT, R26, {self.ends}, P1
    @P2 BRA out
    BAR.FREE R5
    @!P1 BRA again
out:
    STG.32 [R2], R20
""",
            private=self.private, params=PARAMS,
        )  # fmt: skip

    def expected(self) -> tuple[Any, dict[int, int]]:
        """What is left in `out`, and the rounds of each block."""
        out = np.zeros((self.grid, self.threads), np.int64)
        threads = np.arange(self.threads)
        rounds = {b: (b & (ROUNDS - 1)) + 1 for b in range(self.grid)}
        for b, n in rounds.items():
            for r in range(n):
                word = ((b * 0x25 + r) * 0x1D + b) & 0xFF
                out[b] += 3 * (b * self.threads + self.threads - 1 - threads) + r + word * 32
        return out.astype(np.uint32).ravel(), rounds


def drawn(seed: int, scheduler: str) -> Drawn:
    rng = random.Random(f"public {seed}")
    machine = load_machine(MACHINES[seed % len(MACHINES)])
    threads = rng.choice((32, 64, 96, 128, 200))
    total = machine.sm.shared_per_sm
    size = max(4 * threads, total // rng.choice((1, 2, 3, 5, 9)) - rng.choice((0, 0, 256, 1000)))
    private = rng.choice((0, 0, 64, (total - size) // 4096 * 512))
    if machine.instruction_cache is not None and rng.randrange(2):
        code, constants = machine.instruction_cache, machine.constant_cache
        assert constants is not None
        machine = replace(
            machine, instruction_cache=replace(code, enabled=True), constant_cache=replace(constants, enabled=True)
        )
    if private + size + 1024 > machine.sm.shared_per_block:
        private, size = 0, size - 1024
    options = {
        "sms": 1 + seed % 3, "scheduler": scheduler, "skew": rng.choice((None, seed)), "over": rng.choice((None, 1, 3)),
    }  # fmt: skip
    ends, spread = rng.choice((1, 2, 3, 64)), rng.choice((7, 31, 63))
    grid = rng.randrange(1, 25)
    if scheduler == "tbas":  # a batch of one block would run alone from its request for memory to the end of its use
        options["batches"] = f"stride:{min(grid, 4)}"
    return Drawn(size, private, threads, grid, ends, spread, machine, options)


def run(case: Drawn, module: Module, **options: Any) -> tuple[Result, list[Row]]:
    words = {
        "out": np.zeros(case.grid * case.threads, np.uint32), "got": np.zeros(case.grid * ROUNDS, np.uint32),
        "src": np.arange(256 * 32, dtype=np.uint32),
    }  # fmt: skip
    both = {**case.options, **options}
    return logged(module, grid=case.grid, block=case.threads, machine=case.machine, buffers=words, **both)


def counted(result: Result) -> Any:
    counts = {name: values.tolist() for name, values in result.counts.items()}
    return result.cycles, result.stats, {n: x.tolist() for n, x in result.buffers.items()}, counts


def require_right(case: Drawn, module: Module, result: Result, rows: list[Row]) -> None:
    """The buffers are right, and each block got memory when and where the replay gave it some."""
    out, rounds = case.expected()
    assert np.array_equal(result.buffers["out"], out)
    instrs = module.function("k").instrs
    takes, gives = (
        {i for i, instr in enumerate(instrs) if instr.op.control == flow} for flow in (Flow.ALLOC, Flow.FREE)
    )
    got = result.buffers["got"].reshape(case.grid, ROUNDS)
    addresses = {b: got[b, :n].tolist() for b, n in rounds.items()}
    starts = sorted({a for each in addresses.values() for a in each})
    unit = max(128, case.machine.limits.shared_unit if case.machine.occupancy_rule.rule == "nvidia" else 0)
    each = -(-case.size // unit) * unit
    first = min(starts)
    places = (case.machine.sm.shared_per_sm - first) // each
    warps = -(-case.threads // 32)
    want = replay(rows, places, warps, takes, gives)
    opened: dict[int, list[int]] = {b: [] for b in rounds}
    for row in rows:
        if row.kind == "open" and row.pc in takes and row.in_block == 0:
            opened[row.block].append(row.cycle)
    assert opened == {b: [cycle for cycle, _ in times] for b, times in want.items()}
    assert addresses == {b: [first + place * each for _, place in times] for b, times in want.items()}
    assert result.stats["shared_allocations"] == sum(rounds.values())


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_memory_goes_to_whom_the_replay_gives_it(scheduler: str) -> None:
    waits = 0
    for seed in range(SEEDS):
        case = drawn(seed, scheduler)
        module = ready(case.text(), case.machine)
        fast, rows = run(case, module, engine="numba")
        require_right(case, module, fast, rows)
        slow, others = run(case, module, engine="numba", reference=True)
        require_right(case, module, slow, others)
        assert counted(fast) == counted(slow), seed
        require_conservation(fast, case.machine.name)
        waits += fast.stats["shared_waits"]
    assert waits > SEEDS


@pytest.mark.parametrize("seed", range(SEEDS, SEEDS + 5))
def test_engines_agree_and_checks_find_nothing(seed: int) -> None:
    case = drawn(seed, list(SCHEDULERS)[seed % len(SCHEDULERS)])
    case = replace(case, grid=min(case.grid, 6))
    module = ready(case.text(), case.machine)
    plain, rows = run(case, module, engine="python")
    require_right(case, module, plain, rows)
    assert counted(plain) == counted(run(case, module, engine="numba")[0])
    assert counted(plain) == counted(run(case, module, engine="python", reference=True)[0])
    assert counted(plain) == counted(run(case, module, engine="numba", check=True, race=True)[0])
    still = {**case.options, "smm": "static", "over": None}
    static, _ = run(replace(case, options=still), module, engine="numba")
    assert np.array_equal(static.buffers["out"], plain.buffers["out"])
