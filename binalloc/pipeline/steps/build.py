"""This module builds the version of a kernel for a budget: it rewrites, schedules and, if asked to, proves."""

from __future__ import annotations

from dataclasses import replace

from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.proof import prove
from binalloc.pipeline.steps.version import Version, make_version
from binalloc.printable import count


def build_version(
    module: Module, request: Request, registers: int, slots: int, allocator: str | None = None
) -> Version:
    """Rewrite for a budget, schedule and prove. Raises Refused if the budget is infeasible or the proof fails."""
    return prove(module, request, build_unproven(module, request, registers, slots, allocator))


def build_unproven(
    module: Module, request: Request, registers: int, slots: int, allocator: str | None = None
) -> Version:
    """Rewrite for a budget and schedule, without a proof. Raises Refused if the budget is infeasible.

    A search judges many versions, and proves only those that it takes.
    """
    name, kept = allocator or request.allocator, request.prepared.versions
    if kept is None:
        return _built(module, request, registers, slots, name)
    key = (name, registers, slots)
    if key not in kept:
        try:
            kept[key] = _built(module, request, registers, slots, name)
        except Refused as error:
            kept[key] = error
    found: Version | Refused = kept[key]
    if isinstance(found, Refused):
        raise found
    return found


def _built(module: Module, request: Request, registers: int, slots: int, name: str) -> Version:
    """Build the version that allocator `name` makes for a budget."""
    from binalloc.transform.allocators.installed import blamed_for
    from binalloc.transform.allocators.table import find_allocator
    from binalloc.transform.rewrite.rewrite import rewrite_to_budget
    from binalloc.transform.schedule.banks import spread_over_banks
    from binalloc.transform.schedule.schedule import schedule

    result = rewrite_to_budget(
        request.prepared_for(module),
        registers,
        slots,
        name,
        solver_limit=request.solver_limit,
        machine=request.machine,
        dynamic_shared=request.launch.dynamic_shared if request.launch is not None else 0,
        layout=request.layout,
    )
    # The module is written to bytes and read back, so that the proof is of the very bytes that will be written.
    isa = set_of(module)
    with blamed_for(find_allocator(name)):
        code = spread_over_banks(result.module, request.machine, result.functions)
        rewritten = isa.read(isa.write(schedule(code, request.machine)), module.path)
    version = make_version(rewritten, request, result.functions)
    summary = f"{count(version.registers, 'register')} and {count(version.slots, 'slot')} by {name}"
    with blamed_for(find_allocator(name)):
        explained = result.explain() if request.explain else []
        solver = list(result.solver)
        cost = result.cost
    found = replace(version, solver=solver, explained=explained, copies=cost.copies, cost=cost, bound=result.bound)
    return replace(found, name=summary, allocator=name, proven=False)
