"""This module searches for a cheaper first round of spilling, for an allocation that has spill code.

It needs such an allocation. It leaves the cheaper one of that and of an allocation by `models.allocation.search`. Both
are compared as emitted, since a choice that is cheaper by regions may need more registers for its recomputations, or
other slots.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import RegionChoice
from binalloc.models.allocation.search import search
from binalloc.transform.allocate.functions.procedure import cost_alone
from binalloc.transform.allocate.functions.registers import (
    Infeasible,
    RegisterAllocation,
    SpillOptions,
    allocate_registers,
)
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.contract import Contract


def search_further(
    found: RegisterAllocation, available: int, contracts: Mapping[str, Contract], prices: Prices, slots: int
) -> RegisterAllocation:
    """Return the cheaper allocation. slots: how many there are, 0 where memory has the cost of `prices`."""
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
