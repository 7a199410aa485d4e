"""Growth of allocation at high register pressure: rewriting of large random programs, and of large imported kernels.

Run: python -m tests.benchmarks.speed.bench_allocation [sizes...]    (default 1000 5000)

Prints CPU seconds, values in memory and the loop-weighted cost of spill code; asserts nothing.
"""

from __future__ import annotations

import sys
import time

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.transform.allocate.functions.registers import emitted_cost
from binalloc.transform.allocators.allocator import Problem
from binalloc.transform.allocators.table import find_allocator
from binalloc.transform.rewrite.rewrite import prepare
from tests.benchmarks.speed.bench_import import crowded_kernel
from tests.support.generator.programs import random_program

SIZES = (1000, 5000)
LIVE = 83
SOLVER_LIMIT = 4.0


def row(label: str, module: Module, budget: int, slots: int, allocator: str) -> None:
    """One allocation, analysis included, as a line of figures."""
    kernel = module.kernels()[0].name
    start = time.process_time()
    problem = Problem(prepare(module, kernel).program, kernel, budget, slots, SOLVER_LIMIT)
    attempt = find_allocator(allocator).allocate(problem).attempt
    seconds = time.process_time() - start
    cost = sum(emitted_cost(a.code, attempt.prices) for a in attempt.allocations.values())
    memory = sum(len(a.memory) for a in attempt.allocations.values())
    count = sum(len(fn) for fn in module)
    print(
        f"{label:8s} {count:7,d} instructions, {budget:3d} registers, {slots:2d} slots, {allocator:7s} "
        f"{seconds:8.2f} s, {memory:6,d} in memory, cost {cost:12,.0f}",
        flush=True,
    )


def main() -> None:
    for size in [int(a) for a in sys.argv[1:]] or SIZES:
        module, _ = random_program(5, size=size, registers=40, callees=0, depth=3)
        for budget in (32, 24):
            row("random", module, budget, 6, "best")
        crowded = import_ptx(crowded_kernel(size, LIVE), machine="gtx680").module
        for allocator, slots in (("best", 8), ("unified", 8), ("local", 0)):
            row("imported", crowded, 32, slots, allocator)


if __name__ == "__main__":
    main()
