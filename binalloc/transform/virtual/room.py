"""This module counts the registers needed and the registers available at each point of virtual code, calls included.

Point 2k is before item k, 2k + 1 after it. Behind all of these comes one point per call, which is inside the call.
There only registers that the call leaves alone are available. Only values that have to be in these registers are
counted: an argument stays in its register if its callee does not overwrite that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.holes import holes_before, holes_behind
from binalloc.transform.virtual.live_ranges import LiveRanges


@dataclass
class CallRoom:
    """A call site lists the values that survive a call, and the registers not open to them."""

    item: int  #: the call
    point: int  #: the point inside it
    blocked: int  #: registers that no survivor may be in, except for those in `kept`, as bits
    #: values live before and after that the call does not define, ascending
    survivors: list[int] = field(default_factory=list)
    #: survivors that are arguments -> the register in which each may stay
    kept: dict[int, int] = field(default_factory=dict)
    extra: int = 0  #: registers needed just before the call in addition to the values live there


def call_sites(flat: Flat, live: LiveRanges, contracts: Mapping[str, Contract]) -> list[CallRoom]:
    """List the calls of the code, in order."""
    where = [k for k, item in enumerate(flat.items) if item.callee]
    if not where:
        return []
    sites = [CallRoom(k, flat.points + c, 0) for c, k in enumerate(where)]
    befores = [*(2 * k for k in where), flat.points]
    for v, intervals in enumerate(live.intervals):
        for start, end in intervals:
            c = bisect_left(befores, start)
            while befores[c] < end - 1:
                if v not in flat.defs[where[c]]:
                    sites[c].survivors.append(v)
                c += 1
    for site in sites:
        _fixed_registers(flat, site, contracts)
    return sites


def _fixed_registers(flat: Flat, site: CallRoom, contracts: Mapping[str, Contract]) -> None:
    item = flat.items[site.item]
    clobbers = contracts[item.callee].clobbers
    arguments = {o.fixed: o.values[0] for o in item.uses}
    results = {o.fixed for o in item.defs if o.fixed >= 0}
    site.blocked = clobbers
    for register in (*arguments, *results):
        site.blocked |= 1 << register
    survivors = set(site.survivors)
    for register, v in sorted(arguments.items()):
        if v in survivors and v not in site.kept and register not in results and not clobbers >> register & 1:
            site.kept[v] = register
    dying = {v for v in arguments.values() if v not in survivors}
    site.extra = len(arguments) - len(site.kept) - len(dying)


@dataclass
class Room:
    """The room of a function is how many registers its values take and how many there are, by point."""

    pressure: NDArray[np.int32]  #: registers that values take
    capacity: NDArray[np.int32]  #: registers that are available
    #: point -> registers counted in `pressure` that stay empty as long as none of the values around them is spilled
    holes: dict[int, int] = field(default_factory=dict)


def room(flat: Flat, live: LiveRanges, sites: list[CallRoom], available: int) -> Room:
    """Return the room of the code. available: registers, as bits."""
    points = flat.points + len(sites)
    pressure = np.zeros(points, np.int32)
    pressure[: flat.points] = live.pressure(flat.points)
    capacity = np.full(points, available.bit_count(), np.int32)
    holes = {2 * k: extra for k, extra in holes_before(flat, live)}
    holes.update((2 * k + 1, extra) for k, extra in holes_behind(flat, live))
    for point, extra in holes.items():
        pressure[point] += extra
    for site in sites:
        pressure[2 * site.item] += site.extra
        pressure[site.point] = len(site.survivors) - len(site.kept)
        capacity[site.point] = (available & ~site.blocked).bit_count()
    return Room(pressure, capacity, holes)


def registers_needed(flat: Flat, live: LiveRanges, sites: list[CallRoom]) -> int:
    """Return the smallest number of registers that can hold all values live at each point. Alignment of wide operands
    is not counted."""
    pressure = live.pressure(flat.points).tolist()
    least = max(pressure, default=0)
    for site in sites:
        least = max(least, pressure[2 * site.item] + site.extra)
        survivors = len(site.survivors) - len(site.kept)
        while (((1 << least) - 1) & ~site.blocked).bit_count() < survivors:
            least += 1
    return max(least, 1)
