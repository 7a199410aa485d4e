"""Programs whose branches lead anywhere: scheduled without a hazard, rewritten without a change."""

from __future__ import annotations

import random

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import BinallocError, LimitHit, Refused
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from binalloc.verify.hazards.check import find_hazards
from tests.support.generator.programs import generate
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()
MAX_CYCLES = 6000
PARTS = 10
EACH = 40
REWRITTEN = 15


def outcome(module: Module, launch: Launch) -> dict[str, np.ndarray] | str:
    """What a run leaves, or how it ends; "endless" says nothing about the rest."""
    try:
        return run(module, "k", launch, MACHINE, max_cycles=MAX_CYCLES).buffers
    except LimitHit:
        return "endless"
    except BinallocError as error:
        return str(error).split(";")[0].split(": ")[-1]


@pytest.mark.parametrize("part", range(PARTS))
def test_their_schedules_have_no_hazard(part: int) -> None:
    wrong = []
    for seed in range(part * EACH, (part + 1) * EACH):
        module, (launch,) = generate("unstructured", seed)
        scheduled = schedule(module, MACHINE)
        found = [str(h) for h in find_hazards(scheduled, MACHINE.unit_latencies)]
        ended = outcome(scheduled, launch)
        if isinstance(ended, str) and "hazard" in ended:
            found.append(ended)
        wrong += [f"seed {seed}: {hazard}" for hazard in found[:1]]
    assert not wrong, "\n".join(wrong)


def same(a: dict[str, np.ndarray] | str, b: dict[str, np.ndarray] | str) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return "endless" in (a, b) or (isinstance(a, str) and isinstance(b, str))
    return all(np.array_equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("part", range(PARTS))
def test_their_rewrites_are_proven_and_do_the_same(part: int) -> None:
    wrong, rewritten = [], 0
    for seed in range(part * REWRITTEN, (part + 1) * REWRITTEN):
        original, (launch,) = generate("unstructured", seed, local=True)
        rng = random.Random(f"budgets {seed}")
        expected = outcome(schedule(original, MACHINE), launch)
        for allocator in ("local", "unified", "ptxas-smem", "regdem", "best"):
            registers = rng.randrange(2, 11)
            try:
                new = rewrite(original, "k", registers, 0 if allocator == "local" else 2, allocator)
            except (Infeasible, Refused):
                continue
            rewritten += 1
            final = read_module(write_module(schedule(new, MACHINE)))
            report = check(original, final, "k")
            found = [str(e) for e in report.errors] + [str(h) for h in find_hazards(final, MACHINE.unit_latencies)]
            if not same(expected, outcome(final, launch)):
                found.append("the results differ")
            wrong += [f"seed {seed}, {allocator}, {registers} registers: {text}" for text in found[:1]]
    assert not wrong, "\n".join(wrong)
    assert rewritten > REWRITTEN
