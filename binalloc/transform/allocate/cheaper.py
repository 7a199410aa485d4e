"""This module tries other ways to spill, and takes them where they cost less.

It needs functions with callees that have contracts, or an attempt with all functions allocated. Both ways first
estimate the cost of the spill code, and only allocate registers if that may pay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import RegionChoice
from binalloc.models.allocation.search import search
from binalloc.transform.allocate.attempt import Attempt, by_regions, colour_functions
from binalloc.transform.allocate.functions.effort import is_large, is_searched
from binalloc.transform.allocate.functions.function import OneFunction
from binalloc.transform.allocate.functions.procedure import cost_alone
from binalloc.transform.allocate.functions.registers import (
    Infeasible,
    RegisterAllocation,
    SpillOptions,
    TooDear,
    allocate_registers,
)
from binalloc.transform.allocate.functions.whole import whole_allocation, whole_cost, whole_cost_at_least
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract

ONE_MORE = 0.75
"""Lower limit of the share of the spill cost that remains with one register more. It is an estimate, only used for
large code to save a trial."""


def by_regions_or_whole(attempt: Attempt, name: str) -> RegisterAllocation:
    """Allocate a function with values spilled region by region, or for all their lives where that is cheaper. Raises
    TooDear, see `Attempt.below`."""
    found: RegisterAllocation | None = None
    if name in attempt.modest:
        return by_regions(attempt, name)
    prices, slots = attempt.prices, attempt.slots
    own = slots if name == attempt.program.graph.kernel else 0  # slots for callees are not known yet
    try:
        found = by_regions(attempt, name)
    except TooDear as error:
        given, cost = error.given, attempt.limit(name)
    else:
        given, cost = found.given, cost_alone(found, own, prices)
    function = attempt.function(name)
    one, first = (function.available, function.contracts), found
    if first is not None and first.rounds and is_searched(given):
        found = function.once(("further", prices, slots), lambda: _search_further(first, *one, prices, slots))
        cost = cost_alone(found, own, prices)
    accesses = (cost if found is None else found.spill_cost(prices)) / prices.usual
    if _whole_is_cheaper(function, given, accesses):
        other = function.once(("whole", given), lambda: whole_allocation(given, *one))
        if cost_alone(other, own, prices) < cost:
            return other
    if found is None:
        raise TooDear(given)
    return found


def _search_further(
    found: RegisterAllocation, available: int, contracts: Mapping[str, Contract], prices: Prices, slots: int
) -> RegisterAllocation:
    """Search for a cheaper first round of spilling, for an allocation that has spill code, and return the cheaper
    allocation. slots: how many there are, 0 where memory has the cost of `prices`.

    Both are compared as emitted, since a choice that is cheaper by regions may need more registers for its
    recomputations, or other slots.
    """
    first = found.rounds[0]
    assert first.homes is not None, "values left region by region"
    assert first.choice is not None, "values left region by region"
    better = search(first.homes, first.room.pressure, first.room.capacity, first.choice)
    if better is first.choice:
        return found
    choices = iter([better])

    def given(homes: Homes, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> RegionChoice:
        return next(choices, None) or choose_homes(homes, pressure, capacity)

    try:
        other = allocate_registers(found.given, available, contracts, SpillOptions(prices, given, slots))
    except Infeasible:
        return found
    return other if cost_alone(other, slots, prices) < cost_alone(found, slots, prices) else found


def _whole_is_cheaper(function: OneFunction, given: Analysed, cost: float) -> bool:
    """Say whether spilling whole values may cost less. cost: in accesses to memory."""
    if cost <= 0 or is_large(given):
        return False
    one = given, function.available, function.contracts
    if cost <= function.once(("whole cost at least", given), lambda: whole_cost_at_least(*one)):
        return False
    return cost > function.once(("whole cost", given), lambda: whole_cost(*one))


def without_slots(attempt: Attempt, below: float) -> Attempt | None:
    """Return an attempt without slot pointer in place of one with it, for a kernel without calls. Return None if it
    does not cost less than `below`."""
    program = attempt.program
    found = attempt.allocations[program.graph.kernel]
    if is_large(found.given) and below <= ONE_MORE * found.spill_cost(attempt.prices.all_local):
        return None
    available = program.isa.limits.allocatable(attempt.pointer + 1)
    other = Attempt(
        program, attempt.known, attempt.unwritten, available, -1, attempt.clock, far=attempt.far, below=below
    )
    try:
        colour_functions(other, by_regions_or_whole)
    except (Infeasible, TooDear):
        return None
    return replace(other, below=inf)
