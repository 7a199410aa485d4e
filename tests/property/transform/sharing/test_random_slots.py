"""Random kernels with slots leave the same where two blocks share some of these, under every scheduler."""

from __future__ import annotations

import math
import random

import pytest

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.sharing.pairs import fitted
from binalloc.pipeline.sharing.plans import Planner
from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.sharing.share import share_memory
from binalloc.verify.sharing.check import check_shared
from tests.support.kits.transform.pairs_of_blocks import ran, same
from tests.support.kits.transform.shared_slots import slotted

SEEDS = 24


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_share_slots_leave_the_same(seed: int) -> None:
    case = slotted(seed)
    if case is None:
        return
    code = schedule(case.module, case.machine)
    expected = ran(code, case.launch, case.machine)
    for own in case.own:
        for k, scheduler in enumerate(SCHEDULERS):
            options = {"scheduler": scheduler, "sms": 3 if (seed + k) % 2 else 1, "sharing": case.sharing(own)}
            assert same(expected, ran(code, case.launch, case.machine, **options)), (own, scheduler)
        plain = {"sharing": case.sharing(own), "scheduler": "owf", "check": False, "race": False}
        runs = [ran(code, case.launch, case.machine, **plain, reference=slow) for slow in (False, True)]
        if seed % 8 == 0:
            runs.append(ran(code, case.launch, case.machine, **plain, engine="python"))
        assert all((run.cycles, run.stats) == (runs[0].cycles, runs[0].stats) for run in runs)
        assert all(same(runs[0], run) for run in runs)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_slots_that_are_chosen_to_be_shared(seed: int) -> None:
    """They have other numbers, threads release them with the rest, and that is proven."""
    case = slotted(seed)
    if case is None:
        return
    launch, rng = case.launch, random.Random(f"shared slots {seed}")
    memory = shared_memory_of(case.module, "k", launch.block)
    use = KernelUse.of(case.module.function("k").info, math.prod(launch.block), launch.dynamic_shared)
    planner = Planner(memory, case.machine, use)
    found = [planner.with_slots(pairing) for pairing in fitted(planner.room.sharing_slots(0))]
    plans = [plan for plan in found if plan is not None]
    expected = ran(schedule(case.module, case.machine), launch, case.machine)
    for plan in rng.sample(plans, min(2, len(plans))):
        assert plan.slots is not None
        made = share_memory(case.module, memory, planner.units, plan.distances, plan.releases, plan.slots)
        own = plan.pairing.slots
        report = check_shared(case.module, made, "k", launch.block, plan.private, launch.dynamic_shared, own)
        assert report.ok, report
        code = schedule(made, case.machine)
        for k, scheduler in enumerate(SCHEDULERS):
            options = {"scheduler": scheduler, "sms": 3 if (seed + k) % 2 else 1, "sharing": str(plan.pairing)}
            assert same(expected, ran(code, launch, case.machine, **options)), scheduler
