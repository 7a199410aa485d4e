"""Spill to pressure: which values leave the registers so that no program point needs more than there are.

Needs: for every value the program points where it is live and where it is accessed (bitsets), for every point its
register capacity. Leaves: the set of groups to keep in memory. A group in memory still takes registers where it is
accessed, for the reload or the value about to be stored. The choice is greedy: most relieved excess per cost.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Candidate:
    """A group that may be spilled. relieved: per member value the bitset of points where spilling frees a register.

    cost: loop-weighted cost of its reloads and stores (or recomputations).
    """

    group: int
    relieved: tuple[int, ...]
    cost: float


def to_bits(mask: int, points: int) -> NDArray[np.uint8]:
    """A bitset as an array of 0 and 1, index = point."""
    raw = np.frombuffer(mask.to_bytes((points + 7) // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little")[:points]


def from_bits(flags: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def choose_spills(
    pressure: NDArray[np.int64], capacity: NDArray[np.int64], candidates: list[Candidate]
) -> tuple[list[int], NDArray[np.int64]]:
    """Groups to spill, in the order chosen, and the pressure that is left.

    Stops when no point is over capacity or no candidate relieves one (the caller then learns from colouring that the
    budget is infeasible).
    """
    pressure = pressure.copy()
    points = len(pressure)
    chosen: list[int] = []
    over = from_bits(pressure > capacity)

    def key(candidate: Candidate) -> tuple[float, float, int]:
        gain = sum((mask & over).bit_count() for mask in candidate.relieved)
        return -gain / (candidate.cost + 1e-9), candidate.cost, candidate.group

    # what a candidate relieves only shrinks while others are chosen, so a stale key is put back when it is up
    queue = [(key(candidate), number) for number, candidate in enumerate(candidates)]
    heapq.heapify(queue)
    while queue and over:
        stored, number = heapq.heappop(queue)
        now = key(candidates[number])
        if not now[0]:
            continue
        if now != stored:
            heapq.heappush(queue, (now, number))
            continue
        chosen.append(candidates[number].group)
        for mask in candidates[number].relieved:
            pressure -= to_bits(mask, points)
        over = from_bits(pressure > capacity)
    return _drop_needless(chosen, candidates, pressure, capacity)


def _drop_needless(
    chosen: list[int], candidates: list[Candidate], pressure: NDArray[np.int64], capacity: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.int64]]:
    """Take back spills that later ones made superfluous, dearest first."""
    points = len(pressure)
    by_group = {c.group: c for c in candidates}
    kept = set(chosen)
    for group in sorted(chosen, key=lambda g: (-by_group[g].cost, g)):
        restored = pressure.copy()
        for mask in by_group[group].relieved:
            restored += to_bits(mask, points)
        if not np.any((restored > capacity) & (restored > pressure)):
            pressure = restored
            kept.discard(group)
    return [g for g in chosen if g in kept], pressure
