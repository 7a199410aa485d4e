"""Arguments that travel in memory: any of them, at any budget, by any allocator, proven, run and counted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import view
from binalloc.transform.allocate import budgets, passing
from binalloc.transform.allocate.attempt import Attempt, allocate
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import Rewrite, fewest_registers, prepare, rewrite_to_budget
from binalloc.transform.virtual.virtualise import may_be_stored
from tests.support.generator.programs import generate
from tests.support.generator.transform.call_sequences import call_sequence
from tests.support.kits.transform.rewrite_judge import Original

PASSING = ("best", "unified", "ptxas-smem", "local")


def original(preset: str, seed: int) -> Original:
    if preset == "sequence":
        module, launch = call_sequence(seed)
        return Original(module, [launch])
    return Original(*generate(preset, seed))


def passed(monkeypatch: pytest.MonkeyPatch, stored: Mapping[str, list[Location]]) -> None:
    """From now on allocators begin with those arguments in memory."""

    def allocated(*given: Any, for_pointer: bool = False, **options: Any) -> Attempt:
        return allocate(*given, **options, stored=stored)

    monkeypatch.setattr(passing, "allocate_passing", allocated)
    monkeypatch.setattr(budgets, "allocate_passing", allocated)


def drawn(program: ProgramAnalysis, rng: random.Random) -> dict[str, list[Location]]:
    share = rng.choice((0.3, 0.7, 1.0))
    every = {name: may_be_stored(program, name) for name in program.functions}
    return {name: [loc for loc in found if rng.random() < share] for name, found in every.items()}


def counted(found: Rewrite) -> None:
    """The rewrite has the accesses that its cost counts, and that its explanation tells."""
    instrs = [i for name in found.functions for i in found.module.function(name).instrs]
    memories = [m for i in instrs if (m := view(i).memory) is not None and m.spill]
    assert sum(m.space == Space.SHARED for m in memories) == found.cost.slot + found.cost.moves
    assert sum(m.space == Space.LOCAL for m in memories) == found.cost.local
    told = found.explain()
    assert sum(v.loads[0] + v.stores[0] for v in told) == found.cost.local + found.cost.slot


CASES = [("wide", seed) for seed in range(100, 140)] + [("sequence", seed) for seed in range(40)]


@pytest.mark.parametrize(("preset", "seed"), CASES)
def test_whichever_travel_in_memory(preset: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = original(preset, seed)
    prepared = prepare(program.module, "kernel")
    least = fewest_registers(prepared)
    assert least is not None
    rng = random.Random(f"passing {preset} {seed}")
    for _ in range(4):
        stored = drawn(prepared.program, rng)
        registers, slots, allocator = least + rng.randrange(7), rng.choice((0, 2, 4, 6, 8, 16)), rng.choice(PASSING)
        layout = rng.choice(("moving", "moving", "register", "traditional"))
        with monkeypatch.context() as patch:
            passed(patch, stored)
            try:
                found = rewrite_to_budget(prepared, registers, slots, allocator, layout=layout)
            except Infeasible:  # the fewest registers may be those of another choice
                continue
        verdict = program.judge(found.module, registers, slots)
        assert not verdict.failures, (registers, slots, allocator, layout, stored, verdict.failures)
        counted(found)
