"""A stall count lowered by one anywhere is caught as a hazard by the emulator, or harmless."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Function, Module
from binalloc.launch.types import Launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.programs import random_program
from tests.support.kits.machines import roomy_machine
from tests.support.oracles.transform.schedule import Oracle

MACHINE = roomy_machine()


def lowered(fn: Function, index: int) -> Function:
    instrs = list(fn.instrs)
    ctrl = instrs[index].ctrl
    instrs[index] = instrs[index].replace(ctrl=ctrl._replace(stall=ctrl.stall - 1))
    return Function(**{**fn.__dict__, "instrs": instrs})


def certain(oracle: Oracle, pair: tuple[int, int], executed: dict[str, np.ndarray]) -> bool:
    """Whether the run must have met producer and consumer: unguarded, one block apart, executed."""
    first, last = pair
    (f, i), (g, _) = oracle.where[first], oracle.where[last]
    if f != g or first >= last or any(oracle.views[n].control for n in range(first, last)):
        return False
    if oracle.views[first].guard is not None or oracle.views[last].guard is not None:
        return False
    return bool(executed[oracle.module.functions[f].name][i])


def caught(module: Module, launch: Launch, expected: dict[str, np.ndarray]) -> bool:
    """True for a hazard; otherwise the results must be the same."""
    try:
        result = run(module, "kernel", launch, MACHINE, max_cycles=1_000_000)
    except KernelFault as fault:
        if "hazard" not in str(fault):
            raise
        return True
    for name, data in expected.items():
        assert np.array_equal(data, result.buffers[name])
    return False


@pytest.mark.parametrize("seed", range(12))
def test_every_count_lowered_by_one(seed: int) -> None:
    size = 20 + 5 * (seed % 5)
    module, launch = random_program(seed, size=size, callees=seed % 3, registers=[8, 12, 16][seed % 3], depth=seed % 3)
    module = schedule(module, MACHINE)
    good = run(module, "kernel", launch, MACHINE)
    oracle = Oracle(module, MACHINE)
    tally: Counter[str] = Counter()
    for node, (f, index) in enumerate(oracle.where):
        if not oracle.stalls[node]:
            continue
        oracle.stalls[node] -= 1
        pairs = [(p, c) for p, c, _ in oracle.fixed_violations()]
        oracle.stalls[node] += 1
        functions = list(module.functions)
        functions[f] = lowered(functions[f], index)
        fault = caught(replace(module, functions=functions), launch, good.buffers)
        if oracle.stalls[node] > 1:
            assert pairs, "a count above the minimum that nothing needs"
        assert not (fault and not pairs), "a hazard no path explains"
        must = any(certain(oracle, pair, good.counts) for pair in pairs)
        assert fault or not must, (oracle.where[node], pairs)
        tally["caught" if fault else "path not taken" if pairs else "harmless"] += 1
    assert tally["caught"] > tally["path not taken"] // 4
