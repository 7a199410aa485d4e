"""Registers read through banks and the operand cache, on random programs, shapes, schedulers and numbers of SMs: what
runs wait for is what a replay of their log finds, and modes and engines agree on every counter."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import RegisterFile
from binalloc.transform.schedule.schedule import schedule
from tests.property.emulator.test_schedulers_agree import counted
from tests.support.generator.emulator.reads import reading_program
from tests.support.kits.emulator.run_log import logged
from tests.support.kits.emulator.small import go
from tests.support.oracles.emulator.register_banks import replay

MACHINES = ("v100", "rtx2060", "rtx3070", "gtx680")
SEEDS = 12


def drawn(seed: int) -> tuple[Module, Machine, dict[str, Any]]:
    """A program, a machine whose banks are now and then other ones (the one that issues two at a time has none of its
    own), now and then with caches for code and constants, and a launch."""
    rng = random.Random(f"banks {seed}")
    machine = load_machine(MACHINES[seed % len(MACHINES)])
    if machine.register_file is None or rng.randrange(2):
        banks, reads = rng.choice((1, 2, 2, 3, 4, 8)), rng.choice((1, 1, 2, 3))
        shape = RegisterFile(banks, reads, rng.randrange(1, 5), rng.random() < 0.8)
        machine = replace(machine, register_file=shape)
    if rng.random() < 0.3:
        code, constants = machine.instruction_cache, machine.constant_cache
        assert code is not None
        assert constants is not None
        code, constants = replace(code, enabled=True), replace(constants, enabled=True)
        machine = replace(machine, instruction_cache=code, constant_cache=constants)
    launch = {
        "grid": rng.randrange(1, 7), "block": rng.choice((32, 96, 200)), "sms": 1 + seed % 4,
        "scheduler": rng.choice(list(SCHEDULERS)), "skew": rng.choice((None, None, seed)),
    }  # fmt: skip
    return reading_program(seed, machine.name), machine, launch


def run(seed: int, **options: Any) -> Result:
    code, machine, launch = drawn(seed)
    words = {"x": np.arange(256, dtype=np.uint32)}
    return go(code, machine=machine, buffers=words, hazards=False, **launch, **options)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_waits_are_those_of_a_replay(seed: int) -> None:
    code, machine, launch = drawn(seed)
    words = {"x": np.arange(256, dtype=np.uint32)}
    result, rows = logged(code, machine=machine, buffers=words, hazards=False, engine="python", **launch)
    found = replay(rows, code.functions[0].instrs, machine)
    stats = result.stats
    assert (stats["register_conflicts"], stats["register_wait_cycles"]) == (found.conflicts, found.waited)
    assert stats["operand_cache_hits"] == found.hits
    assert stats["stalls"]["register_bank"] == found.waited * machine.schedulers.issue_width


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_modes_agree(seed: int) -> None:
    assert counted(run(seed, engine="python")) == counted(run(seed, engine="python", reference=True))


@pytest.mark.rotates("long")
def test_the_engines_agree() -> None:
    for seed in range(SEEDS, 4 * SEEDS):
        plain = counted(run(seed, engine="numba"))
        assert plain == counted(run(seed, engine="numba", reference=True)), seed
        if seed < SEEDS + 8:
            assert plain == counted(run(seed, engine="python")), seed


@pytest.mark.parametrize("scheduler", ["lrr", "gto"])
def test_flags_of_the_scheduling_pass_are_found_and_never_stale(scheduler: str) -> None:
    hits = 0
    for seed in range(4):
        code, machine, launch = drawn(seed)
        if machine.register_file is None or not machine.register_file.operand_cache:
            continue
        words = {"x": np.arange(256, dtype=np.uint32)}
        module = schedule(code, machine)
        launch["scheduler"] = scheduler
        result, rows = logged(module, machine=machine, buffers=words, engine="python", **launch)
        found = replay(rows, module.functions[0].instrs, machine)
        assert (found.hits, found.stale) == (result.stats["operand_cache_hits"], 0)
        hits += found.hits
    assert hits > 0


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_without_banks(seed: int) -> None:
    """However late what is read, and whatever the flags say of registers that have been written since."""
    code, machine, launch = drawn(seed)
    words = {"x": np.arange(256, dtype=np.uint32)}
    plain = replace(machine, register_file=None)
    launch["grid"] = 1  # the blocks of these programs share their words
    results = [go(code, machine=m, buffers=words, hazards=False, **launch) for m in (machine, plain)]
    assert results[0].buffers["x"].tolist() == results[1].buffers["x"].tolist()
    assert results[1].stats["stalls"]["register_bank"] == results[1].stats["operand_cache_hits"] == 0
