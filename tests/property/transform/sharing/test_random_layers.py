"""Random kernels whose arrays lie over one another: where the checker accepts them, and the original's results are
defined, they leave the same, with no race and no read of what was not written."""

from __future__ import annotations

import pytest

from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.errors import KernelFault
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.sharing.overlay.check import check_overlay
from tests.support.generator.transform.layers import layers
from tests.support.kits.transform.pairs_of_blocks import GPGPUSIM, ran, same

PARTS, EACH = 16, 75


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_accepted_runs_alike(part: int) -> None:
    compared = 0
    for seed in range(part * EACH, (part + 1) * EACH):
        given = layers(seed)
        report = check_overlay(given.original, given.made, "k", (given.threads, 1, 1))
        assert "internal" not in {error.kind for error in report.errors}, str(report)
        if not report.ok:
            continue
        original, made = schedule(given.original, GPGPUSIM), schedule(given.made, GPGPUSIM)
        for n in (2, 4):
            try:
                expected = ran(original, given.launch(n), GPGPUSIM)
            except KernelFault:  # races, reads of what was not written
                continue
            compared += bool(report.stats["moved"])
            for k, scheduler in enumerate(SCHEDULERS):
                found = ran(made, given.launch(n), GPGPUSIM, scheduler=scheduler, sms=1 + 2 * (k % 2))
                assert same(expected, found), (seed, n, scheduler)
    assert compared
