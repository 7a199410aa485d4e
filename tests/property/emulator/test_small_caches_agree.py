"""Instruction caches and constant caches of one line or some, on random kernels, machines, schedulers and numbers of
SMs, with code and constants longer than they: the per-cycle mode, the event-skipping mode and both engines agree on
every counter. What runs conserve is looked at after each of them (`conservation`)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import Dispatch
from tests.property.emulator.test_schedulers_agree import counted
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.small import go
from tests.support.kits.machines import with_small_caches

MACHINES = ("gtx680", "c2075", "gpgpusim-sharing", "v100", "gtx285")


def drawn(seed: int) -> Machine:
    """The machine of that seed."""
    rng = random.Random(f"caches {seed}")
    m = load_machine(rng.choice(MACHINES))
    return with_small_caches(replace(m, dispatch=Dispatch(rng.choice((1, 1, 5, 60)))), rng)


def run(seed: int, machine: Machine, **options: Any) -> Result:
    """The program of that seed on one to four SMs."""
    rng = random.Random(f"launch {seed}")
    shape: dict[str, Any] = {"grid": rng.randrange(1, 5), "block": rng.choice((32, 96, 200, 384)), "sms": 1 + seed % 4}
    shape["skew"] = seed if seed % 3 == 1 else None
    shape["scheduler"] = list(SCHEDULERS)[seed // 4 % 4]
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    program = waiting_program(seed, machine.name, constants=True)
    return go(program, buffers=words, machine=machine, hazards=False, **shape, **options)


def test_the_modes_agree() -> None:
    seen: dict[str, int] = {}
    for seed in range(48):
        fast = run(seed, drawn(seed), engine="numba")
        assert counted(fast) == counted(run(seed, drawn(seed), engine="numba", reference=True)), seed
        for name in (*fast.stats, *fast.stats["stalls"]):
            value = fast.stats.get(name, fast.stats["stalls"].get(name))
            seen[name] = seen.get(name, 0) + (value if isinstance(value, int) else 0)
    for name in ("instruction_fetch", "constant", "instruction_prefetches", "dual_issues", "const_loads", "pending"):
        assert seen[name] > 0, name
    for kind in ("instruction", "constant"):
        assert min(seen[f"{kind}_hits"], seen[f"{kind}_misses"], seen[f"l2_{kind}_hits"]) > 1000


@pytest.mark.parametrize("seed", range(48, 56))
def test_the_engines_agree(seed: int) -> None:
    plain = run(seed, drawn(seed), engine="python")
    assert counted(plain) == counted(run(seed, drawn(seed), engine="numba"))
    assert counted(plain) == counted(run(seed, drawn(seed), engine="python", reference=True))


@pytest.mark.parametrize("seed", range(56, 60))
def test_results_are_those_of_a_machine_without_them(seed: int) -> None:
    """But for times: what a kernel without the clock computes in one block hangs on none."""
    m = drawn(seed)
    off = replace(m, instruction_cache=None, constant_cache=None)
    with_them, without = run(seed, m, engine="python"), run(seed, off, engine="python")
    assert with_them.stats["warp_instructions"] == without.stats["warp_instructions"]
    assert with_them.stats["thread_instructions"] == without.stats["thread_instructions"]
    assert with_them.cycles > without.cycles
