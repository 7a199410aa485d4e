"""This module colours memory variables with slots, highest degree first, as the unified paper does (section 3.2.2).

Needs: interference bitsets of one procedure's memory variables. Leaves: a slot for each variable, or -1 where none was
free. The paper says that a chordal graph never spills. Highest degree first alone does not guarantee that: ties on a
path of six can cost a third colour. So where it leaves a variable without a slot, an order from maximum cardinality
search is tried, too, which is optimal on chordal graphs, and the cheaper result is kept. Deterministic; O(variables *
degree).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from binalloc.bitset import bits, lowest


def colour_slots(
    adjacency: Sequence[int],
    wanted: int,
    slots: int,
    caps: Mapping[int, int] | None = None,
    cost: Sequence[float] | None = None,
) -> dict[int, int]:
    """Return the slot of each variable in the bitset `wanted`; -1 for a variable that must go to local memory.

    slots: number of slots. caps: for some variables a smaller exclusive upper limit on the slot: they must lie low
    because they cannot be moved at a call. cost: decides between two incomplete colourings (default: one each).

    Variables are taken by falling degree within `wanted` (capped ones first, the tightest first; ties: the lower
    number). Among free slots the lowest that some variable already uses is preferred; otherwise the lowest free one is
    taken.
    """
    caps = caps or {}
    order = sorted(bits(wanted), key=lambda v: (caps.get(v, slots), -(adjacency[v] & wanted).bit_count(), v))
    first = _colour_in(order, adjacency, slots, caps)
    if -1 not in first.values():
        return first
    second = _colour_in(search_order(adjacency, wanted), adjacency, slots, caps)

    def lost(result: dict[int, int]) -> float:
        return sum(1.0 if cost is None else cost[v] for v, slot in sorted(result.items()) if slot < 0)

    return second if lost(second) < lost(first) else first


def _colour_in(
    order: Sequence[int], adjacency: Sequence[int], slots: int, caps: Mapping[int, int]
) -> dict[int, int]:
    """Give each variable a slot, in that order; -1 where none is free."""
    members: list[int] = [0] * slots
    used = 0
    result: dict[int, int] = {}
    for v in order:
        free = 0
        for slot in range(max(0, min(slots, caps.get(v, slots)))):
            if not members[slot] & adjacency[v]:
                free |= 1 << slot
        if not free:
            result[v] = -1
            continue
        slot = lowest(free & used or free)
        used |= 1 << slot
        members[slot] |= 1 << v
        result[v] = slot
    return result


def search_order(adjacency: Sequence[int], wanted: int) -> list[int]:
    """Return the variables in the order of a maximum cardinality search.

    Each next variable has the most neighbours already visited (ties: lower number). On a chordal graph this is the
    reverse of a perfect elimination order, and colouring in it is optimal.
    """
    left = wanted
    visited = dict.fromkeys(bits(wanted), 0)
    queue = [(0, v) for v in visited]
    order = []
    while queue:
        count, pick = heapq.heappop(queue)
        if -count != visited[pick] or not left >> pick & 1:
            continue  # more of its neighbours are visited by now
        left ^= 1 << pick
        order.append(pick)
        for v in bits(adjacency[pick] & left):
            visited[v] += 1
            heapq.heappush(queue, (-visited[v], v))
    return order
