"""`cpsat`'s bounds are of what is emitted: no code costs less that has its instructions in the same order, whatever
spill code does between them and wherever arguments travel."""

from __future__ import annotations

import random
from typing import Any

import pytest

from binalloc.errors import Refused
from binalloc.models.allocation.cpsat import Solution
from binalloc.transform.allocate.functions import solver
from binalloc.transform.rewrite.rewrite import Prepared, fewest_registers, prepare, rewrite_to_budget
from tests.property.transform.allocate.test_passing import drawn, passed
from tests.support.generator.programs import generate

_ROUNDING = 1e-6


def bounded(monkeypatch: pytest.MonkeyPatch, prepared: Prepared, registers: int, slots: int) -> bool:
    """Whether there is a bound, which then holds, as do those of all functions before they are cut down to what was
    found."""
    said: list[tuple[Solution, float]] = []
    solve, improve = solver.solve, solver.improve
    last: list[Solution] = []

    def solved(*given: Any, **options: Any) -> Solution:
        last.append(solve(*given, **options))
        return last[-1]

    def improved(*given: Any, **options: Any) -> Any:
        last.clear()
        found, report = improve(*given, **options)
        said.extend((solution, report.value) for solution in last)
        return found, report

    with monkeypatch.context() as patch:
        patch.setattr(solver, "solve", solved)
        patch.setattr(solver, "improve", improved)
        try:
            found = rewrite_to_budget(prepared, registers, slots, "cpsat", solver_limit=0.5)
        except Refused:
            return False
    for solution, value in said:
        assert solution.bound <= value + _ROUNDING or solution.status == "infeasible"
    assert found.bound is None or found.bound <= found.cost.cost + _ROUNDING
    return found.bound is not None


def test_spill_code_that_moves_needs_fewer_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three values take turns in two slots: one is back before its use, another is stored late, where registers are
    free. The model had each in a slot from its last access to the next."""
    module = generate("wide", 510087, chain=0, size=20, callees=1, holes=0.3, halves=False)[0]
    assert bounded(monkeypatch, prepare(module, "kernel"), 6, 2)


@pytest.mark.parametrize("callees", [0, 1, 2])
@pytest.mark.parametrize("first", range(511000, 511030, 10))
def test_bounds_hold(first: int, callees: int, monkeypatch: pytest.MonkeyPatch) -> None:
    held = 0
    for seed in range(first, first + 10):
        rng = random.Random(f"bound {seed} {callees}")
        module = generate("wide", seed, chain=0, size=rng.choice((20, 20, 40)), callees=callees, holes=0.3)[0]
        try:
            prepared = prepare(module, "kernel")
        except Refused:
            continue
        least = fewest_registers(prepared)
        assert least is not None
        for _ in range(3):
            with monkeypatch.context() as patch:
                if rng.random() < 0.5:
                    passed(patch, drawn(prepared.program, rng))
                held += bounded(patch, prepared, least + rng.randrange(4), rng.choice((0, 2, 4, 6)))
    assert held >= 10
