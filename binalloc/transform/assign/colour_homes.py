"""This module finds homes by graph colouring, for code in which placing ranges one after the other leaves some without.

It needs bundles and wishes as `homes` does. It leaves homes found by `models.allocation.colouring` on the interference
graph of the bundles' values. Simplification and cardinality orders see which bundles are hard to place before any is
placed. The graph takes memory and time that grow with the square of the code, so it is only built for code of some
hundred values.
"""

from __future__ import annotations

from bisect import bisect_left

from binalloc.models.allocation.colouring import ColouringProblem, NodeGroup, colour
from binalloc.models.allocation.terms import Interval, Register, Value
from binalloc.transform.assign.bundles import Bundles
from binalloc.transform.assign.wishes import NO_HOME, BundleHomes, Wishes

_ROUNDING = 1e-9  # relative error of sums that are added in another order


def colour_homes(
    bundles: Bundles, wishes: Wishes, points: list[list[Interval]], available: int, most: float
) -> BundleHomes:
    """Return homes by colouring. points: by value. available: registers, as bits. most: upper limit of the cost lost;
    homes that lose more are of no use to the caller, and may lose more than they had to."""
    used = [b for b, bundle in enumerate(bundles.all) if bundle.members]
    groups = [
        NodeGroup(
            tuple((Value(v), offset) for v, offset in bundles.all[b].members),
            len(bundles.all[b].points),
            bundles.all[b].align,
            sum(wishes.cost[v] for v, _ in bundles.all[b].members),
        )
        for b in used
    ]
    forbidden = _forbidden(wishes, points)
    hint = {
        Value(v): Register(max(sorted(liked), key=lambda r, liked=liked: liked[r]))  # type: ignore[misc]
        for v, liked in wishes.likes.items()
        if liked
    }
    problem = ColouringProblem(_adjacency(points), groups, available, forbidden, hint=hint)
    result = colour(problem, most=most * (1 + _ROUNDING))
    base = [NO_HOME] * len(bundles.all)
    lost = 0.0
    for g, b in enumerate(used):
        v, offset = groups[g].members[0]
        register = result.colour[v]
        if register >= 0:
            base[b] = register - offset
        else:
            lost += groups[g].cost
    return BundleHomes(base, lost)


def _adjacency(points: list[list[Interval]]) -> list[int]:
    """Return, by value, the values with a point in common, as bits."""
    adjacency = [0] * len(points)
    events = sorted(
        event for v, pieces in enumerate(points) for start, end in pieces for event in ((start, 1, v), (end, 0, v))
    )
    live = 0
    for _, begins, v in events:
        if not begins:
            live &= ~(1 << v)
            continue
        adjacency[v] |= live
        rest = live
        while rest:
            low = rest & -rest
            adjacency[low.bit_length() - 1] |= 1 << v
            rest ^= low
        live |= 1 << v
    return adjacency


def _forbidden(wishes: Wishes, points: list[list[Interval]]) -> list[int]:
    """Return, by value, the registers that something else takes at one of its points, as bits."""
    out = [0] * len(points)
    for register, where in sorted(wishes.busy.items()):
        places = sorted(where)
        for v, pieces in enumerate(points):
            for start, end in pieces:
                taken = places[bisect_left(places, start) : bisect_left(places, end)]
                if any(wishes.owner.get((register, point)) != v for point in taken):
                    out[v] |= 1 << register
                    break
    return out
