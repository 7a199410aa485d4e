"""The random program generator: valid, reproducible, far-reaching; and what scheduling does to its programs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.encoding.bulk import decode_words, encode_words
from binalloc.isa.instruction import Module
from binalloc.isa.loom.view import view
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.programs import random_program
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()
SEEDS = 60


def go(module: Module, seed: int, engine: str, **options: object) -> Result:
    _, launch = random_program(seed)
    return run(module, "kernel", launch, MACHINE, engine=engine, max_cycles=2_000_000, **options)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_programs_encode_schedule_and_run_without_fault(seed: int) -> None:
    """A hazard, an access out of bounds, a missing reconvergence point or an endless loop would fault here."""
    module, _ = random_program(seed)
    scheduled = schedule(module, MACHINE)
    for fn in scheduled:
        assert decode_words(encode_words(fn.instrs)) == fn.instrs
    data = write_module(scheduled)
    assert write_module(read_module(data)) == data
    result = go(read_module(data), seed, "numba")
    assert result.buffers["output"].any()


@pytest.mark.parametrize("seed", range(0, SEEDS, 3))
def test_both_engines_agree_and_control_codes_do_not_change_results(seed: int) -> None:
    module, _ = random_program(seed)
    scheduled = schedule(module, MACHINE)
    fast, slow = go(scheduled, seed, "numba"), go(scheduled, seed, "python")
    plain = go(module, seed, "numba", hazards=False)
    assert fast.stats == slow.stats
    for name, data in fast.buffers.items():
        assert np.array_equal(data, slow.buffers[name])
        assert np.array_equal(data, plain.buffers[name])


def test_equal_seeds_give_equal_programs() -> None:
    assert random_program(5) == random_program(5)
    assert random_program(5)[0] != random_program(6)[0]


def test_the_generator_reaches_the_corners() -> None:
    """Top of the register file, all predicates, guarded groups, deep calls, all widths, extreme immediates."""
    seen: Counter[str] = Counter()
    for seed in range(2 * SEEDS):
        module, _ = random_program(seed)
        depth = {fn.name: 1 for fn in module}
        for fn in reversed(module.functions):
            for index, instr in enumerate(fn.instrs):
                v = view(instr)
                seen[instr.name] += 1
                if "imm" in instr.f:
                    seen[f"imm {instr.f['imm']:#x}"] += 1
                if v.control == "call":
                    callee = module.callee(fn, index)
                    assert callee is not None
                    depth[fn.name] = max(depth[fn.name], 1 + depth[callee.name])
                    seen["guarded call"] += v.guard is not None
                if v.control == "branch":
                    seen["divergent branch"] += instr.f["diverges"]
                for ref in v.defs:
                    seen[f"{ref.file}{ref.index}:{ref.units}"] += 1
                    seen[f"guarded {ref.units}"] += v.guard is not None
        seen[f"calls {max(depth.values()) - 1} deep"] += 1
        seen[f"{module.functions[0].info.registers} registers"] += 1
    wanted = ["R254:1", "R252:2", "R248:4", "guarded 2", "guarded 4", "guarded call", "divergent branch"]
    wanted += [f"P{i}:1" for i in range(7)] + ["calls 3 deep", "4 registers", "255 registers"]
    wanted += ["imm 0x0", "imm 0xffffffff", "imm 0x80000000", "imm 0x7fffffff"]
    wanted += [
        "P2R",
        "R2P",
        "PLOP3",
        "BAR",
        "LDS",
        "STS",
        "LDL",
        "STL",
        "LDG",
        "RED",
        "SHFL",
        "VOTE",
        "DFMA",
        "IMAD.WIDE",
    ]
    wanted += ["HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "F2H", "F2H2", "H2F", "I2H"]
    assert [w for w in wanted if not seen[w]] == []
