"""This module assigns registers to all values of virtual code that fits the registers, by bundles, homes and a scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.bitset import bits, lowest
from binalloc.models.allocation.terms import Interval
from binalloc.transform.assign.bundles import Bundles, find_bundles
from binalloc.transform.assign.homes import find_all_homes, find_homes
from binalloc.transform.assign.placed import Placed, ScanPlan
from binalloc.transform.assign.scan import scan
from binalloc.transform.assign.wishes import NO_HOME, BundleHomes, Wishes
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.code import KEEP, Item, VCode
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallRoom, call_sites

_BEFORE = 0.01
"""Preference of a value for its register in the input, in copies saved. It is far below one copy, so that it only
decides between registers that are equal otherwise."""


@dataclass(frozen=True)
class Homeless:
    """Homeless code fits the registers but has no homes yet. It comes with all that finding them needs."""

    given: Analysed
    sites: list[CallRoom]
    points: list[list[Interval]]  #: by value, points inside of calls included
    bundles: Bundles

    @property
    def end(self) -> int:
        """Return one past the last point."""
        return self.given.flat.points + len(self.sites)

    def wishes(self, available: int) -> Wishes:
        return _wishes(self.given.code, self.given.flat, self.sites, available)


def homeless(given: Analysed, contracts: Mapping[str, Contract]) -> Homeless:
    """Return the code with its call sites and bundles."""
    sites = call_sites(given.flat, given.live, contracts)
    points = _with_calls(given.live, sites)
    return Homeless(given, sites, points, find_bundles(given.flat, points))


def assign(given: Analysed, available: int, contracts: Mapping[str, Contract]) -> Placed:
    """Assign a register of `available` (bits) to every value. Return new code, with copies where values have to move.

    Raises NoPlace where groups do not find consecutive, aligned registers.
    """
    code = homeless(given, contracts)
    homes = find_homes(code.bundles, code.wishes(available), code.points, available, code.end)
    return settle(code, homes, available)


def fewest_homes(code: Homeless, least: int, limit: int) -> tuple[BundleHomes, int]:
    """Return homes for all values in as few registers as possible, from register 0 up, and the number of registers, so
    that every value stays in one place. Above `limit` that number is not the smallest one. least: lower bound of the
    number.

    More registers are needed than values are live at once only because of groups, loops and calls. Given enough
    registers, placing one bundle after the other always succeeds, and this gives an upper bound. The smallest number is
    sought between the two.
    """
    blocked = 0
    for site in code.sites:
        blocked |= site.blocked
    enough = 2 * least + blocked.bit_length()
    wishes = code.wishes((1 << enough) - 1)

    def found(count: int) -> BundleHomes | None:
        return find_all_homes(code.bundles, wishes, (1 << count) - 1, code.end)

    homes = found(least) if least <= limit else None
    if homes is not None:
        return homes, least
    best = found(enough)
    while best is None:  # between groups that are wider than their alignment, or narrower, there are more gaps
        enough *= 2
        wishes = code.wishes((1 << enough) - 1)
        best = found(enough)
    low, most = least, _used(code, best)
    while least <= limit and most - low > 1:
        middle = (low + most) // 2
        homes = found(middle)
        if homes is None:
            low = middle
        else:
            best, most = homes, middle
    return best, most


def _used(code: Homeless, homes: BundleHomes) -> int:
    """Return one more than the highest register of a home."""
    bases = zip(code.bundles.all, homes.base, strict=True)
    return max((base + len(bundle.points) for bundle, base in bases if base != NO_HOME), default=1)


def settle(code: Homeless, homes: BundleHomes, available: int) -> Placed:
    """Assign registers as `assign` does, with homes that were found in `available`."""
    given, bundles = code.given, code.bundles
    flat, live = given.flat, given.live
    home = [
        homes.base[b] + offset if homes.base[b] != NO_HOME else NO_HOME
        for b, offset in zip(bundles.of, bundles.offset, strict=True)
    ]
    if not code.sites and homes.lost == 0 and all(_at_home(item, home) for item in flat.items):
        results = _results(flat, home)
        if results is not None:  # nothing has to move: the scan would find the same
            return Placed(given.code, [lowest(available) if r == NO_HOME else r for r in home], results)
    claims: list[list[int]] = [[] for _ in range(available.bit_length())]
    for v, register in enumerate(home):
        if register != NO_HOME:
            claims[register] += [start for start, _ in live.intervals[v]]
    for where in claims:
        where.sort()
    return scan(given.copied(), ScanPlan(flat, live, {s.item: s for s in code.sites}, available, home, claims))


def _at_home(item: Item, home: list[int]) -> bool:
    """Say whether all operands have homes, aligned ones if they are wide, and none is a wish. (The scan would remove a
    wish.)"""
    for operand in (*item.defs, *item.uses):
        values = operand.values
        base = home[values[0]]
        if operand.field == KEEP or base == NO_HOME or base % operand.alignment:
            return False
        if len(values) > 1 and any(home[v] != base + k for k, v in enumerate(values)):
            return False
    return True


def _results(flat: Flat, home: list[int]) -> dict[int, int] | None:
    """Return location -> the register of that result for callers; None where it differs between returns."""
    found: dict[int, int] = {}
    for item in flat.items:
        for operand in item.uses:
            if operand.location >= 0:
                register = home[operand.values[0]]
                if found.setdefault(operand.location, register) != register:
                    return None
    return found


def _with_calls(live: LiveRanges, sites: list[CallRoom]) -> list[list[Interval]]:
    """Return the points of each value, points inside of calls included."""
    points = [list(pieces) for pieces in live.intervals]
    for site in sites:
        for v in site.survivors:
            points[v].append((site.point, site.point + 1))
    return points


def _wishes(code: VCode, flat: Flat, sites: list[CallRoom], available: int) -> Wishes:
    """Collect what the values ask of registers: fixed operands of calls, and the registers of the input."""
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
    flat: Flat, site: CallRoom, busy: dict[int, list[int]], owner: dict[tuple[int, int], int]
) -> None:
    """Enter the registers that a call takes: for arguments before it, overwritten ones inside, for results after it."""
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


