"""Spills until no point of the code needs more registers than there are.

Needs virtual code whose calls carry their callees' contracts. Leaves code with reloads, recomputations and stores, and
room for all that is live everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from binalloc.errors import Refused
from binalloc.models.allocation.homes import Homes, choose_homes
from binalloc.models.allocation.regions import Choice, Regions
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
from binalloc.transform.virtual.room import CallSite, Room, call_sites, room

Choose = Callable[[Homes, NDArray[np.int32], NDArray[np.int32]], Choice]

_ROUNDS = 8
"""One does, but where recomputing takes registers of its own."""


@dataclass(frozen=True)
class Round:
    """One round of spilling, for people: the code that it found, what there was room for, its regions, which of them
    leave, and how they come back. homes, choice: what they were chosen from and how, where that is by regions."""

    given: Analysed
    room: Room
    regions: Regions
    away: list[int]
    comebacks: Comebacks
    homes: Homes | None = None
    choice: Choice | None = None


class Infeasible(Refused):
    """The register budget cannot hold one instruction's operands, or a call's arguments."""


class NeedsMemory(Exception):
    """Not everything fits the registers, and the caller wanted to know that before any spill code is made."""


@dataclass(frozen=True)
class Spilling:
    """How to spill. prices: of reloads and stores. choose: gives the regions that leave, and the values for which there
    is no slot, see `models.allocation.homes.choose_homes`. slots: how many there are, 0 where `prices` know enough.
    slack: registers to leave free where values live. rounds: what was done, added to as it is done; keeps: whether it
    is: of large code that takes much memory."""

    prices: Prices = field(default_factory=Prices)
    choose: Choose = choose_homes
    slots: int = 0
    slack: int = 0
    rounds: list[Round] = field(default_factory=list)
    keeps: bool = True


def spill_to_room(
    given: Analysed,
    available: int,
    contracts: Mapping[str, Contract],
    how: Spilling | None = None,
    *,
    may_spill: bool = True,
) -> Analysed:
    """The code, made to fit the registers of `available` (bits).

    Raises Infeasible, naming function and instruction, and NeedsMemory where it would have to spill but may not.
    """
    how = how or Spilling()
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
    how: Spilling,
) -> Analysed | None:
    """Code that fits the registers, with `by` values less in them before and behind each of the items, as far as can
    be; None where nothing can leave there."""
    sites = call_sites(given.flat, given.live, contracts)
    there = room(given.flat, given.live, sites, available)
    points = np.array([point for k in items for point in (2 * k, 2 * k + 1)])
    tight = there.capacity.copy()
    tight[points] = np.maximum(np.minimum(there.pressure, there.capacity)[points] - by, 0)
    return _leave(given, there, tight, sites, how)


def _leave(
    now: Analysed, there: Room, tight: NDArray[np.int32], sites: list[CallSite], how: Spilling
) -> Analysed | None:
    """The code with what is cheapest out of the registers where more than `tight` values live; None where nothing can
    leave. Raises Infeasible."""
    code = _without_cheapest(now, there, tight, sites, how)
    return None if code is None else analysed(code)  # by now the regions are gone, which of large code are much memory


def _without_cheapest(
    now: Analysed, there: Room, tight: NDArray[np.int32], sites: list[CallSite], how: Spilling
) -> VCode | None:
    """As `_leave`."""
    code = now.copied()
    may_leave = _may_leave(now.live, there.pressure > tight, len(now.flat.items))
    # at the start of a block code would stand before that of an earlier round, which it is to make room for
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
    local = comebacks.at(how.prices.all_local)  # not `how` itself, whose rounds would hold what holds them
    homes = Homes(regions, lambda: listed.at(local), slots, spills)
    choice = how.choose(homes, there.pressure, tight)
    if choice.local:
        comebacks = comebacks.at(replace(how.prices, local=how.prices.local | choice.local))
        regions = listed.at(comebacks)
    left = choice.pressure.copy()
    for point, extra in there.holes.items():  # who left may have taken them along
        left[point] -= extra
    if np.any(left > there.capacity):
        _refuse(now, Room(left, there.capacity))
    if not choice.away:
        return None
    comebacks.chosen = choice.kept
    insert_spills(code, now.flat, found, regions, choice.away, comebacks)
    if how.keeps:
        how.rounds.append(Round(now, Room(there.pressure, tight), regions, choice.away, comebacks, homes, choice))
    return code


def is_comeback(item: Item) -> bool:
    """Is it a reload that spill code has, not that of an argument behind the entry?"""
    return item.kind == RELOAD and item.serves >= 0


def _may_leave(live: LiveRanges, over: NDArray[np.bool_], items: int) -> list[bool]:
    """Values live at some point where too many are."""
    before = np.concatenate(([0], np.cumsum(over[: 2 * items]))).tolist()
    if np.any(over[2 * items :]):  # inside of a call: whatever is live around it
        return [bool(pieces) for pieces in live.intervals]
    return [any(before[end] > before[start] for start, end in pieces) for pieces in live.intervals]


def _refuse(now: Analysed, there: Room) -> None:
    """Raises Infeasible for the first point at which operands alone do not fit."""
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
