"""Random kernels whose blocks get their shared memory as they run leave the same as with static memory, whoever else
has had the memory in between: so access regions are where something is in use, and addresses are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.transform.multiplex.public import get_as_they_run
from binalloc.transform.schedule.schedule import schedule
from tests.support.generator.transform.exchanges import exchanging
from tests.support.programs.builder import program

MACHINE = load_machine("t4")
SEEDS = 40


def left(module: Module, launch: Launch, **options: object) -> dict[str, np.ndarray]:
    """What a launch leaves; `--check` finds reads of words that the block has not written since it got them."""
    given = RunOptions(machine=MACHINE, check=True, race=True, **{"sms": 1, **options})  # type: ignore[arg-type]
    return dict(run_launch(module, "k", launch, given).buffers)


def fits(module: Module, launch: Launch) -> bool:
    """Whether an SM has registers for a block; a rewrite would leave larger ones fewer."""
    use = KernelUse(module.function("k").info.registers, 0, math.prod(launch.block))
    return MACHINE.occupancy(use).blocks_per_sm > 0


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_that_get_memory_as_they_run_leave_the_same(seed: int) -> None:
    text, launch = exchanging(seed)
    module = program(text)
    expected = left(schedule(module, MACHINE), launch)
    try:
        made = get_as_they_run(module, "k", launch.block)
    except Refused as error:
        assert error.message == "no block waits for shared memory"  # noqa: PT017
        return
    code = schedule(made.module, MACHINE)
    for options in ({}, {"over": 1}, {"scheduler": "lrr", "sms": 3}):
        assert same(expected, left(code, launch, **options))
