"""This module allocates registers for one function with each value in a register or in memory for all its life.

Other allocators do so, as baselines for ours: every definition of a value in memory is stored, every use reloads it,
and nothing is recomputed. The module needs and leaves what `registers` does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from binalloc.models.allocation.regions import Regions
from binalloc.models.allocation.whole_values import whole_values
from binalloc.transform.allocate.functions.registers import SLACKS, RegisterAllocation, allocate_registers
from binalloc.transform.spill.comeback import Comebacks
from binalloc.transform.spill.find_regions import FoundRegions, find_regions, only_wished
from binalloc.transform.spill.insert import insert_spills
from binalloc.transform.spill.price_regions import PriceList
from binalloc.transform.spill.prices import Prices
from binalloc.transform.spill.spill import NeedsMemory, Round, is_comeback
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import STORE
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_ranges import lives_at
from binalloc.transform.virtual.room import Room, call_sites, room

_ROUNDS = 8  # upper limit of rounds that spill whole values; it bounds the time, chosen by hand
_ROUNDING = 1e-9  # relative error of sums that are added in another order


def whole_allocation(given: Analysed, available: int, contracts: Mapping[str, Contract]) -> RegisterAllocation:
    """Allocate the code to the registers in the bitset `available`.

    Raises Infeasible, naming function and instruction. If whole values in memory do not make room for groups,
    parts of other values are spilled, too.
    """
    for slack in SLACKS:
        code, rounds = _spilled_to_room(given, available, contracts, slack)
        try:
            found = allocate_registers(code, available, contracts, may_spill=False)
        except NeedsMemory:
            continue
        return replace(found, given=given, rounds=rounds)
    code, rounds = _spilled_to_room(given, available, contracts, 0)
    found = allocate_registers(code, available, contracts)
    return replace(found, given=given, rounds=rounds + found.rounds)


def _spilled_to_room(
    given: Analysed, available: int, contracts: Mapping[str, Contract], slack: int
) -> tuple[Analysed, list[Round]]:
    """Return the code with whole values in memory until at least `slack` registers are free where values live, if
    possible; and the rounds."""
    now, own = given, len(given.code.names)
    rounds: list[Round] = []
    for _ in range(_ROUNDS):
        there = room(now.flat, now.live, call_sites(now.flat, now.live, contracts), available)
        tight = np.maximum(there.capacity - slack, 0)
        if not np.any(there.pressure > tight):
            break
        kept = {item.memory for item in now.flat.items if item.kind == STORE or is_comeback(item)}
        _, regions, _ = _found(now, contracts, [v for v in range(own) if v not in kept])
        spilled = whole_values(regions, there.pressure, tight)
        if not spilled:
            break
        now, done = round_to_memory(now, there, contracts, spilled)
        rounds.append(done)
    return now, rounds


def round_to_memory(
    given: Analysed, there: Room, contracts: Mapping[str, Contract], values: Collection[int]
) -> tuple[Analysed, Round]:
    """Return the code with those values in memory for all their lives, and the round, for people. there: the room in
    the code as given."""
    now, chosen, comebacks = _in_memory(given, contracts, values)
    return now, Round(given, there, chosen, list(range(len(chosen.value))), comebacks)


def whole_cost(given: Analysed, available: int, contracts: Mapping[str, Contract]) -> float:
    """Return a lower bound of the cost of `whole_allocation`, by loops, in accesses to memory."""
    there = room(given.flat, given.live, call_sites(given.flat, given.live, contracts), available)
    if not np.any(there.pressure > there.capacity):
        return 0.0
    _, regions, _ = _found(given, contracts, range(len(given.code.names)))
    spilled = set(whole_values(regions, there.pressure, there.capacity))
    return regions.cost(r for r, v in enumerate(regions.value) if v in spilled)


def whole_cost_at_least(given: Analysed, available: int, contracts: Mapping[str, Contract]) -> float:
    """Return a lower bound of `whole_cost` that is faster to compute. Suppose n registers are missing before an item or
    inside of a call. Then n of the values live there, except for the item's operands (or all of these values), are
    spilled and come back at each use."""
    flat, live = given.flat, given.live
    sites = call_sites(flat, live, contracts)
    there = room(flat, live, sites, available)
    missing = there.pressure - there.capacity
    before = missing[: flat.points : 2]
    found: list[tuple[int, list[int]]] = []
    if before.size and before.max() > 0:
        k = int(before.argmax())
        operands = {*flat.uses[k], *flat.defs[k]}
        through = [v for v, known in enumerate(live.intervals) if v not in operands and lives_at(known, 2 * k)]
        found.append((int(before[k]), through))
    for site in sites:
        if missing[site.point] > 0:
            found.append((int(missing[site.point]), [v for v in site.survivors if v not in site.kept]))
    cost = _uses(given) if found else []
    sums = [sum(sorted(cost[v] for v in values)[:count]) for count, values in found]
    return (1 - _ROUNDING) * max(sums, default=0.0)


def _uses(given: Analysed) -> list[float]:
    """Return, by value, the weights of the items that read it where it has lived before."""
    live = given.live
    cost = [0.0] * len(given.code.names)
    for k, uses in enumerate(given.flat.uses):
        for v in dict.fromkeys(uses):
            if lives_at(live.intervals[v], 2 * k - 1) and not only_wished(given.flat.items[k], v):
                cost[v] += given.flat.items[k].weight
    return cost


def in_memory(given: Analysed, contracts: Mapping[str, Contract], values: Collection[int]) -> Analysed:
    """Return the code with those values in memory for all their lives."""
    return _in_memory(given, contracts, values)[0]


def _in_memory(
    given: Analysed, contracts: Mapping[str, Contract], values: Collection[int]
) -> tuple[Analysed, Regions, Comebacks]:
    found, regions, comebacks = _found(given, contracts, values)
    code = comebacks.code
    insert_spills(code, given.flat, found, regions, range(len(found.value)), comebacks)
    return analysed(code), regions, comebacks


def _found(
    given: Analysed, contracts: Mapping[str, Contract], values: Collection[int]
) -> tuple[FoundRegions, Regions, Comebacks]:
    """Return the regions of those values, and how they come back to a copy of the code."""
    chosen = set(values)
    may = [v in chosen for v in range(len(given.code.names))]
    code = given.copied()
    code.constants = {}
    comebacks = Comebacks(code, given.flat, given.live, Prices(), recompute=False)
    found = find_regions(given.flat, given.live, call_sites(given.flat, given.live, contracts), may)
    return found, PriceList(given.flat, found).at(comebacks), comebacks
