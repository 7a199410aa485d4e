"""Every warp scheduler, on random kernels, machines and numbers of SMs: the per-cycle mode, the event-skipping mode and
both engines agree on every counter, every slot is accounted for, and policies hear the same in both modes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.sections import Dispatch
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.issue_log import logged_events
from tests.support.kits.emulator.small import go

MACHINES = ("gtx680", "c2075", "gpgpusim-sharing")
SEEDS = 16


def run(seed: int, machine: str, scheduler: str, *, small: bool = False, **options: Any) -> Result:
    """The program of that seed on one to four SMs, in a launch drawn by the seed too: now and then blocks come at some
    interval, or start late."""
    rng = random.Random(f"launch {seed}")
    sms = 1 + seed % 4
    grid = rng.randrange(1, 4) if small else sms * rng.randrange(1, 9)
    shape: dict[str, Any] = {"grid": grid, "block": rng.choice((32, 96, 200, 384)), "sms": sms}
    words = {"x": np.arange(WORDS, dtype=np.uint32)}
    program = waiting_program(seed, machine)
    target = replace(load_machine(machine), dispatch=Dispatch((1, 1, 5, 60)[seed // 4 % 4]))
    shape["skew"] = seed if seed % 3 == 1 else None
    return go(program, buffers=words, machine=target, scheduler=scheduler, hazards=False, **shape, **options)


def counted(result: Result) -> Any:
    counts = {name: values.tolist() for name, values in result.counts.items()}
    return result.cycles, result.stats, result.buffers["x"].tolist(), counts


def require_conservation(result: Result, machine: str) -> None:
    """Every slot is an issue or one stall; what was dispatched has retired."""
    m, stats = load_machine(machine), result.stats
    slots = result.cycles * m.schedulers.count * m.schedulers.issue_width * result.sms
    assert stats["issue_slots"] + sum(stats["stalls"].values()) == slots
    assert stats["issue_slots"] == stats["warp_instructions"] == sum(stats["units"].values())
    assert stats["blocks_dispatched"] == stats["blocks_retired"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_modes_agree(machine: str, scheduler: str) -> None:
    pending = 0
    for seed in range(SEEDS):
        fast = run(seed, machine, scheduler, engine="numba")
        slow = run(seed, machine, scheduler, engine="numba", reference=True)
        assert counted(fast) == counted(slow), seed
        require_conservation(fast, machine)
        pending += fast.stats["stalls"]["pending"]
    if scheduler != "ccws":  # it holds warps back where L1 happens to thrash
        assert (pending > 0) == (scheduler in ("two_level", "tbas"))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_the_engines_agree(machine: str, scheduler: str) -> None:
    for seed in range(SEEDS, SEEDS + 4):
        plain = run(seed, machine, scheduler, small=True, engine="python")
        assert counted(plain) == counted(run(seed, machine, scheduler, small=True, engine="numba")), seed
        slow = run(seed, machine, scheduler, small=True, engine="python", reference=True)
        assert counted(plain) == counted(slow), seed
        require_conservation(plain, machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("seed", range(4))
def test_policies_hear_the_same_in_both_modes(machine: str, seed: int) -> None:
    """But for the order of what falls due at the beginning of a cycle."""
    logs = []
    for reference in (False, True):
        with logged_events() as log:
            run(seed, machine, "lrr", small=True, engine="python", reference=reference)
        logs.append(log)
    assert sorted(logs[0]) == sorted(logs[1])
    due = ("completed", "resumed", "waits")
    later = [[heard for heard in log if heard.event not in due] for log in logs]
    assert later[0] == later[1]
    heard = {event.event for event in logs[0]}
    assert heard >= {"started", "ended", "missed", "completed", "waits", "resumed"}


def test_the_schedulers_differ() -> None:
    """Else the tests above would say little. Without pairs of blocks "owf" is "oldest". Where L1 does not thrash "ccws"
    is "gto"."""
    cycles = {name: tuple(run(seed, "c2075", name, engine="numba").cycles for seed in range(4)) for name in SCHEDULERS}
    assert cycles.pop("owf") == cycles["oldest"]
    assert cycles.pop("ccws") == cycles["gto"]
    assert len(set(cycles.values())) == len(cycles)
