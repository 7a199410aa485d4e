"""Allocators side by side: what each makes of a kernel at several budgets, and what cannot cost less.

Needs a binary and budgets; leaves a row per kernel, budget and allocator. Every rewrite is proven, none is emulated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.pipeline import explicit_budget
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import knows_threads
from binalloc.pipeline.steps.proof import require_proof
from binalloc.transform.allocate.spill_cost import SpillCost
from binalloc.transform.rewrite.rewrite import Rewrite, require_rewritable, rewrite_to_budget


@dataclass(frozen=True)
class Compared:
    """One allocator at one budget. reason: why it has none of the rest, "" where it has. used, slots_used: registers
    and slots per thread; local_bytes: spilled, per thread. bound: no allocation of the budget costs less, None where
    that is not proven. seconds: CPU time of the allocation, the kernel's analysis left out."""

    kernel: str
    allocator: str
    registers: int
    slots: int
    reason: str = ""
    used: int | None = None
    slots_used: int | None = None
    local_bytes: int | None = None
    cost: SpillCost | None = None
    bound: float | None = None
    seconds: float | None = None

    @property
    def gap(self) -> float | None:
        """(cost - bound) / cost; None where there is no bound."""
        if self.cost is None or self.bound is None:
            return None
        return (self.cost.cost - self.bound) / self.cost.cost if self.cost.cost else 0.0


class Stopped(KeyboardInterrupt):
    """Ctrl-C. rows: of the budget under way, those that there are."""

    def __init__(self, rows: list[Compared]) -> None:
        super().__init__()
        self.rows = rows


def compare_allocators(
    module: Module, request: Request, registers: Sequence[int], slots: Sequence[int], allocators: Sequence[str]
) -> Iterator[list[Compared]]:
    """The rows of each budget of `request.kernel`: registers by slots; as many slots as `rewrite` would give where none
    are named. Raises Refused for a kernel that no budget can be rewritten for, and Stopped."""
    require_rewritable(module, request.prepared.graph(module, request.kernel))
    for count in registers:
        for asked in slots or (None,):
            request.progress(f"{request.kernel}: {count} registers" + ("" if asked is None else f", {asked} slots"))
            given = replace(request, registers=count, slots=asked)
            try:
                budget = _budget(module, given)
            except Refused as error:
                yield [Compared(request.kernel, a, count, asked or 0, error.message) for a in allocators]
            else:
                yield _rows(module, given, budget, allocators)


def _budget(module: Module, request: Request) -> Budget:
    """As `rewrite` has it; explicit slots do without a block size, if there is none."""
    known = knows_threads(module.function(request.kernel), request.launch, request.block)
    if known or request.slots is None:
        return explicit_budget(module, request)
    assert request.registers is not None
    return Budget(0, request.registers, request.slots)


def _rows(module: Module, request: Request, budget: Budget, allocators: Sequence[str]) -> list[Compared]:
    made: dict[str, Rewrite] = {}
    rows: list[Compared] = []
    try:
        for name in allocators:
            request.progress(f"{request.kernel}: {budget.registers} registers, {budget.slots} slots, {name}")
            rows.append(_row_of(module, request, budget, name, made))
    except KeyboardInterrupt as stop:
        raise Stopped(rows) from stop
    bound = next((found.bound for found in made.values() if found.bound is not None), None)
    return [replace(row, bound=bound) if row.cost is not None else row for row in rows]


def _row_of(module: Module, request: Request, budget: Budget, name: str, made: dict[str, Rewrite]) -> Compared:
    """One allocator's row, without the bound; its rewrite is put into `made`."""
    row = Compared(request.kernel, name, budget.registers, budget.slots)
    start = time.process_time()
    try:
        made[name] = _rewritten(module, request, budget, name)
    except Refused as error:
        return replace(row, reason=error.message)
    seconds = time.process_time() - start
    require_proof(module, made[name].module, request, allocator=name)
    info = made[name].module.function(request.kernel).info
    return replace(
        row,
        used=info.registers,
        slots_used=info.slots,
        local_bytes=info.spill_local,
        cost=made[name].cost,
        seconds=seconds,
    )


def _rewritten(module: Module, request: Request, budget: Budget, allocator: str) -> Rewrite:
    return rewrite_to_budget(
        request.prepared_for(module),
        budget.registers,
        budget.slots,
        allocator,
        solver_limit=request.solver_limit,
        machine=request.machine,
        dynamic_shared=request.launch.dynamic_shared if request.launch is not None else 0,
        layout=request.layout,
    )
