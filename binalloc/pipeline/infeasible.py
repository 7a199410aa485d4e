"""This module makes the refusals of infeasible budgets, with the reason and the nearest feasible budget.

The figures are exact: the budget that a refusal names is feasible; with one register less, or one slot or block more,
it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.errors import Hint, Refused
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget, levels
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.occupancy import registers_for_blocks
from binalloc.pipeline.directives import obeyed
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.transform.allocate.functions.registers import Infeasible


def too_few_registers(module: Module, request: Request, budget: Budget, reason: Infeasible) -> Refused:
    """Return the refusal of a budget with too few registers. reason: which allocation failed, and where."""
    from binalloc.transform.rewrite.rewrite import fewest_registers

    prepared = request.prepared_for(module)
    fewest = fewest_registers(prepared, budget.slots, request.allocator)
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    limit = registers_for_blocks(request.machine, use.given(0), 1) or 0
    found = count(budget.registers, "register") + " per thread"
    said = [] if request.registers is not None else obeyed(module, request).binding(budget.registers + 1)
    found += f", as {' and '.join(said)} would have it" if said else ""
    expected, remedy = f"at least {fewest}", Hint("Ask for more {registers}.")
    if fewest is None:
        expected, remedy = "no number of registers does", Hint("Leave this kernel as it is.")
    elif fewest > limit:
        expected = (
            f"at least {fewest}, and {request.machine.name} has {limit} for each of {count(use.threads, 'thread')}"
        )
        remedy = Hint("Choose another machine, or smaller blocks.")
    elif request.registers is None and request.blocks is not None:
        found += f" at {count(request.blocks, 'block')}"
        most = max((b.blocks for b in levels(request.machine, use) if b.registers >= fewest), default=0)
        expected += f", which {count(most, 'block')} leave" if most else ""
        remedy = Hint("Ask for fewer {blocks}.") if most else Hint("Choose another machine.")
    return Refused(
        f"{request.kernel} cannot do with so few registers ({reason.message})",
        file=module.path or None,
        place=reason.place,
        found=found,
        expected=expected,
        remedy=remedy,
    )


def no_baseline(module: Module, request: Request, reason: Infeasible) -> Refused:
    """Return the refusal of a kernel that does not fit the machine even with the most registers for a single block."""
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    most = registers_for_blocks(request.machine, use.given(0), 1) or 0
    most = min(most, obeyed(module, request).registers or most)
    return too_few_registers(module, request, Budget(1, most, 0), reason)


def too_many_slots(request: Request, use: KernelUse, slots: int) -> Refused:
    """Return the refusal of slots that do not fit a block's shared memory beside the kernel's own shared memory."""
    limit = request.machine.limits.shared_per_block
    most = max(0, (limit - use.slot_region) // use.slot_row)
    return Refused(
        "the slots do not fit a block's shared memory",
        place=Hint("{slots}"),
        found=f"{count(slots, 'slot')}, {use.given(use.registers, slots).block_shared:,} bytes with the kernel's own "
        f"{use.shared_bytes:,}",
        expected=f"at most {count(most, 'slot')}, {limit:,} bytes",
        remedy=Hint("Ask for fewer {slots}."),
    )
