"""Registers for one function in the order that suits it: what fits is ordered so that results are there in time, what
does not so that it needs fewer registers, across blocks first, then inside of them.

Needs virtual code before any spilling. The allocation that costs least is kept, that of the order as it stands among
them, but for large code, where the order that needs fewer registers is taken as the better one. A block is reordered
for latency as far as the registers reach, and only for a machine that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from binalloc.transform.allocate.effort import is_large
from binalloc.transform.allocate.registers import (
    NeedsMemory,
    RegisterAllocation,
    Spilling,
    allocate_cheapest,
    allocate_registers,
)
from binalloc.transform.order.across import across_blocks
from binalloc.transform.order.arrange import for_latency, for_pressure, never_fits
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
    below: float = inf,
) -> RegisterAllocation:
    """Allocate the code to the registers in the bitset `available`. clock: of the machine whose latencies are to be
    hidden. Raises as `allocate_registers` does, and TooDear where spill code costs not less than `below`."""
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
    moved = across_blocks(given, registers)
    if not may_spill and never_fits(moved, registers):
        raise NeedsMemory
    ordered = for_pressure(moved, registers)
    if ordered is given:
        return allocate_cheapest((given,), available, contracts, how, may_spill=may_spill, below=below)
    try:
        return allocate_registers(ordered, available, contracts, how, may_spill=False)
    except NeedsMemory:
        if not may_spill:
            raise
    orders = [ordered] if is_large(given) else [given, ordered]
    return allocate_cheapest(orders, available, contracts, how, below=below)
