"""Growth of allocation at high register pressure: rewriting of large random programs, and of large imported kernels.

Run: python -m tests.benchmarks.bench_allocation [sizes...]    (default 1000 5000; 10000 and 20000 take minutes)

Prints CPU seconds, rounds of colouring, values in memory and the loop-weighted cost of their accesses; asserts nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.transform.allocate import registers
from binalloc.transform.allocate.solver import realised_cost
from binalloc.transform.rewrite import rewrite
from tests.benchmarks.bench_import import crowded_kernel
from tests.support.generator.programs import random_program

SIZES = (1000, 5000)
LIVE = 83


class Counted:
    """Counts calls of the colouring while it stands in for it, and keeps what the last allocation came to."""

    def __init__(self) -> None:
        self.rounds = 0
        self.colour: Callable[..., object] = registers.colour
        self.cost = 0.0
        self.memory = 0

    def __call__(self, *arguments: object, **options: object) -> object:
        self.rounds += 1
        return self.colour(*arguments, **options)


def row(label: str, module: Module, budget: int, slots: int, allocator: str) -> None:
    """One rewrite, as a line of figures."""
    counted = Counted()
    plan = rewrite._plan

    def planned(work: rewrite._Work, *arguments: object) -> object:
        counted.cost = sum(realised_cost(a) for a in work.allocations.values())
        counted.memory = sum(len(a.memory) for a in work.allocations.values())
        return plan(work, *arguments)  # type: ignore[arg-type]

    registers.colour = counted  # type: ignore[assignment]
    rewrite._plan = planned  # type: ignore[assignment]
    start = time.process_time()
    try:
        rewrite.rewrite(module, module.kernels()[0].name, budget, slots, allocator)
    finally:
        registers.colour, rewrite._plan = counted.colour, plan  # type: ignore[assignment]
    seconds = time.process_time() - start
    count = sum(len(fn) for fn in module)
    print(
        f"{label:8s} {count:7,d} instructions, {budget:3d} registers, {slots:2d} slots, {allocator:7s} "
        f"{seconds:8.2f} s, {counted.rounds:4d} rounds, {counted.memory:6,d} in memory, cost {counted.cost:12,.0f}",
        flush=True,
    )


def main() -> None:
    for size in [int(a) for a in sys.argv[1:]] or SIZES:
        module, _ = random_program(5, size=size, registers=40, callees=0, depth=3)
        for budget in (32, 24):
            row("random", module, budget, 6, "best")
        crowded = import_ptx(crowded_kernel(size, LIVE)).module
        for allocator, slots in (("best", 8), ("unified", 8), ("local", 0)):
            row("imported", crowded, 32, slots, allocator)


if __name__ == "__main__":
    main()
