"""The smem-cost paper's experiment: its counting, the regression, the parts, and the paper's two figures."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.laboratory.smem_cost.costs import PARTS, Costs, FittedLine, Sweep, costs, fit
from binalloc.laboratory.smem_cost.kernel import MOST, places
from binalloc.models.machines.reader import load_machine
from tests.support.oracles.emulator.banks import Banks

SMALL = (1, 3, 8)


def sweep(machine: str = "gtx780ti", engine: str = "python", at: tuple[int, ...] = SMALL) -> Costs:
    return costs(Sweep(RunOptions(machine, engine), at, at, at), lambda _: None)


def test_the_line_is_that_of_least_squares() -> None:
    rng = random.Random(8)
    for _ in range(50):
        xs = [rng.randrange(40_000) for _ in range(rng.randrange(2, 60))]
        ys = [x * 2 + rng.randrange(1000) for x in xs]
        c1, c2 = np.polyfit(xs, ys, 1)
        r2 = np.corrcoef(xs, ys)[0, 1] ** 2
        found = fit(xs, ys)
        assert (found.c1, found.c2, found.r2) == (pytest.approx(c1), pytest.approx(c2, abs=1e-6), pytest.approx(r2))
    assert fit([4, 4], [1, 2]) == FittedLine(None, None, None)
    assert fit([1, 2], [5, 5]) == FittedLine(0.0, 5.0, None)


@pytest.mark.parametrize("name", ["gtx780ti", "gtx680", "c2075"])
def test_a_load_of_congestion_k_is_k_passes(name: str) -> None:
    """By the oracle of banks, and every byte within the kernel's shared variable."""
    machine = load_machine(name)
    shared = machine.shared
    banks = Banks(shared.banks, shared.bank_bytes, shared.mode_bytes)
    for k in range(1, MOST + 1):
        lanes = dict(enumerate(places(machine, k).tolist()))
        assert banks.passes(lanes, shared.bank_bytes) == k
        assert max(lanes.values()) + shared.bank_bytes <= MOST * shared.banks * shared.bank_bytes


@pytest.mark.parametrize("name", ["gtx780ti", "gtx680", "c2075"])
def test_what_is_counted(name: str) -> None:
    """The banks are taken w * l * k cycles, one load alone takes the latency, and the parts make up the cycles and the
    line."""
    machine = load_machine(name)
    found = sweep(name)
    assert found.clock == machine.units.sys.latency
    for row in found.rows:
        assert row.passes == row.product
        assert row.latency == machine.shared.latency - 1
        assert row.cycles == sum(getattr(row, part) for part in PARTS)
        assert min(row.launch_skew, row.gaps, row.drain) >= 0
        if row.w == 1:
            assert row.cycles == row.product + machine.shared.latency - 1
    assert [(row.w, row.l, row.k) for row in found.rows] == [(w, n, k) for w in SMALL for n in SMALL for k in SMALL]
    assert found.fit.c1 is not None
    assert found.fit.c2 is not None
    assert found.fit.c1 == pytest.approx(sum(line.c1 or 0 for line in found.parts.values()))
    assert found.fit.c2 == pytest.approx(sum(line.c2 or 0 for line in found.parts.values()))


def test_the_model_sets_what_is_measured() -> None:
    """Other figures of the machine, other parts: latency by the latency, the clock by the special registers' unit."""
    machine = load_machine("gtx780ti")
    slower = replace(machine, shared=replace(machine.shared, latency=47), units=replace(
        machine.units, sys=replace(machine.units.sys, latency=40)))
    found = costs(Sweep(RunOptions(slower, "python"), (1, 2), (2,), (4,)), lambda _: None)
    assert found.clock == 40
    assert [row.cycles for row in found.rows] == [2 * 4 + 46, 2 * 2 * 4 + 46]


def test_both_engines_count_the_same() -> None:
    assert sweep(engine="python").rows == sweep(engine="numba").rows


def test_the_papers_figures_are_met() -> None:
    """c1, and the cycles measured at w = l = 32, k = 8, within 5 %."""
    found = sweep(engine="numba", at=(1, 8, 32))
    assert found.fit.c1 == pytest.approx(1.047, rel=0.05)
    point = next(row for row in found.rows if (row.w, row.l, row.k) == (32, 32, 8))
    assert point.cycles == pytest.approx(8524.46, rel=0.05)
