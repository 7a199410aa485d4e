"""Random whole programs at budgets around the minimum that the tool reports, for the judge of rewrites.

`budgets(program)` draws (R, S, allocator); `tried` rewrites for one and says what the judge finds wrong, if anything.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from tests.support.generator.programs import random_program
from tests.support.kits.transform.rewrite_judge import HEURISTICS, Original

SLOTS = (0, 1, 2, 3, 5, 8, 16, 40, 80)


@dataclass(frozen=True)
class Budget:
    """registers: R. slots: S. where: how R stands to the program ("minimum", "above demand" ...)."""

    registers: int
    slots: int
    allocator: str
    where: str


class Program(Original):
    """A random program and the fewest registers that it can do with."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        module, launch = random_program(seed)
        super().__init__(module, [launch])

    @cached_property
    def minimum(self) -> int:
        return minimum_registers(self.module, "kernel", 0)

    def least(self, allocator: str) -> int:
        """The fewest registers that the allocator does with: others than `regdem` with as few as any."""
        if allocator != "regdem":
            return self.minimum
        return minimum_registers(self.module, "kernel", 0, allocator)


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
        allocator = rng.choice(HEURISTICS)
        least = program.least(allocator)
        yield Budget(min(max(registers, least), 255), slots, allocator, where)


def tried(program: Program, budget: Budget, counts: Counter[str]) -> str:
    """What is wrong with this case, "" for nothing; "infeasible: ..." if the tool says so. counts: spilling, slots."""
    try:
        new = rewrite(program.module, "kernel", budget.registers, budget.slots, budget.allocator)
    except Infeasible as error:
        return f"infeasible: {error}"
    verdict = program.judge(new, budget.registers, budget.slots)
    counts["spilling"] += bool(verdict.info.slot_bytes or verdict.info.spill_local)
    counts["slots"] += bool(verdict.info.slot_bytes)
    wrong = [f"{kind}: {text}" for kind, text in verdict.failures]
    return "; ".join(wrong + [f"{kernel}: the reconvergence stack may overflow" for kernel in verdict.deep])
