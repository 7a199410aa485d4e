"""Prints what weights from a profile change:
`python -m tests.benchmarks.transform.profile_weights [--size NAME] [SAMPLE ...]`.

Each sample, profiled, is rewritten by `best` at several budgets, weighted by loops and by its profile; both are run.
A row where they differ: accesses to local memory and to slots that warps executed, other instructions above the
original's (recomputations and copies; fewer where local words of the input were lifted), and what all that costs at the
allocators' prices.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from binalloc.emulator.runs.run import run
from binalloc.errors import Refused
from binalloc.launch.file import load_launch
from binalloc.models.machines.local_price import local_price
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.profile import profile_of
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.version import Version
from binalloc.transform.allocate.spill_cost import prices
from binalloc.transform.schedule.schedule import schedule
from tests.benchmarks.emulator.one_sm import module_of, program_launches

MACHINE = load_machine("gtx680")
PRICES = prices(local_price(MACHINE))
BUDGETS = [(registers, slots) for registers in (16, 20, 24, 32, 40) for slots in (0, 4)]


class Traffic(NamedTuple):
    """Executed by warps: accesses to local memory and to slots, further instructions; and their cost."""

    local: int
    slot: int
    other: int
    cost: float


def traffic(version: Version, original: int) -> Traffic:
    """original: warp instructions of the original."""
    stats = version.stats
    local = stats["spill_local_loads"] + stats["spill_local_stores"]
    slot = stats["spill_shared_loads"] + stats["spill_shared_stores"]
    other = stats["warp_instructions"] - original - local - slot
    cost = sum(n * PRICES[kind] for n, kind in ((local, "local"), (slot, "slot"), (other, "recomputed")))
    return Traffic(local, slot, other, cost)


def rows(path: Path, size: str) -> list[tuple[str, Traffic, Traffic]]:
    launch = load_launch(path, size)
    module = schedule(module_of(path), MACHINE)
    kernel = find_kernel(module, launch.kernel)
    result = run(module, kernel.name, launch, MACHINE)
    profile, original = profile_of(module, kernel, result), result.stats["warp_instructions"]
    plain = Request(kernel=kernel.name, machine=MACHINE, launch=launch)
    out = []
    for registers, slots in BUDGETS:
        found = []
        for request in (plain, replace(plain, profile=profile)):
            try:
                found.append(traffic(measure(build_version(module, request, registers, slots), request), original))
            except Refused:
                break
        if len(found) == 2 and found[0] != found[1]:
            out.append((f"{path.stem} {registers} {slots}", found[0], found[1]))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="test")
    parser.add_argument("samples", nargs="*")
    given = parser.parse_args()
    print(f"{'sample, registers, slots':32} {'local':>19} {'slot':>19} {'other':>19} {'cost':>19} {'ratio':>6}")
    better = worse = 0
    for path in program_launches():
        if given.samples and path.stem not in given.samples:
            continue
        for name, loops, mine in rows(path, given.size):
            cells = " ".join(f"{f'{a:,.0f} -> {b:,.0f}':>19}" for a, b in zip(loops, mine, strict=True))
            ratio = f"{mine.cost / loops.cost:6.3f}" if loops.cost > 0 else "-"
            better, worse = better + (mine.cost < loops.cost), worse + (mine.cost > loops.cost)
            print(f"{name:32} {cells} {ratio:>6}", flush=True)
    print(f"cost: lower in {better} rows, higher in {worse}")


if __name__ == "__main__":
    main()
