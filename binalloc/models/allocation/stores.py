"""This module places the stores of a value, so that memory holds it where it has to, at least cost: a minimal cut.

Needs a value's regions (`regions`), the ways into each, and the regions in which memory must hold the value. Leaves the
regions in which memory holds it. If memory holds the value in a way's source, nothing need be done on that way.
Otherwise a store on it has the cost of the way. Memory holds nothing on ways from definitions. So the stores are the
edges of a cut between the definitions and the regions that need memory. The minimal one is found by Ford and
Fulkerson's theorem, on graphs of a few nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

DEFINED = -1
"""Stands for the source of a way that comes from the value's definition; regions are numbered from 0."""

Way = tuple[int, float]
"""(source region or DEFINED, cost of a store on the way)."""

_UNLIMITED = float("inf")  # the capacity of an edge that must not be cut
_NEEDED = -2
"""The sink of the flow, behind all regions that need memory; no region and not DEFINED."""


def valid_regions(
    ways: Mapping[int, Sequence[Way]], needed: Collection[int], spilled: Collection[int]
) -> tuple[set[int], float]:
    """Return the regions in which memory holds the value, and the cost of its stores.

    ways: for each region the ways into it. needed: regions in which memory must hold the value. spilled: regions in
    which the value is in no register, so that it cannot be stored on a way out of them.
    """
    edges: dict[tuple[int, int], float] = {}
    for region, into in ways.items():
        for source, cost in into:
            if source != region:
                limit = _UNLIMITED if source in spilled else cost
                edges[source, region] = edges.get((source, region), 0.0) + limit
    came, total = _through_forest(edges, needed) or _through_graph(edges, needed)
    assert total < _UNLIMITED, "a value that is spilled everywhere needs no definition"
    return ways.keys() - came, total


def _through_forest(
    edges: Mapping[tuple[int, int], float], needed: Collection[int]
) -> tuple[Collection[int], float] | None:
    """Do as `_through_graph`, in one pass, where no region has two ways into it; return None elsewhere."""
    below: dict[int, list[int]] = {}
    limit: dict[int, float] = {}
    for (source, region), cost in edges.items():
        if region in limit:
            return None
        limit[region] = cost
        below.setdefault(source, []).append(region)
    order = list(below.get(DEFINED, ()))
    for r in order:
        order += below.get(r, ())
    behind = dict.fromkeys(order, 0.0)  # cost of cutting off everything behind a region that needs memory
    behind[DEFINED] = 0.0
    sources = {region: source for source, region in edges}
    for r in reversed(order):
        if r in needed:
            behind[r] = _UNLIMITED
        behind[sources[r]] += min(limit[r], behind[r])
    came = {DEFINED}
    for r in order:
        if sources[r] in came and limit[r] > behind[r]:
            came.add(r)
    return came, behind[DEFINED]


def _through_graph(
    edges: Mapping[tuple[int, int], float], needed: Collection[int]
) -> tuple[Collection[int], float]:
    """Cut the cheapest edges; return the nodes that the definitions still reach, and the cost of those edges."""
    flow: dict[int, dict[int, float]] = {}
    for (source, region), limit in edges.items():
        _add(flow, source, region, limit)
    for region in sorted(needed):
        _add(flow, region, _NEEDED, _UNLIMITED)
    total = 0.0
    while _NEEDED in (came := _reached(flow)):
        path = _path(came, _NEEDED)
        least = min(flow[a][b] for a, b in path)
        total += least
        if least == _UNLIMITED:
            break
        for a, b in path:
            flow[a][b] -= least
            flow[b][a] += least
    return came.keys(), total


def _add(flow: dict[int, dict[int, float]], a: int, b: int, limit: float) -> None:
    flow.setdefault(a, {})
    flow.setdefault(b, {})
    flow[a][b] = flow[a].get(b, 0.0) + limit
    flow[b].setdefault(a, 0.0)


def _reached(flow: dict[int, dict[int, float]]) -> dict[int, int]:
    """Return {node: the node before it} for all nodes to which the definitions have a way with capacity left, nearest
    first."""
    came = {DEFINED: DEFINED}
    queue = [DEFINED]
    for a in queue:
        for b, left in flow.get(a, {}).items():
            if left > 0 and b not in came:
                came[b] = a
                queue.append(b)
    return came


def _path(came: dict[int, int], end: int) -> list[tuple[int, int]]:
    """Return the edges from the definitions to `end`."""
    path = []
    while end != DEFINED:
        path.append((came[end], end))
        end = came[end]
    return path
