"""This module spills until no point of the code needs more registers than there are.

It needs virtual code whose calls have their callees' contracts. It leaves code with reloads, recomputations and stores,
and room for all live values everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from binalloc.errors import Refused
from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import RegionChoice, Regions
from binalloc.transform.spill.comeback import Comebacks
from binalloc.transform.spill.expressions import Expressions
from binalloc.transform.spill.find_regions import find_regions
from binalloc.transform.spill.insert import insert_spills
from binalloc.transform.spill.list_spills import list_spills
from binalloc.transform.spill.price_regions import PriceList
from binalloc.transform.spill.prices import Prices
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import AGAIN, RELOAD, STORE, Item, VCode
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallRoom, Room, call_sites, room

Choose = Callable[[Homes, NDArray[np.int32], NDArray[np.int32]], RegionChoice]
"""(homes, registers needed, registers available, by point) -> the choice of regions to spill"""

_ROUNDS = 8  # One round suffices unless recomputation takes registers of its own; the limit bounds the time.


@dataclass(frozen=True)
class Round:
    """A round of spilling is kept for explanations."""

    given: Analysed  #: the code before the round
    room: Room  #: registers needed and available there
    regions: Regions  #: its regions
    spilled: list[int]  #: the spilled regions
    comebacks: Comebacks  #: how they come back
    homes: Homes | None = None  #: the input of the choice, where it is by regions
    choice: RegionChoice | None = None  #: the choice, likewise


class Infeasible(Refused):
    """`Infeasible` is raised if the register budget cannot hold one instruction's operands, or a call's arguments."""


class NeedsMemory(Exception):
    """`NeedsMemory` is raised if not everything fits the registers and the caller wanted no spill code."""


@dataclass(frozen=True)
class SpillOptions:
    """The options of spilling say what memory costs, how regions are chosen, and what stays free."""

    prices: Prices = field(default_factory=Prices)  #: of reloads and stores
    #: returns the regions to spill, and the values without a slot, see `models.allocation.homes.choose_homes`
    choose: Choose = choose_homes
    slots: int = 0  #: how many there are, 0 where `prices` are enough
    slack: int = 0  #: registers to leave free where values live
    rounds: list[Round] = field(default_factory=list)  #: added to by each round
    keeps: bool = True  #: rounds are added; for large code they take much memory


def spill_to_room(
    given: Analysed,
    available: int,
    contracts: Mapping[str, Contract],
    how: SpillOptions | None = None,
    *,
    may_spill: bool = True,
) -> Analysed:
    """Return the code with spill code, so that it fits the registers of `available` (bits).

    Raises Infeasible, naming function and instruction, and NeedsMemory where it would have to spill but may not.
    """
    how = how or SpillOptions()
    now = given
    for _ in range(_ROUNDS):
        sites = call_sites(now.flat, now.live, contracts)
        there = room(now.flat, now.live, sites, available)
        tight = np.maximum(there.capacity - how.slack, 0)
        if not np.any(there.pressure > tight):
            return now
        if not may_spill:
            raise NeedsMemory
        after = _leave(now, there, tight, sites, how)
        if after is None:
            break
        now = after
    there = room(now.flat, now.live, call_sites(now.flat, now.live, contracts), available)
    if np.any(there.pressure > there.capacity):
        _refuse(now, there)
    return now


def relieve(
    given: Analysed,
    items: Sequence[int],
    by: int,
    available: int,
    contracts: Mapping[str, Contract],
    how: SpillOptions,
) -> Analysed | None:
    """Return code that fits the registers, with `by` fewer values in them before and behind each of the items, as far
    as possible; None if nothing can be spilled there."""
    sites = call_sites(given.flat, given.live, contracts)
    there = room(given.flat, given.live, sites, available)
    points = np.array([point for k in items for point in (2 * k, 2 * k + 1)])
    tight = there.capacity.copy()
    tight[points] = np.maximum(np.minimum(there.pressure, there.capacity)[points] - by, 0)
    return _leave(given, there, tight, sites, how)


def _leave(
    now: Analysed, there: Room, tight: NDArray[np.int32], sites: list[CallRoom], how: SpillOptions
) -> Analysed | None:
    """Return the code with the cheapest regions spilled where more than `tight` values live; None if nothing can be
    spilled. Raises Infeasible."""
    code = _without_cheapest(now, there, tight, sites, how)
    return None if code is None else analysed(code)  # the regions are freed by now: they take much memory


def _without_cheapest(
    now: Analysed, there: Room, tight: NDArray[np.int32], sites: list[CallRoom], how: SpillOptions
) -> VCode | None:
    """Do the work of `_leave`, without the analysis of the result."""
    code = now.copied()
    may_leave = _may_leave(now.live, there.pressure > tight, len(now.flat.items))
    # code at the start of a block would be before that of an earlier round, for which it should make room
    first = not any(item.kind in (STORE, AGAIN) or is_comeback(item) for item in now.flat.items)

    found = find_regions(now.flat, now.live, sites, may_leave, at_starts=first)
    listed = PriceList(now.flat, found)
    made = partial(Expressions, now.code, now.flat, now.live)
    expressions = now.once("expressions", made) if how.keeps else made()
    comebacks = Comebacks(code, now.flat, now.live, how.prices, expressions=expressions)
    regions = listed.at(comebacks)
    found.forget_spans()
    near, slots = how.prices.usual, how.slots
    far = how.prices.far if slots else near
    spills = partial(list_spills, now.flat, found, comebacks, there.holes, near=near, far=far, slots=slots)
    local = comebacks.at(how.prices.all_local)  # not `how` itself: its rounds would refer to it, a cycle
    homes = Homes(regions, lambda: listed.at(local), slots, spills)
    choice = how.choose(homes, there.pressure, tight)
    if choice.local:
        comebacks = comebacks.at(replace(how.prices, local=how.prices.local | choice.local))
        regions = listed.at(comebacks)
    left = choice.pressure.copy()
    for point, extra in there.holes.items():  # spilled values may have taken them along
        left[point] -= extra
    if np.any(left > there.capacity):
        _refuse(now, Room(left, there.capacity))
    if not choice.spilled:
        return None
    comebacks.chosen = choice.kept
    insert_spills(code, now.flat, found, regions, choice.spilled, comebacks)
    if how.keeps:
        how.rounds.append(Round(now, Room(there.pressure, tight), regions, choice.spilled, comebacks, homes, choice))
    return code


def is_comeback(item: Item) -> bool:
    """Say whether the item is a reload of spill code, not that of an argument behind the entry."""
    return item.kind == RELOAD and item.serves >= 0


def _may_leave(live: LiveRanges, over: NDArray[np.bool_], items: int) -> list[bool]:
    """Say for each value whether it is live at some point with too many values."""
    before = np.concatenate(([0], np.cumsum(over[: 2 * items]))).tolist()
    if np.any(over[2 * items :]):  # inside of a call: all values live around it
        return [bool(pieces) for pieces in live.intervals]
    return [any(before[end] > before[start] for start, end in pieces) for pieces in live.intervals]


def _refuse(now: Analysed, there: Room) -> None:
    """Raise Infeasible for the first point at which operands alone do not fit."""
    flat = now.flat
    point = int(np.flatnonzero(there.pressure > there.capacity)[0])
    if point >= flat.points:
        item = [k for k, item in enumerate(flat.items) if item.callee][point - flat.points]
    else:
        item = point // 2
    count = int(there.capacity[point])
    raise Infeasible(
        f"{count} registers cannot hold the operands that are needed at once",
        place=f"{now.code.function.name}+{flat.origin_near(item)}",
        found=f"{count} registers available, {int(there.pressure[point])} needed",
        remedy="allow more registers per thread",
    )
