"""This module chooses the values to spill where a value is in a register or in memory for all its life.

Needs the regions of all live ranges (`regions`), which leave all together for each value, and pressure and capacity at
each point. Leaves the values that go to memory: cheapest per relieved point first, after Chaitin's cost by degree
(reference [5] of the unified paper). Then the values that later choices made needless come back, most expensive first.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.regions import Regions


def whole_values(regions: Regions, pressure: NDArray[np.int32], capacity: NDArray[np.int32]) -> list[int]:
    """Return the values to keep in memory, ascending. Where even all of them are not enough, some points stay above
    capacity."""
    room = capacity - pressure
    left = int(np.count_nonzero(room < 0))
    mine = regions.of_values

    def price(v: int) -> float:
        """Return the cost of keeping value v in memory."""
        spilled = set(mine[v])
        stores = regions.stores(mine[v], spilled, [r for r in mine[v] if regions.stored[r]])[1]
        return sum(regions.exits[r] for r in mine[v]) + stores

    def gain(v: int) -> int:
        """Return at how many points over capacity value v lives."""
        return sum(int(np.count_nonzero(room[s:e] < 0)) for r in mine[v] for s, e in regions.points[r])

    def move(v: int, by: int) -> int:
        """Add `by` to the room at all points of v, and return by how many the points over capacity increase."""
        more = 0
        for r in mine[v]:
            for start, end in regions.points[r]:
                part = room[start:end]
                more -= int(np.count_nonzero(part < 0))
                part += by
                more += int(np.count_nonzero(part < 0))
        return more

    gains = {v: found for v in mine if (found := gain(v))}
    cost = {v: price(v) for v in gains}
    queue = [(cost[v] / found, cost[v], v) for v, found in gains.items()]
    heapq.heapify(queue)
    spilled: dict[int, None] = {}
    while queue and left:
        stored, _, v = heapq.heappop(queue)
        found = gain(v)  # gains only fall, so a stale one is put back when it comes up
        if found and cost[v] / found > stored:
            heapq.heappush(queue, (cost[v] / found, cost[v], v))
        elif found:
            left += move(v, 1)
            spilled[v] = None
    for v in sorted(spilled, key=lambda v: (-cost[v], v)):
        if all(np.all(room[s:e] > 0) for r in mine[v] for s, e in regions.points[r]):
            move(v, -1)
            del spilled[v]
    return sorted(spilled)
