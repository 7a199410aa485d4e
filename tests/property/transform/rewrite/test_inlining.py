"""Random programs whose calls are inlined: proven, and left by both runs alike."""

from __future__ import annotations

from collections import Counter

import pytest

from binalloc.transform.rewrite.rewrite import fewest_registers, prepare, rewrite_to_budget
from binalloc.transform.rewrite.ways import NONE, WAYS
from tests.support.kits.transform.rewrite_cases import Program

SEEDS = 24
BUDGETS = ((0, 0), (1, 4), (8, 2))
"""Registers above the fewest, and slots."""


@pytest.mark.parametrize("how", [how for how in WAYS if how != NONE])
def test_random_programs_with_inlined_calls(how: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        program = Program(seed)
        prepared = prepare(program.module, "kernel", inline=how)
        if not prepared.inlined:
            continue
        fewest = fewest_registers(prepared)
        assert fewest is not None
        more, slots = BUDGETS[seed % len(BUDGETS)]
        registers = min(255, fewest + more)
        verdict = program.judge(rewrite_to_budget(prepared, registers, slots).module, registers, slots)
        assert verdict.failures == [], (seed, registers, slots)
        seen["calls"] += sum(map(len, prepared.inlined.values()))
        seen["spilling"] += bool(verdict.info.slot_bytes or verdict.info.spill_local)
    assert seen["calls"] >= 5
    assert seen["spilling"] >= 2
