"""How far `best` is from what no allocation costs less than: every function of the samples that spills, by CP-SAT.

Run: python -m tests.benchmarks.transform.bench_oracle [--registers 24,32,40] [--fewer 4,8] [--slots 0,4,8,12]
    [FILE ...]

For every kernel at each number of registers, and at its demand less those of --fewer, and each number of slots: the
cost of what `best` and `cpsat` emit, and the bound of all its solves, where that is proven. Per solve: values, regions,
the solver's answer, its deterministic time and CPU seconds. Prints what does not close or takes more than SLOW seconds,
gaps beyond FAR, and geometric means where there is a bound. Asserts nothing; takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.models.allocation.cpsat import Solution
from binalloc.models.allocation.spills import Spills
from binalloc.models.machines.reader import load_machine
from binalloc.report.table import table
from binalloc.transform.allocate.functions import solver
from binalloc.transform.allocators.allocator import SOLVER_LIMIT, Plan, Problem
from binalloc.transform.allocators.table import find_allocator
from binalloc.transform.rewrite.rewrite import Prepared, prepare
from tests.support.paths import sample_files

SLOW = 10.0
FAR = 0.1
FEW = 300
"""Values of the functions that are to close within SLOW seconds."""


@dataclass
class Solve:
    """One call of the solver."""

    values: int
    regions: int
    found: Solution
    seconds: float


@dataclass
class Row:
    """One kernel at one budget. solves: by the call; seconds: CPU time of `cpsat` beyond that of `best`."""

    kernel: str
    registers: int
    slots: int
    best: float
    exact: float
    bound: float | None
    seconds: tuple[float, float]
    solves: list[Solve] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        return all(solve.found.status == "optimal" for solve in self.solves)

    def cells(self) -> list[object]:
        solving = sum(solve.seconds for solve in self.solves)
        return [
            self.kernel, self.registers, self.slots, self.best, self.exact, self.bound,
            None if not self.bound else self.best / self.bound,
            max((solve.values for solve in self.solves), default=0),
            max((solve.regions for solve in self.solves), default=0),
            " ".join(solve.found.status for solve in self.solves),
            sum(solve.found.work for solve in self.solves), solving, *self.seconds,
        ]  # fmt: skip


HEADER = (
    "kernel", "registers", "slots", "best", "cpsat", "bound", "best/bound", "values", "regions", "solver", "work",
    "solver s", "best s", "cpsat s",
)  # fmt: skip


def kernels(files: list[Path]) -> Iterator[tuple[Module, str]]:
    for path in files:
        ptx = path.suffix != ".loom"
        module = import_ptx(path.read_text(), str(path), machine="gtx680").module if ptx else load(path)
        for fn in module.kernels():
            yield module, fn.name


def measured(prepared: Prepared, problem: Problem, solves: list[Solve]) -> Row | None:
    """None where nothing is spilled, or the budget is infeasible."""
    plans: list[Plan] = []
    seconds = []
    try:
        for name in ("best", "cpsat"):
            start = time.process_time()
            plans.append(find_allocator(name).allocate(problem))
            seconds.append(time.process_time() - start)
            if not plans[0].cost.cost:
                return None
    except Refused:
        return None
    best, exact = plans
    return Row(
        prepared.kernel, problem.registers, problem.slots, best.cost.cost, exact.cost.cost, exact.bound,
        (seconds[0], seconds[1]), list(solves),
    )  # fmt: skip


def watched(solve: Callable[..., Solution], solves: list[Solve]) -> Callable[..., Solution]:
    """The solver, whose calls are noted."""

    def noted(spills: Spills, *given: Any, **options: Any) -> Solution:
        start = time.process_time()
        found = solve(spills, *given, **options)
        regions = spills.value
        solves.append(Solve(len(set(regions)), len(regions), found, time.process_time() - start))
        return found

    return noted


def main() -> None:
    parser = argparse.ArgumentParser()
    numbers = {"type": lambda text: [int(n) for n in text.split(",") if n]}
    parser.add_argument("--registers", default=[24, 32, 40], **numbers)
    parser.add_argument("--fewer", default=[4, 8], **numbers)
    parser.add_argument("--slots", default=[0, 4, 8, 12], **numbers)
    parser.add_argument("--limit", type=float, default=SOLVER_LIMIT)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    machine = load_machine("gtx680")
    solves: list[Solve] = []
    solver.solve = watched(solver.solve, solves)
    rows: list[Row] = []
    for module, kernel in kernels(options.files or [*sample_files(".loom"), *sample_files(".ptx")]):
        prepared = prepare(module, kernel)
        demand = max(module.function(name).info.registers for name in prepared.program.functions)
        for registers in sorted({*options.registers, *(demand - fewer for fewer in options.fewer)}):
            for slots in options.slots if 0 < registers < demand else ():
                solves.clear()
                row = measured(
                    prepared, Problem(prepared.program, kernel, registers, slots, options.limit, machine), solves
                )
                if row is not None:
                    rows.append(row)
                    print(*row.cells(), sep="\t", flush=True)
    summary(rows)


def summary(rows: list[Row]) -> None:
    far = [row for row in rows if row.bound is not None and row.best > (1 + FAR) * row.bound]
    slow = [row for row in rows if not row.closed or any(solve.seconds > SLOW for solve in row.solves)]
    few = [row for row in slow if all(solve.values < FEW for solve in row.solves)]
    for title, mine in (("beyond", far), ("not closed, or slow", slow)):
        print(f"\n{title}: {len(mine)} of {len(rows)}")
        print(table(HEADER, [row.cells() for row in mine], left=1), end="")
    print(f"not closed, or slow, of less than {FEW} values: {len(few)}")
    for name in ("best", "exact"):
        ratios = [getattr(row, name) / row.bound for row in rows if row.bound]
        print(
            f"{name} / bound: geometric mean {geometric_mean(ratios):.4f}, most {max(ratios):.3f}, {len(ratios)} rows; "
            f"bound is 0 in {sum(row.bound == 0 for row in rows)}, unknown in {sum(row.bound is None for row in rows)}"
        )
    print(f"longest solve: {max(solve.seconds for row in rows for solve in row.solves):.2f} s CPU")


if __name__ == "__main__":
    main()
