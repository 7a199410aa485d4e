"""Registers for one function in the order that suits it: what fits is ordered so that results are there in time, what
does not so that it needs fewer registers, across blocks first, then inside of them.

Needs virtual code before any spilling. The allocation that costs least is kept, that of the order as it stands among
them, but for large code, where the order that needs fewer registers is taken as the better one. A block is reordered
for latency as far as the registers reach, and only for a machine that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from math import inf

from binalloc.once import Once
from binalloc.transform.allocate.functions.effort import is_large
from binalloc.transform.allocate.functions.registers import (
    Cheapest,
    NeedsMemory,
    RegisterAllocation,
    Spilling,
    allocate_registers,
)
from binalloc.transform.order.across import across_blocks
from binalloc.transform.order.arrange import for_latency, for_pressure, never_fits
from binalloc.transform.order.clock import Clock
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract


class OneFunction:
    """One function, the registers that it may use, and what has been found of both. given: its virtual code. available:
    registers as bits. contracts: of its callees at least."""

    def __init__(self, given: Analysed, available: int, contracts: Mapping[str, Contract]) -> None:
        self.given, self.available, self.contracts = given, available, contracts
        self.count = available.bit_count()
        self.once = Once()

    def fitting(self, clock: Clock | None) -> RegisterAllocation | None:
        """With nothing in memory: in the order in which results come early, or as it stands. None where neither can
        be."""
        if self.never_fits:
            return None
        return self.in_time(self.given, clock)

    def in_time(self, code: Analysed, clock: Clock | None) -> RegisterAllocation | None:
        """One of the code's orders with nothing in memory, changed so that results come early, or as it stands."""
        early = code if clock is None else self.early(code, clock)
        return self.in_registers(early) or self.in_registers(code)

    @cached_property
    def never_fits(self) -> bool:
        """Whether no order inside of blocks fits."""
        return never_fits(self.given, self.count)

    def early(self, code: Analysed, clock: Clock) -> Analysed:
        """code: one of its orders; that in which results come early."""
        return code.once(("early", clock, self.count), lambda: for_latency(code, self.count, clock))

    @cached_property
    def moved(self) -> Analysed:
        """In an order across blocks that needs fewer registers."""
        return self._order("moved", lambda: across_blocks(self.given, self.count))

    @cached_property
    def ordered(self) -> Analysed:
        """And inside of blocks."""
        return self._order("ordered", lambda: for_pressure(self.moved, self.count))

    def _order(self, what: Hashable, make: Callable[[], Analysed]) -> Analysed:
        """One of the code's orders, the same for all that have as many registers, whichever those are."""
        return self.given.once((what, self.count), make)

    def in_registers(self, code: Analysed) -> RegisterAllocation | None:
        """code: one of its orders."""

        def make() -> RegisterAllocation | None:
            try:
                return allocate_registers(code, self.available, self.contracts, may_spill=False)
            except NeedsMemory:
                return None

        return self.once(("in registers", code), make)

    def cheapest(self, how: Spilling, clock: Clock | None) -> Cheapest:
        """The search for the order whose spill code costs least."""
        if self.ordered is self.given:
            orders = [self.given]
        else:
            orders = [self.ordered] if is_large(self.given) else [self.given, self.ordered]
        return self.once(
            (how.prices, how.slots, clock),
            lambda: Cheapest(orders, self.available, self.contracts, how, clock=clock),
        )


def allocate_function(
    function: OneFunction, how: Spilling, clock: Clock | None = None, *, may_spill: bool = True, below: float = inf
) -> RegisterAllocation:
    """Allocate the function to its registers. clock: of the machine whose latencies are to be hidden. Raises as
    `allocate_registers` does, and TooDear where spill code costs not less than `below`."""
    found = function.fitting(clock)
    if found is not None:
        return found
    if not may_spill and never_fits(function.moved, function.count):
        raise NeedsMemory
    if function.ordered is not function.given:
        found = function.in_time(function.ordered, clock)
        if found is not None:
            return found
    if not may_spill:
        raise NeedsMemory
    return function.cheapest(how, clock).found(below)
