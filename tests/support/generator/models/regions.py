"""Small random problems of what leaves the registers, at one price of memory and at two."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.homes import Homes
from binalloc.models.allocation.regions import Border, Crossing, Regions
from binalloc.models.allocation.stores import DEFINED

Problem = tuple[Regions, NDArray[np.int32], NDArray[np.int32]]
POINTS = 12


def problem(seed: int) -> Problem:
    """Some values of one to four regions, with borders, ways between them, recomputation and what that reads."""
    rng = random.Random(seed)
    out = Regions()
    for v in range(rng.randint(2, 4)):
        first = len(out.value)
        cuts = sorted(rng.sample(range(POINTS + 1), 2 * rng.randint(1, 3)))
        for k, (start, end) in enumerate(zip(cuts[::2], cuts[1::2], strict=True)):
            out.value.append(v)
            out.points.append([(start, end)])
            out.exits.append(rng.choice([0.5, 1, 2, 10, 40]))
            out.stored.append(rng.random() < 0.8)
            out.free.append(not out.stored[-1] or rng.random() < 0.2)
            out.borders.append([])
            out.together.append([])
            out.ways.append([(DEFINED, rng.choice([1.0, 10.0]))] if not k or rng.random() < 0.4 else [])
        mine = range(first, len(out.value))
        for r in mine:
            for source in mine:
                if source != r and rng.random() < 0.5:
                    out.ways[r].append((source, rng.choice([1.0, 10.0])))
        for a, b in combinations(mine, 2):
            if rng.random() < 0.4:
                one, other = rng.choice([0.0, 1.0, 5.0]), rng.choice([0.0, 1.0, 5.0])
                out.borders[a].append(Border(b, one, other))
                out.borders[b].append(Border(a, other, one))
        out.families += [(r,) for r in mine] + ([tuple(mine)] if len(mine) > 1 else [])
    for a, b in combinations(range(len(out.value)), 2):
        if out.value[a] != out.value[b] and rng.random() < 0.2:
            cost = rng.choice([1.0, 4.0])
            out.together[a].append((b, cost))
            out.together[b].append((a, cost))
    for a, mine in enumerate(out.borders):
        for border in mine:
            leaf = rng.randrange(len(out.value))
            if out.value[leaf] != out.value[a] and rng.random() < 0.5:
                out.crossings.append(Crossing(a, border.region, leaf, rng.choice([1.0, 4.0])))
    pressure = np.zeros(POINTS, np.int32)
    for pieces in out.points:
        for start, end in pieces:
            pressure[start:end] += 1
    capacity = np.full(POINTS, rng.randint(1, 3), np.int32)
    return out, pressure, capacity


def two_prices(seed: int) -> tuple[Homes, NDArray[np.int32], NDArray[np.int32]]:
    """As `problem`, with few slots; in local memory all costs four times as much, or what recomputing costs."""
    slot, pressure, capacity = problem(seed)
    rng = random.Random(f"homes {seed}")
    local = Regions(slot.value, slot.points, families=slot.families)
    for r, cost in enumerate(slot.exits):
        again = slot.stored[r] and rng.random() < 0.3
        local.exits.append(cost * (1 if not slot.stored[r] else 2 if again else 4))
        local.stored.append(slot.stored[r] and not again)
        local.free.append(slot.free[r] or again)
        local.borders.append([Border(b.region, 4 * b.out, 4 * b.back) for b in slot.borders[r]])
        local.ways.append([(source, 4 * price) for source, price in slot.ways[r]])
        local.together.append([(other, price * 2) for other, price in slot.together[r]])
    local.crossings = [Crossing(c.region, c.other, c.leaf, 3 * c.cost) for c in slot.crossings]
    return Homes(slot, lambda: local, rng.randint(1, 2)), pressure, capacity
