"""Random kernels with slots leave the same where two blocks share some of these, under every scheduler."""

from __future__ import annotations

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.transform.schedule.schedule import schedule
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
