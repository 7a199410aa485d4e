"""Registers for all values of virtual code that fits the registers: bundles, homes, scan."""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.bitset import bits
from binalloc.models.allocation.terms import Interval
from binalloc.transform.assign.bundles import find_bundles
from binalloc.transform.assign.homes import find_homes
from binalloc.transform.assign.scan import Placed, Plan, scan
from binalloc.transform.assign.wishes import NO_HOME, Wishes
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import KEEP, VCode
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallSite, call_sites

_BEFORE = 0.01
"""How much a value likes the register it had in the input, in copies saved."""


def assign(given: Analysed, available: int, contracts: Mapping[str, Contract]) -> Placed:
    """Registers of `available` (bits) for every value; code of its own, with copies where values have to move.

    Raises NoPlace where pairs and quads do not find room side by side.
    """
    code, flat, live = given.copied(), given.flat, given.live
    sites = call_sites(flat, live, contracts)
    points = _with_calls(live, sites)
    bundles = find_bundles(flat, points)
    wishes = _wishes(code, flat, sites, available)
    homes = find_homes(bundles, wishes, points, available, flat.points + len(sites))
    home = [
        homes.base[b] + offset if homes.base[b] != NO_HOME else NO_HOME
        for b, offset in zip(bundles.of, bundles.offset, strict=True)
    ]
    claims: list[list[int]] = [[] for _ in range(available.bit_length())]
    for v, register in enumerate(home):
        if register != NO_HOME:
            claims[register] += [start for start, _ in live.intervals[v]]
    for where in claims:
        where.sort()
    return scan(code, Plan(flat, live, {s.item: s for s in sites}, available, home, claims))


def _with_calls(live: LiveRanges, sites: list[CallSite]) -> list[list[Interval]]:
    """The points of each value, those inside of calls included."""
    points = [list(pieces) for pieces in live.intervals]
    for site in sites:
        for v in site.survivors:
            points[v].append((site.point, site.point + 1))
    return points


def _wishes(code: VCode, flat: Flat, sites: list[CallSite], available: int) -> Wishes:
    busy: dict[int, list[int]] = {}
    owner: dict[tuple[int, int], int] = {}
    likes: dict[int, dict[int, float]] = {}
    cost = [0.0] * len(code.names)
    for item in flat.items:
        for operand in (*item.defs, *item.uses):
            for v in operand.values:
                cost[v] += item.weight if operand.field != KEEP else 0.0
            if operand.fixed >= 0:
                liked = likes.setdefault(operand.values[0], {})
                liked[operand.fixed] = liked.get(operand.fixed, 0.0) + item.weight
    for site in sites:
        _busy_at_call(flat, site, busy, owner)
    for v, register in code.before.items():
        if available >> register & 1:
            liked = likes.setdefault(v, {})
            liked[register] = liked.get(register, 0.0) + _BEFORE
    return Wishes(busy, owner, likes, cost)


def _busy_at_call(
    flat: Flat, site: CallSite, busy: dict[int, list[int]], owner: dict[tuple[int, int], int]
) -> None:
    """Registers that a call takes: for arguments before it, for what it overwrites inside, for results after it."""
    item = flat.items[site.item]
    before, after = 2 * site.item, 2 * site.item + 1
    for operand in item.uses:
        busy.setdefault(operand.fixed, []).append(before)
        owner[operand.fixed, before] = operand.values[0]
    for operand in item.defs:
        if operand.fixed >= 0:
            busy.setdefault(operand.fixed, []).append(after)
            owner[operand.fixed, after] = operand.values[0]
    for register in bits(site.blocked):
        busy.setdefault(register, []).append(site.point)
    for v, kept in site.kept.items():
        owner[kept, site.point] = v


