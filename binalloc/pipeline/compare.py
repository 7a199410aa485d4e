"""Allocators side by side: what each makes of a kernel at several budgets, and what cannot cost less.

Needs a binary and budgets; leaves a row per kernel, budget and allocator. Every rewrite is proven, none is emulated.
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
from binalloc.pipeline.pipeline import explicit_budget
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import knows_threads
from binalloc.pipeline.steps.proof import require_proof
from binalloc.pipeline.steps.row import INFEASIBLE, Row
from binalloc.transform.allocate.spill_cost import prices
from binalloc.transform.rewrite.rewrite import Rewrite, require_rewritable, rewrite_to_budget


@dataclass
class ComparedKernel:
    """All allocators at all budgets of a kernel."""

    kernel: str
    ptxas_slots: int  #: slots per thread that the vendor's compiler would take
    reason: str = ""  #: why no budget can be rewritten for; "" where some can
    rows: list[Row] = field(default_factory=list)


@dataclass
class Comparison:
    """What `compare-allocators` has found."""

    request: Request
    prices: dict[str, float]  #: of an access or instruction in a cost, by kind
    kernels: list[ComparedKernel] = field(default_factory=list)
    partial: bool = False  #: it was interrupted, further rows are not known


class Hearer(Protocol):
    """Hears of a comparison while it goes on."""

    def begin(self, kernel: str) -> None:
        """Hear that the comparison of a kernel begins."""

    def rows(self, rows: Sequence[Row]) -> None:
        """Hear the rows of a budget."""

    def end(self, kernel: ComparedKernel) -> None:
        """Hear that a kernel's rows are complete, or that the comparison was interrupted."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C came while a budget's rows were made."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__()
        self.rows = rows  #: the finished ones of that budget


def compare_kernels(
    module: Module,
    request: Request,
    kernels: Sequence[str],
    registers: Sequence[int],
    slots: Sequence[int],
    allocators: Sequence[str],
    hearer: Hearer,
) -> Comparison:
    """Compare allocators on several kernels, at budgets of registers by slots. Ctrl-C ends it with the rows so far.
    Raises Refused where the only kernel cannot be rewritten for any budget."""
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
            left = stop.rows if isinstance(stop, Stopped) else []
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
                yield [_refused(request, a, count, asked or 0, error) for a in allocators]
            else:
                yield _rows(module, given, budget, allocators)


def _budget(module: Module, request: Request) -> Budget:
    """As `rewrite` has it; explicit slots do without a block size, if there is none."""
    known = knows_threads(module.function(request.kernel), request.launch, request.block)
    if known or request.slots is None:
        return explicit_budget(module, request)
    assert request.registers is not None
    return Budget(0, request.registers, request.slots)


def _rows(module: Module, request: Request, budget: Budget, allocators: Sequence[str]) -> list[Row]:
    made: dict[str, Rewrite] = {}
    rows: list[Row] = []
    try:
        for name in allocators:
            request.progress(f"{request.kernel}: {budget.registers} registers, {budget.slots} slots, {name}")
            rows.append(_row_of(module, request, budget, name, made))
    except KeyboardInterrupt as stop:
        raise Stopped(rows) from stop
    bound = next((found.bound for found in made.values() if found.bound is not None), None)
    return [replace(row, bound=bound) if row.cost is not None else row for row in rows]


def _row(request: Request, allocator: str, registers: int, slots: int) -> Row:
    """Return the row of an allocator at a budget, without figures."""
    return Row(
        allocator, registers_allowed=registers, slots_allowed=slots, kernel=request.kernel,
        machine=request.machine.name,
    )  # fmt: skip


def _refused(request: Request, allocator: str, registers: int, slots: int, error: Refused) -> Row:
    return replace(_row(request, allocator, registers, slots), status=INFEASIBLE, reason=error.message)


def _row_of(module: Module, request: Request, budget: Budget, name: str, made: dict[str, Rewrite]) -> Row:
    """One allocator's row, without the bound; its rewrite is put into `made`."""
    row = _row(request, name, budget.registers, budget.slots)
    start = time.process_time()
    try:
        made[name] = _rewritten(module, request, budget, name)
    except Refused as error:
        return replace(row, status=INFEASIBLE, reason=error.message)
    seconds = time.process_time() - start
    require_proof(module, made[name].module, request, allocator=name)
    info = made[name].module.function(request.kernel).info
    return replace(
        row,
        registers=info.registers,
        slots=info.slots,
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
