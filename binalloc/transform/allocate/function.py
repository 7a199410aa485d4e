"""Registers for one function in the order that suits it: what fits is ordered so that results are there in time, what
does not so that it needs fewer registers.

Needs virtual code before any spilling. The allocation that costs least is kept, that of the order as it stands among
them. A block is reordered for latency as far as the registers reach, and only for a machine that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from binalloc.transform.allocate.cost import emitted_cost
from binalloc.transform.allocate.registers import (
    Infeasible,
    NeedsMemory,
    RegisterAllocation,
    Spilling,
    allocate_registers,
)
from binalloc.transform.order.arrange import for_latency, for_pressure
from binalloc.transform.order.clock import Clock
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract


def allocate_function(
    given: Analysed,
    available: int,
    contracts: Mapping[str, Contract],
    how: Spilling,
    clock: Clock | None = None,
    *,
    may_spill: bool = True,
) -> RegisterAllocation:
    """Allocate the code to the registers in the bitset `available`. clock: of the machine whose latencies are to be
    hidden. Raises as `allocate_registers` does."""
    registers = available.bit_count()
    orders = [given]
    if clock is not None:
        early = for_latency(given, registers, clock)
        orders = [early, given] if early is not given else orders
    for code in orders:
        try:
            return allocate_registers(code, available, contracts, how, may_spill=False)
        except NeedsMemory:
            pass
    ordered = for_pressure(given, registers)
    if ordered is given:
        return allocate_registers(given, available, contracts, how, may_spill=may_spill)
    try:
        return allocate_registers(ordered, available, contracts, how, may_spill=False)
    except NeedsMemory:
        if not may_spill:
            raise
    return _cheaper((given, ordered), available, contracts, how)


def _cheaper(
    orders: Sequence[Analysed], available: int, contracts: Mapping[str, Contract], how: Spilling
) -> RegisterAllocation:
    """The allocation that costs least of those that there are. Raises Infeasible where there is none."""
    found: list[RegisterAllocation] = []
    for code in orders:
        try:
            found.append(allocate_registers(code, available, contracts, how))
        except Infeasible as error:
            refusal = error
    if not found:
        raise refusal
    return min(found, key=lambda allocation: emitted_cost(allocation.code, how.prices))
