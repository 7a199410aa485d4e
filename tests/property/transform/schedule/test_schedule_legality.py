"""Random control flow: every schedule is legal and no stall count can be lowered, by the brute-force oracle."""

from __future__ import annotations

import pytest

from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.transform.dependent import random_shape
from tests.support.kits.machines import machines
from tests.support.oracles.transform.schedule import Oracle


@pytest.mark.parametrize("leavers", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_schedules_are_legal_and_tight(seed: int, leavers: bool) -> None:
    """leavers: EXIT and RET inside divergent code."""
    machine = machines()[seed % 3]
    module = schedule(random_shape(seed, leavers), machine)
    oracle = Oracle(module, machine)
    assert oracle.fixed_violations() == []
    assert oracle.scoreboard_violations() == []
    assert oracle.loose() == []
