"""This module allocates registers for one function in the order of instructions that suits it.

Code that fits is ordered so that results arrive in time. Other code is ordered to need fewer registers, across blocks
first, then inside of them. The module needs virtual code before any spilling. It keeps the allocation that costs least;
the present order is one candidate. Large code is different: there the order with fewer registers is assumed to be
better. A block is reordered for latency as far as the registers allow, and only for a known machine.
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
    SpillOptions,
    allocate_registers,
)
from binalloc.transform.order.across import across_blocks
from binalloc.transform.order.arrange import for_latency, for_pressure, never_fits
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract


class OneFunction:
    """`OneFunction` holds a function, the registers that it may use, and results for both. given: its virtual code.
    available: registers, as bits. contracts: of its callees at least."""

    def __init__(self, given: Analysed, available: int, contracts: Mapping[str, Contract]) -> None:
        self.given, self.available, self.contracts = given, available, contracts
        self.count = available.bit_count()
        self.once = Once()

    def fitting(self, clock: LatencyClock | None) -> RegisterAllocation | None:
        """Allocate the function without memory values: in the order in which results arrive early, else in the present
        order. Return None if neither is possible."""
        if self.never_fits:
            return None
        return self.in_time(self.given, clock)

    def in_time(self, code: Analysed, clock: LatencyClock | None) -> RegisterAllocation | None:
        """Allocate one of the code's orders without memory values: changed so that results arrive early, else as it
        is."""
        early = code if clock is None else self.early(code, clock)
        return self.in_registers(early) or self.in_registers(code)

    @cached_property
    def never_fits(self) -> bool:
        """Say whether no order inside of blocks fits."""
        return never_fits(self.given, self.count)

    def early(self, code: Analysed, clock: LatencyClock) -> Analysed:
        """Return the order in which results arrive early. code: one of the function's orders."""
        return code.once(("early", clock, self.count), lambda: for_latency(code, self.count, clock))

    @cached_property
    def moved(self) -> Analysed:
        """Return the code in an order across blocks that needs fewer registers."""
        return self._order("moved", lambda: across_blocks(self.given, self.count))

    @cached_property
    def ordered(self) -> Analysed:
        """Return the code of `moved` in an order inside of blocks that needs fewer registers, too."""
        return self._order("ordered", lambda: for_pressure(self.moved, self.count))

    def _order(self, what: Hashable, make: Callable[[], Analysed]) -> Analysed:
        """Return one of the code's orders; it is the same for equal numbers of registers."""
        return self.given.once((what, self.count), make)

    def in_registers(self, code: Analysed) -> RegisterAllocation | None:
        """Allocate one of the code's orders without memory values; return None if that is not possible."""

        def make() -> RegisterAllocation | None:
            try:
                return allocate_registers(code, self.available, self.contracts, may_spill=False)
            except NeedsMemory:
                return None

        return self.once(("in registers", code), make)

    def cheapest(self, how: SpillOptions, clock: LatencyClock | None) -> Cheapest:
        """Return the search for the order whose spill code costs least."""
        if self.ordered is self.given:
            orders = [self.given]
        else:
            orders = [self.ordered] if is_large(self.given) else [self.given, self.ordered]
        return self.once(
            (how.prices, how.slots, clock),
            lambda: Cheapest(orders, self.available, self.contracts, how, clock=clock),
        )


def allocate_function(
    function: OneFunction,
    how: SpillOptions,
    clock: LatencyClock | None = None,
    *,
    may_spill: bool = True,
    below: float = inf,
) -> RegisterAllocation:
    """Allocate the function to its registers. clock: the latencies to hide. Raises what `allocate_registers` does, and
    TooDear if spill code costs `below` or more."""
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
