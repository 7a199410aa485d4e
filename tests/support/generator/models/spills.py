"""Small random problems of what leaves the registers and how it comes back, comeback by comeback."""

from __future__ import annotations

import random
from math import inf

import numpy as np
from numpy.typing import NDArray

from binalloc.models.allocation.spills import NONE, Comeback, Needless, RegionWay, SpillLeaf, Spills
from binalloc.models.allocation.stores import DEFINED

Problem = tuple[Spills, NDArray[np.int32], NDArray[np.int32]]
POINTS = 10
WEIGHTS = (1.0, 1.0, 8.0)


def spill_problem(seed: int) -> Problem:
    """Two or three values of one or two regions each."""
    rng = random.Random(f"spills {seed}")
    slots = rng.randrange(3)
    out = Spills([], [], 1.0, 4.0 if slots else 1.0, slots)
    for v in range(rng.randint(2, 3)):
        cuts = sorted(rng.sample(range(POINTS + 1), 2 * rng.randint(1, 2)))
        first = len(out.value)
        for start, end in zip(cuts[::2], cuts[1::2], strict=True):
            out.value.append(v)
            out.points.append([(start, end)])
        mine = range(first, len(out.value))
        for r in mine:
            out.ways += [RegionWay(DEFINED, r, rng.choice(WEIGHTS))] if r == first or rng.random() < 0.4 else []
            out.ways += [RegionWay(s, r, rng.choice(WEIGHTS), rng.random() < 0.5) for s in mine if s != r]
        if len(mine) > 1 and rng.random() < 0.2:
            out.written.add((first, mine[-1]))
        if rng.random() < 0.1:
            out.open.add(first)
    for _ in range(rng.randrange(3)):
        _needless(out, rng)
    for r in range(len(out.value)):
        for _ in range(rng.randint(1, 2)):
            out.comebacks.append(_comeback(out, r, rng))
    pressure = np.zeros(POINTS, np.int32)
    for pieces in out.points:
        for start, end in pieces:
            pressure[start:end] += 1
    return out, pressure, np.full(POINTS, rng.randint(0, 2), np.int32)


def _needless(out: Spills, rng: random.Random) -> None:
    count = len(out.value)
    behind, before = rng.sample(range(count), 2)
    after = rng.choice([NONE, *(r for r, v in enumerate(out.value) if v == out.value[before] and r != before)])
    point = rng.randrange(POINTS - 1)
    if all(point not in item.points and point + 1 not in item.points for item in out.needless):
        out.needless.append(Needless((behind,), ((before, after),), (point, point + 1)))


def _comeback(out: Spills, r: int, rng: random.Random) -> Comeback:
    others = [x for x, v in enumerate(out.value) if v == out.value[r] and x != r]
    strangers = [x for x, v in enumerate(out.value) if v != out.value[r]]
    to = rng.choice([NONE, *others])
    mine = [n for n, item in enumerate(out.needless) if item.operands[0][0] == r]
    item = rng.choice(mine) if to == NONE and mine and rng.random() < 0.8 else NONE
    if rng.random() < 0.5:
        return Comeback(r, to, rng.choice(WEIGHTS), item=item)
    leaves = []
    for leaf in rng.sample(strangers, rng.randrange(2)):
        leaves.append(SpillLeaf(out.value[leaf], (leaf,), rng.choice([inf, 0.5, 2.0])))
    return Comeback(r, to, rng.choice(WEIGHTS), rng.choice([0.5, 1.0, 1.5]), tuple(leaves), item)
