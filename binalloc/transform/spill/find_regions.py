"""This module divides the live ranges of virtual code into regions. A region is the unit of spilling: it lies between
accesses.

It needs flat code, its live ranges, and for each value whether it may be spilled. It leaves the points of each region,
and the regions before and after each access, for prices (`price_regions`) and for the insertion of spill code
(`insert`).

An edge between blocks divides a region where the innermost loop changes and code can be placed on the edge. That is at
the end of a block with one successor, at the start of one with one predecessor, or between two successive blocks. Where
no code can be placed, regions are divided behind the edge, at the start of the block, which all edges into it share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from binalloc.analysis.webs import UnionFind
from binalloc.models.allocation.terms import Interval
from binalloc.transform.virtual.code import KEEP, Item
from binalloc.transform.virtual.flat import Flat
from binalloc.transform.virtual.live_ranges import LiveRanges
from binalloc.transform.virtual.room import CallRoom

NOWHERE = -1  # no region, block or item
_LAST = 1 << 60  # above every region's number and end, for bisection
_NO_POINTS: list[Interval] = []  # marks a region whose points are not known yet


class RegionAccess(NamedTuple):
    """A region access is an access to a value by an item, with the regions around it."""

    value: int
    #: region before the item; NOWHERE where the value is not live or another access of the same item comes first
    before: int
    after: int  #: region after the item, likewise
    use: bool  #: the item reads the value
    define: bool  #: the item writes the value
    merges: bool  #: the definition leaves the old value unchanged where its guard fails
    wish: bool  #: the use only asks for the value to stay where it is


_Opened = tuple[int, int, int, bool, bool, bool, bool]
"""an access with regions by the numbers under which they were opened"""


class FlowEdge(NamedTuple):
    """An edge between blocks is one on which code can be placed. From NOWHERE, it means all edges into a block, with
    the code at the block's start."""

    source: int
    target: int


class Joint(NamedTuple):
    """A joint is a border between two regions of one value, on an edge."""

    source: int
    target: int
    weight: float
    item: int  #: the item behind the border, NOWHERE where the block there is empty


@dataclass
class FoundRegions:
    """The regions found in a function have points, borders, and accesses around them."""

    value: list[int]  #: by region
    points: list[list[Interval]]  #: by region, half-open intervals
    joints: list[Joint]  #: where regions meet on borders
    accesses: dict[int, list[RegionAccess]]  #: by item, of the values that may be spilled
    entry: list[dict[int, int]]  #: by block, value -> region that is live into it
    exit: list[dict[int, int]]  #: by block, value -> region that is live out of it
    edges: dict[FlowEdge, float]  #: with their weights
    #: value -> region behind the start of a block, for blocks whose start divides regions
    start: dict[int, dict[int, int]]

    @cached_property
    def spans(self) -> dict[int, list[tuple[int, int, int]]]:
        """Return the regions of each value as (start, end, region), ascending."""
        out: dict[int, list[tuple[int, int, int]]] = {}
        for r, pieces in enumerate(self.points):
            out.setdefault(self.value[r], []).extend((start, end, r) for start, end in pieces)
        for known in out.values():
            known.sort()
        return out

    def span_at(self, v: int, point: int) -> tuple[int, int, int]:
        """Return the last (start, end, region) of a value that begins at a point or before it; NOWHERE, three times, if
        none does."""
        known = self.spans.get(v, [])
        at = bisect_right(known, (point, _LAST)) - 1
        return known[at] if at >= 0 else (NOWHERE, NOWHERE, NOWHERE)

    def forget_spans(self) -> None:
        """Free the memory of `spans`, which is large; they are computed again if needed."""
        self.__dict__.pop("spans", None)

    def sides(self, edge: FlowEdge) -> tuple[dict[int, int], dict[int, int]]:
        """Return value -> region before the edge, and behind it."""
        if edge.source == NOWHERE:
            return self.entry[edge.target], self.start[edge.target]
        return self.exit[edge.source], self.entry[edge.target]


def find_regions(
    flat: Flat,
    live: LiveRanges,
    sites: Sequence[CallRoom],
    may_leave: Sequence[bool],
    *,
    at_starts: bool = True,
) -> FoundRegions:
    """Return the regions of the code. may_leave: by value, whether it may be spilled. at_starts: whether the starts of
    blocks may divide regions."""
    return _Finder(flat, live, sites, may_leave, at_starts).run()


class _Finder:
    """This pass opens regions block by block, and joins them across edges by a union-find."""

    def __init__(
        self,
        flat: Flat,
        live: LiveRanges,
        sites: Sequence[CallRoom],
        may_leave: Sequence[bool],
        at_starts: bool,
    ) -> None:
        self.at_starts = at_starts
        self.flat, self.live, self.may_leave = flat, live, may_leave
        self.sites = {site.item: site for site in sites}
        self.wishing = {k for k, item in enumerate(flat.items) for o in item.uses if o.field == KEEP}
        self.value: list[int] = []
        self.points: list[list[Interval]] = []
        self.accesses: dict[int, list[_Opened]] = {}
        self.entry: list[dict[int, int]] = []
        self.exit: list[dict[int, int]] = []
        self.joints: list[Joint] = []  # of regions as opened
        self.start: dict[int, dict[int, int]] = {}
        self.edges: dict[FlowEdge, float] = {}

    def run(self) -> FoundRegions:
        for block in self.flat.blocks():
            self._block(block)
        self.sets = UnionFind(len(self.value))
        for block in self.flat.blocks():
            for following in self.flat.succs[block]:
                self._edge(block, following)
        number = self._numbers()
        accesses: dict[int, list[RegionAccess]] = {}
        for k in list(self.accesses):  # opened accesses are freed at once: large code has many
            found = self.accesses.pop(k)
            accesses[k] = [RegionAccess(v, number[a], number[b], *rest) for v, a, b, *rest in found]
        entry = [{v: number[r] for v, r in here.items()} for here in self.entry]
        exits = [{v: number[r] for v, r in here.items()} for here in self.exit]
        start = {b: {v: number[r] for v, r in here.items()} for b, here in self.start.items()}
        joints = [Joint(number[j.source], number[j.target], j.weight, j.item) for j in self.joints]
        joints = [j for j in joints if j.source != j.target]
        return FoundRegions(*self._joined(number), joints, accesses, entry, exits, self.edges, start)

    # -- regions within blocks

    def _open(self, v: int) -> int:
        """Open a region of v and return its number."""
        self.value.append(v)
        self.points.append([])
        return len(self.value) - 1

    def _block(self, block: int) -> None:
        """Open the regions of one block, and record its accesses."""
        flat, live, may = self.flat, self.live, self.may_leave
        first, end = flat.starts[block], flat.starts[block + 1]
        since: dict[int, tuple[int, int]] = {}  # value -> (region, point it begins at)
        for v in live.live_in[block]:
            if may[v]:
                since[v] = self._open(v), 2 * first
        self.entry.append({v: region for v, (region, _) in since.items()})
        if self.at_starts and self._divides_at_start(block):
            self._start(block, since)
        leaving = {v for v in live.live_out[block] if may[v]}
        last = self._last_points(block, leaving)
        for k in range(first, end):
            found: list[_Opened] = []
            uses, defs = flat.uses[k], flat.defs[k]
            for v in dict.fromkeys(uses):
                if may[v]:
                    found.append(self._access(v, k, v in defs, True, since, last[v]))
            for v in dict.fromkeys(defs):
                if may[v] and v not in uses:
                    found.append(self._access(v, k, True, False, since, last[v]))
            if found:
                self.accesses[k] = found
            if k in self.sites:
                site = self.sites[k]
                for v in site.survivors:
                    if v in since and v not in site.kept:
                        self.points[since[v][0]].append((site.point, site.point + 1))
                        if v in uses:  # the value lives on beside the argument, which the callee overwrites
                            self.points[since[v][0]].append((2 * k, 2 * k + 1))
        for v in sorted(since):
            region, start = since[v]
            if start < 2 * end:
                self.points[region].append((start, 2 * end))
        self.exit.append({v: region for v, (region, _) in since.items() if v in leaving})

    def _divides_at_start(self, block: int) -> bool:
        """Say whether regions would be divided on an edge into the block if there were room for code."""
        flat = self.flat
        return any(self._differ(p, block) and not flat.has_room(p, block) for p in flat.preds[block])

    def _start(self, block: int, since: dict[int, tuple[int, int]]) -> None:
        """Divide all regions at the start of the block."""
        weight = self.flat.weights[block]
        self.edges[FlowEdge(NOWHERE, block)] = weight
        for v, (entry, point) in since.items():
            since[v] = self._open(v), point
            self.joints.append(Joint(entry, since[v][0], weight, first_item(self.flat, block)))
        self.start[block] = {v: region for v, (region, _) in since.items()}

    def _last_points(self, block: int, leaving: set[int]) -> dict[int, list[int]]:
        """Return, per value accessed in the block, the ends of its intervals here, last first. Living out of the block
        counts as one point more."""
        flat, live = self.flat, self.live
        first, end = 2 * flat.starts[block], 2 * flat.starts[block + 1]
        out: dict[int, list[int]] = {}
        for k in range(flat.starts[block], flat.starts[block + 1]):
            for v in (*flat.uses[k], *flat.defs[k]):
                if self.may_leave[v] and v not in out:
                    out[v] = _ends(live.intervals[v], first, end, v in leaving)
        return out

    def _access(
        self, v: int, k: int, define: bool, use: bool, since: dict[int, tuple[int, int]], ends: list[int]
    ) -> _Opened:
        """Close the region before item k, and open one behind it if the value lives on."""
        merges = define and v in self.live.kept.get(k, ())
        if use and not define and k in self.wishing and only_wished(self.flat.items[k], v):
            return self._wish(v, k, since, ends)
        before = NOWHERE
        if v in since:
            before, start = since.pop(v)
            stop = 2 * k  # also where an old value is to be merged: it may have to come back before the item
            if start < stop:
                self.points[before].append((start, stop))
        begin = 2 * k + 2 if define else 2 * k + 1
        while ends and ends[-1] <= (2 * k + 1 if define else 2 * k):
            ends.pop()
        after = NOWHERE
        if ends and ends[-1] > begin:
            after = self._open(v)
            since[v] = after, begin
        return v, before, after, use, define, merges, False

    def _wish(self, v: int, k: int, since: dict[int, tuple[int, int]], ends: list[int]) -> _Opened:
        """Add a wish. It divides no region; it is given up where the region is spilled."""
        region, start = since.get(v, (NOWHERE, 0))
        while ends and ends[-1] <= 2 * k:
            ends.pop()
        if region != NOWHERE and not (ends and ends[-1] > 2 * k + 1):
            del since[v]
            self.points[region].append((start, 2 * k + 1))
        return v, region, NOWHERE, True, False, False, True

    # -- across blocks

    def _edge(self, source: int, target: int) -> None:
        """Join the regions that the edge connects, or divide them there."""
        flat = self.flat
        exits, entry = self.exit[source], self.entry[target]
        divides = self._divides(source, target)
        for v, into in entry.items():
            out = exits.get(v, NOWHERE)
            if out == NOWHERE:
                continue
            if divides is None:
                self.sets.union(out, into)
            else:
                self.edges[FlowEdge(source, target)] = divides
                self.joints.append(Joint(out, into, divides, first_item(flat, target)))

    def _divides(self, source: int, target: int) -> float | None:
        """Return the weight of code on the edge if the loop changes there and it has room for code, else None."""
        flat = self.flat
        if not self._differ(source, target) or not flat.has_room(source, target):
            return None
        if len(flat.succs[source]) == 1:
            return flat.weights[source]
        if len(flat.preds[target]) == 1:
            return flat.weights[target]
        return min(flat.weights[source], flat.weights[target])

    def _differ(self, source: int, target: int) -> bool:
        """Say whether it pays to divide a region that lies in both blocks."""
        return self.flat.loops[source] != self.flat.loops[target]

    def _numbers(self) -> list[int]:
        """Return a dense number for each region as opened. NOWHERE keeps its number, at the end."""
        dense: dict[int, int] = {}
        number = [dense.setdefault(self.sets.find(r), len(dense)) for r in range(len(self.value))]
        return [*number, NOWHERE]

    def _joined(self, number: list[int]) -> tuple[list[int], list[list[Interval]]]:
        """Return value and points of each region, by dense number."""
        count = max(number) + 1 if number else 0
        value = [0] * count
        points: list[list[Interval]] = [_NO_POINTS] * count
        for r, region in enumerate(number[:-1]):
            value[region] = self.value[r]
            if points[region] is _NO_POINTS:
                points[region] = self.points[r]
            else:
                points[region] += self.points[r]
        for pieces in points:
            _merge(pieces)
        return value, points


def first_item(flat: Flat, block: int) -> int:
    """Return the first item of a block, NOWHERE if the block is empty."""
    return flat.starts[block] if flat.starts[block] < flat.starts[block + 1] else NOWHERE


def only_wished(item: Item, v: int) -> bool:
    """Say whether the item only asks for the value to stay where it is."""
    return all(o.field == KEEP for o in item.uses if v in o.values)


def _ends(intervals: list[Interval], first: int, end: int, leaves: bool) -> list[int]:
    """List the ends of the intervals within the points first .. end - 1, descending."""
    low, high = 0, len(intervals)
    while low < high:
        middle = (low + high) // 2
        if intervals[middle][1] <= first:
            low = middle + 1
        else:
            high = middle
    found: list[int] = []
    while low < len(intervals) and intervals[low][0] < end:
        stop = intervals[low][1]
        found.append(stop if stop < end or (stop == end and not leaves) else end + 1)
        low += 1
    found.reverse()
    return found


def _merge(pieces: list[Interval]) -> None:
    """Sort intervals and join adjacent ones, in place."""
    if len(pieces) < 2:
        return
    pieces.sort()
    out = [pieces[0]]
    for start, end in pieces[1:]:
        if start == out[-1][1]:
            out[-1] = out[-1][0], end
        else:
            out.append((start, end))
    pieces[:] = out
