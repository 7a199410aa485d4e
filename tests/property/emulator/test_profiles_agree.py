"""What single instructions of random kernels did and waited for: the same in both modes and engines, and never a change
to what the run counts; the laws that `conservation` has of it hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.models.machines.files import list_machines
from tests.property.emulator.test_schedulers_agree import MACHINES, counted, run
from tests.support.kits.emulator.every_unit import one_of_each
from tests.support.kits.emulator.small import go

SEEDS = 8


def by_instruction(result: Result) -> Any:
    """Everything of the profile, as plain numbers."""
    assert result.profile
    of_memory = result.dram_shares, result.dram_of_no_word
    return {"": of_memory} | {
        name: (
            {k: v.tolist() for k, v in p.stalls.items()},
            {k: v.tolist() for k, v in p.counters.items()},
            (p.latencies.tolist(), p.latency_sum.tolist(), p.latency_max.tolist()),
            [{k: v.tolist() for k, v in table.items()} for table in p.dram],
        )
        for name, p in result.profile.items()
    }


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_modes_agree_and_nothing_else_changes(machine: str, scheduler: str) -> None:
    reasons: set[str] = set()
    for seed in range(SEEDS):
        fast = run(seed, machine, scheduler, engine="numba", profile=True, by_object=True)
        slow = run(seed, machine, scheduler, engine="numba", profile=True, by_object=True, reference=True)
        assert by_instruction(fast) == by_instruction(slow), seed
        assert counted(fast) == counted(run(seed, machine, scheduler, engine="numba")), seed
        for p in fast.profile.values():
            assert np.array_equal(p.counters["warp_instructions"], fast.counts["k"])
            reasons |= {name for name, slots in p.stalls.items() if slots.any()}
    assert reasons >= {"stall_count", "branch", "scoreboard", "port_busy", "block_drain"}
    if scheduler != "ccws":  # it holds warps back where L1 happens to thrash
        assert ("pending" in reasons) == (scheduler in ("two_level", "tbas"))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_engines_agree(machine: str, scheduler: str) -> None:
    for seed in range(SEEDS, SEEDS + 2):
        plain = run(seed, machine, scheduler, small=True, engine="python", profile=True, by_object=True)
        compiled = run(seed, machine, scheduler, small=True, engine="numba", profile=True, by_object=True)
        assert by_instruction(plain) == by_instruction(compiled), seed


@pytest.mark.parametrize("machine", list_machines())
def test_every_machine(machine: str) -> None:
    code = one_of_each()
    for fn in code.functions:
        fn.info.machine = machine
    shape: Any = {"grid": 7, "block": 96, "sms": 2, "machine": machine, "hazards": False}
    shape |= {"profile": True, "by_object": True}
    words = {"x": np.arange(96, dtype=np.uint32)}
    results = [go(code, buffers=words, engine="numba", reference=reference, **shape) for reference in (False, True)]
    assert by_instruction(results[0]) == by_instruction(results[1])
