"""Random whole programs through the whole path, as property tests and long runs need them.

`budgets(program)` draws (R, S, allocator) around the minimum the tool reports; `judge` allocates, schedules, checks and
emulates one case beside the original, and says what went wrong, if anything did.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from binalloc.emulator.host.run import Result, run
from binalloc.errors import BinallocError
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.transform.allocate.registers import Infeasible
from binalloc.transform.allocators.table import ALLOCATORS as TABLE
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program
from tests.support.kits.machines import roomy_machine

MACHINE = roomy_machine()
MAX_CYCLES = 5_000_000
ALLOCATORS = tuple(name for name in TABLE if name != "cpsat")
SLOTS = (0, 1, 2, 3, 5, 8, 16, 40, 80)


@dataclass(frozen=True)
class Budget:
    """registers: R. slots: S. where: how R stands to the program ("minimum", "above demand" ...)."""

    registers: int
    slots: int
    allocator: str
    where: str


@dataclass
class Program:
    """A random program, with what its runs and its rewrites have in common computed once."""

    seed: int
    module: Module = field(init=False)
    launch: Launch = field(init=False)

    def __post_init__(self) -> None:
        self.module, self.launch = random_program(self.seed)

    @cached_property
    def demand(self) -> int:
        return max(fn.info.registers for fn in self.module)

    @cached_property
    def minimum(self) -> int:
        return minimum_registers(self.module, "kernel", 0)

    @cached_property
    def expected(self) -> Result:
        return emulate(schedule(self.module, MACHINE), self.launch)


def emulate(module: Module, launch: Launch) -> Result:
    """A run that faults on hazards and bad accesses."""
    return run(module, "kernel", launch, MACHINE, engine="numba", max_cycles=MAX_CYCLES)


def budgets(program: Program) -> Iterator[Budget]:
    """Eight: twice at the minimum and just above it, between, at the demand and above it, with some S and allocator."""
    rng = random.Random(f"budgets {program.seed}")
    low, high = program.minimum, max(program.demand, program.minimum)
    wanted = (
        ("minimum", low),
        ("minimum", low),
        ("minimum + 1", low + 1),
        ("minimum + 1", low + 1),
        ("quarter", (3 * low + high + 3) // 4),
        ("middle", (low + high + 1) // 2),
        ("demand", high),
        ("above demand", high + rng.choice((1, 3, 8))),
    )
    for k, (where, registers) in enumerate(wanted):
        slots = 0 if k == 0 else rng.choice(SLOTS)
        yield Budget(min(registers, 255), slots, rng.choice(ALLOCATORS), where)


def judge(program: Program, budget: Budget, counts: Counter[str] | None = None) -> str:
    """What is wrong with this case, "" for nothing; "infeasible: ..." if the tool says so. counts: spilling, slots."""
    original = write_module(program.module)
    try:
        new = rewrite(program.module, "kernel", budget.registers, budget.slots, budget.allocator)
    except Infeasible as error:
        return f"infeasible: {error}"
    scheduled = schedule(new, MACHINE)
    if write_module(program.module) != original:
        return "the input module was modified"
    report = check(program.module, scheduled, "kernel")
    if not report.ok:
        return f"checker: {report.errors[0]} ({len(report.errors)} in all)"
    info = scheduled.function("kernel").info
    if info.registers > budget.registers or info.slot_bytes > 128 * budget.slots:
        return f"over budget: {info.registers} registers, {info.slot_bytes // 128} slots"
    if counts is not None:
        counts["spilling"] += bool(info.slot_bytes or info.spill_local)
        counts["slots"] += bool(info.slot_bytes)
    try:
        got = emulate(read_module(write_module(scheduled)), program.launch)
    except BinallocError as error:
        return f"emulation: {error}"
    for name, data in program.expected.buffers.items():
        if not np.array_equal(data, got.buffers[name]):
            where = np.flatnonzero(data.reshape(-1) != got.buffers[name].reshape(-1))
            return f"ACCEPTED BUT DIFFERENT: {name} at {where[:8]}"
    return ""
