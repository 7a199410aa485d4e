"""Other ways to spill, where they cost less.

Needs functions whose callees have contracts. Both look at spill code before any register is found, and go on only where
that may pay.
"""

from __future__ import annotations

from binalloc.transform.allocate.attempt import Attempt, by_regions
from binalloc.transform.allocate.cost import emitted_cost
from binalloc.transform.allocate.effort import is_large, is_searched
from binalloc.transform.allocate.function import OneFunction
from binalloc.transform.allocate.registers import RegisterAllocation, TooDear
from binalloc.transform.allocate.search_further import search_further
from binalloc.transform.allocate.whole import whole_allocation, whole_cost, whole_cost_at_least
from binalloc.transform.spill.prices import LOCAL_COST, SLOT_COST, Prices
from binalloc.transform.spill.spill import Infeasible, Spilling, spill_to_room
from binalloc.transform.virtual.analysed import Analysed

ONE_MORE = 0.75
"""Spill code that is left with one register more, at least: an estimate, for large code alone."""


def by_regions_or_whole(attempt: Attempt, name: str) -> RegisterAllocation:
    """Values leave the registers region by region, or for all their lives where that is cheaper. Raises TooDear, see
    `Attempt.below`."""
    found: RegisterAllocation | None = None
    prices = attempt.prices
    try:
        found = by_regions(attempt, name)
    except TooDear as error:
        given, cost = error.given, attempt.limit(name)
    else:
        given, cost = found.given, emitted_cost(found.code, prices)
    function, slots = attempt.function(name), attempt.slots
    one, first = (function.available, function.contracts), found
    if first is not None and cost and is_searched(given):
        found = function.once(("further", prices, slots), lambda: search_further(first, *one, prices, slots))
        cost = emitted_cost(found.code, prices)
    if _whole_is_cheaper(function, given, cost / prices.usual):
        other = function.once(("whole", given), lambda: whole_allocation(given, *one))
        if emitted_cost(other.code, prices) < cost:
            return other
    if found is None:
        raise TooDear(given)
    return found


def _whole_is_cheaper(function: OneFunction, given: Analysed, cost: float) -> bool:
    """Whether whole values in memory may cost less, in accesses."""
    if cost <= 0 or is_large(given):
        return False
    one = given, function.available, function.contracts
    if cost <= function.once(("whole cost at least", given), lambda: whole_cost_at_least(*one)):
        return False
    return cost > function.once(("whole cost", given), lambda: whole_cost(*one))


def least_without_slots(attempt: Attempt) -> float:
    """What an attempt with a slot pointer would cost at least without one, region by region; 0 where that is not known
    before registers are found, for several functions."""
    if len(attempt.program.functions) > 1:
        return 0.0
    isa, kernel = attempt.program.isa, attempt.program.graph.kernel
    available = isa.limits.allocatable(attempt.pointer + 1)
    if is_large(attempt.allocations[kernel].given):
        return ONE_MORE * LOCAL_COST / SLOT_COST * attempt.cost
    prices = Prices(LOCAL_COST)
    try:
        code = spill_to_room(attempt.allocations[kernel].given, available, {}, Spilling(prices))
    except Infeasible:
        return 0.0
    return emitted_cost(code.code, prices)
