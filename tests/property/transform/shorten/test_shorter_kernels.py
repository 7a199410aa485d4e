"""Random kernels with shorter access regions leave the same, without races, and every step is proven."""

from __future__ import annotations

import pytest

from binalloc.transform.schedule.schedule import schedule
from binalloc.transform.shorten.shorten import shortened
from binalloc.verify.checker import check
from binalloc.verify.shorten.late import check_late_stores
from binalloc.verify.shorten.unrolled import check_unrolled
from tests.property.transform.multiplex.test_public import MACHINE, left, same
from tests.support.generator.transform.exchanges import exchanging
from tests.support.programs.builder import program

SEEDS = 40


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_shorter_regions_leave_the_same(seed: int, aligned: bool) -> None:
    text, launch = exchanging(seed, aligned=aligned)
    module = program(text)
    expected = left(schedule(module, MACHINE), launch)
    for step in shortened(module, "k", launch.block):
        if step.last:
            report = check_unrolled(module, step.module, "k", launch.block, dict(step.last))
        elif step.late:
            report = check_late_stores(module, step.module, "k", launch.block)
        else:
            report = check(module, step.module, "k")
        assert report.ok, report.errors[0]
        module = step.module
        assert same(expected, left(schedule(module, MACHINE), launch))
