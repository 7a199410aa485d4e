"""Prints what a warp instruction costs as launches grow: `python -m tests.benchmarks.emulator.emulator_growth [suite]`.

CPU nanoseconds per warp instruction of the kernels of `emulator_rates`: on one SM; on eight with 8 times the blocks;
on one with a hundred times the blocks of a shorter kernel. With `suite`: the rate of every sample at full size on one
SM, and their geometric mean. Best of several runs each, GTX680.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

from binalloc.emulator.runs.run import run
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.benchmarks.emulator.emulator_rates import BENCHES, arithmetic
from tests.benchmarks.emulator.one_sm import module_of, program_launches
from tests.support.kits.emulator.small import go

RUNS = 3
WIDE = 8
MANY = 100


def cost(code: Module, grid: int, block: int, words: int, sms: int = 1) -> float:
    """CPU nanoseconds per warp instruction."""
    best = float("inf")
    for _ in range(RUNS):
        x = {"x": np.zeros(words, np.int32)} if words else {}
        start = time.process_time()
        result = go(code, grid=grid, block=block, buffers=x, engine="numba", sms=sms)
        best = min(best, (time.process_time() - start) / result.stats["warp_instructions"])
    return best * 1e9


def growth() -> None:
    for name, (make, grid, block, words) in BENCHES.items():
        one, wide = cost(make(), grid // WIDE, block, words), cost(make(), grid, block, words, WIDE)
        print(f"{name:12} {one:7.0f} ns on one SM, {wide:7.0f} on {WIDE}: {wide / one:.2f}", flush=True)
    few, many = (cost(arithmetic(rounds=8), 8 * n, 256, 0) for n in (1, MANY))
    print(f"arithmetic   {few:7.0f} ns with 8 blocks, {many:7.0f} with {8 * MANY}: {many / few:.2f}")


def suite() -> None:
    machine, rates = load_machine("gtx680"), []
    for path in program_launches():
        module, launch = schedule(module_of(path), machine), load_launch(path)
        best = float("inf")
        for _ in range(RUNS):
            start = time.process_time()
            result = run(module, launch.kernel, launch, machine, engine="numba")
            best = min(best, time.process_time() - start)
        rates.append(result.stats["warp_instructions"] / best / 1e6)
        print(f"{path.stem:24} {rates[-1]:6.2f} M warp instr/s", flush=True)
    print(f"{'geometric mean':24} {math.exp(sum(map(math.log, rates)) / len(rates)):6.2f}")


if __name__ == "__main__":
    suite() if "suite" in sys.argv else growth()
