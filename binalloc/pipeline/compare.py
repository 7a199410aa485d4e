"""This module compares allocators: the rewrite that each makes of a kernel at several budgets, and a lower bound on the
cost.

Needs a binary and budgets. Leaves a row for each kernel, budget and allocator. Every rewrite is proven, none is
emulated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.local_price import local_price
from binalloc.models.machines.ptxas_slots import ptxas_slots
from binalloc.pipeline.explicit import explicit_budget
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import knows_threads
from binalloc.pipeline.steps.proof import require_proof
from binalloc.pipeline.steps.row import INFEASIBLE, Row
from binalloc.transform.allocate.spill_cost import prices
from binalloc.transform.rewrite.rewrite import Rewrite, require_rewritable, rewrite_to_budget


@dataclass
class ComparedKernel:
    """A compared kernel has the rows of all allocators at all budgets."""

    kernel: str
    ptxas_slots: int  #: slots per thread that the vendor's compiler would take
    reason: str = ""  #: why the kernel cannot be rewritten for any budget; "" if it can
    rows: list[Row] = field(default_factory=list)


@dataclass
class Comparison:
    """A comparison is the result of `compare-allocators`."""

    request: Request
    prices: dict[str, float]  #: price of an access or instruction in the cost of spill code, by kind
    kernels: list[ComparedKernel] = field(default_factory=list)
    partial: bool = False  #: whether it was interrupted, so that rows are missing


class Hearer(Protocol):
    """A hearer is informed of a comparison while it runs."""

    def begin(self, kernel: str) -> None:
        """Take note that the comparison of a kernel begins."""

    def rows(self, rows: Sequence[Row]) -> None:
        """Take the rows of a budget."""

    def end(self, kernel: ComparedKernel) -> None:
        """Take a kernel with all its rows, or with the rows before an interruption."""


class ComparisonStopped(KeyboardInterrupt):
    """This exception is raised when Ctrl-C comes while the rows of a budget are made."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows  #: rows of that budget that were finished


def compare_kernels(
    module: Module,
    request: Request,
    kernels: Sequence[str],
    registers: Sequence[int],
    slots: Sequence[int],
    allocators: Sequence[str],
    hearer: Hearer,
) -> Comparison:
    """Compare allocators on several kernels, at every combination of registers and slots.

    Ctrl-C ends the comparison with the rows made so far. Raises Refused if there is one kernel alone, and it cannot be
    rewritten for any budget.
    """
    found = Comparison(request, prices(local_price(request.machine)))
    dynamic = request.launch.dynamic_shared if request.launch is not None else 0
    for name in kernels:
        one = ComparedKernel(name, ptxas_slots(request.machine, module.function(name).info, dynamic))
        hearer.begin(name)
        try:
            for rows in compare_allocators(module, replace(request, kernel=name), registers, slots, allocators):
                one.rows += rows
                hearer.rows(rows)
        except Refused as error:
            if len(kernels) == 1:
                raise
            one.reason = error.message
        except KeyboardInterrupt as stop:
            found.partial = True
            left = stop.rows if isinstance(stop, ComparisonStopped) else []
            one.rows += left
            hearer.rows(left)
        found.kernels.append(one)
        hearer.end(one)
        if found.partial:
            break
    return found


def compare_allocators(
    module: Module, request: Request, registers: Sequence[int], slots: Sequence[int], allocators: Sequence[str]
) -> Iterator[list[Row]]:
    """Yield the rows of `request.kernel` at each combination of registers and slots.

    slots: if empty, each budget has the slots that `rewrite` would give. Raises Refused if the kernel cannot be
    rewritten for any budget, and Stopped on Ctrl-C.
    """
    require_rewritable(module, request.prepared.graph(module, request.kernel))
    for count in registers:
        for asked in slots or (None,):
            request.progress(f"{request.kernel}: {count} registers" + ("" if asked is None else f", {asked} slots"))
            given = replace(request, registers=count, slots=asked)
            try:
                budget = _budget(module, given)
            except Refused as error:
                yield [_refused(request, a, count, asked or 0, error) for a in allocators]
            else:
                yield _rows(module, given, budget, allocators)


def _budget(module: Module, request: Request) -> Budget:
    """Return the budget that `rewrite` would use; explicit slots need no block size."""
    known = knows_threads(module.function(request.kernel), request.launch, request.block)
    if known or request.slots is None:
        return explicit_budget(module, request)
    assert request.registers is not None
    return Budget(0, request.registers, request.slots)


def _rows(module: Module, request: Request, budget: Budget, allocators: Sequence[str]) -> list[Row]:
    """Return the row of each allocator at a budget, with the bound that one of them has proven. Raises Stopped."""
    made: dict[str, Rewrite] = {}
    rows: list[Row] = []
    try:
        for name in allocators:
            request.progress(f"{request.kernel}: {budget.registers} registers, {budget.slots} slots, {name}")
            rows.append(_row_of(module, request, budget, name, made))
    except KeyboardInterrupt as stop:
        raise ComparisonStopped(rows) from stop
    bound = next((found.bound for found in made.values() if found.bound is not None), None)
    return [replace(row, bound=bound) if row.cost is not None else row for row in rows]


def _row(request: Request, allocator: str, registers: int, slots: int) -> Row:
    """Return the row of an allocator at a budget, without figures."""
    return Row(
        allocator, registers_allowed=registers, slots_allowed=slots, kernel=request.kernel,
        machine=request.machine.name,
    )  # fmt: skip


def _refused(request: Request, allocator: str, registers: int, slots: int, error: Refused) -> Row:
    """Return the row of an allocator at an infeasible budget."""
    return replace(_row(request, allocator, registers, slots), status=INFEASIBLE, reason=error.message)


def _row_of(module: Module, request: Request, budget: Budget, name: str, made: dict[str, Rewrite]) -> Row:
    """Return an allocator's row, without the bound, and put its rewrite into `made`."""
    start = time.process_time()
    try:
        made[name] = _rewritten(module, request, budget, name)
    except Refused as error:
        return _refused(request, name, budget.registers, budget.slots, error)
    seconds = time.process_time() - start
    require_proof(module, made[name].module, request, allocator=name)
    info = made[name].module.function(request.kernel).info
    return replace(
        _row(request, name, budget.registers, budget.slots),
        registers=info.registers,
        slots=info.slots,
        local_bytes=info.spill_local,
        cost=made[name].cost,
        seconds=seconds,
    )


def _rewritten(module: Module, request: Request, budget: Budget, allocator: str) -> Rewrite:
    """Rewrite the kernel for a budget by an allocator. Raises Refused if the budget is infeasible."""
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
