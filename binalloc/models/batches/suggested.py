"""This module suggests orders of blocks that are worth a run, from the sectors of lines that each block touches.

The rule, after what `reuse.py` estimates of each order:

1. Where no sector is touched by two blocks, no order is suggested: neighbours share nothing.
2. Of tiles whose sides are powers of two or the grid's own, the sectors are estimated that L2 fetches, and in three
   dimensions those of columns through all layers (`mod` by the grid's width; in one layer that is a tile one block
   wide). Orders with at most 0.95 of what the order as it is fetches are *better*.
3. Of those that come within 5 % of the best one three are suggested at most: the widest tile (of equal ones the
   highest), which is nearest to the order as it is; the smallest tile (of equal ones the widest), which has the
   smallest working set; and columns.
4. A stride is suggested, of 2, 4 and 8 the best, where SMs would ask L2 for at most 0.9 of the sectors: neighbours on
   one SM share its L1. It needs all SMs of the machine, and an L1 that caches global memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binalloc.models.batches.order import MODULUS, STRIDE, TILE, BlockOrder, Three
from binalloc.models.batches.reuse import Reuse

BETTER = 0.95
"""An order is worth a run if it fetches this share at most: half of the tenth of traffic for which an order is taken,
since estimates are rough."""
NEAR = 1.05  # estimates within 5 % are alike
FEWER_ASKED = 0.9  # L1 has to spare L2 a tenth: chosen by hand, as for DRAM
STRIDES = (2, 4, 8)
"""Strides that are estimated: up to as many blocks as an SM of today holds of large ones."""


@dataclass(frozen=True)
class Suggestion:
    """A suggestion has the orders that are worth a run, and what was estimated."""

    orders: list[BlockOrder]
    share: float  #: of the touched sectors, those that several blocks touch
    now: float  #: fetches of the order as it is, over the touched sectors
    best: float  #: fetches of the best order, over the touched sectors; `now` without orders


def shapes(grid: Three) -> list[BlockOrder]:
    """Return the orders that are estimated."""
    wide, high = _sides(grid[0]), _sides(grid[1])
    found = [BlockOrder(TILE, x, y) for x in wide if x < grid[0] for y in high if y > 1]
    return [*found, BlockOrder(MODULUS, grid[0])] if grid[0] > 1 and grid[2] > 1 else found


def _sides(side: int) -> list[int]:
    """Return the powers of two below a side of the grid, and the side."""
    return [*(1 << bit for bit in range((side - 1).bit_length())), side]


def suggested(reuse: Reuse, grid: Three, sms: int, by_stride: bool) -> Suggestion:
    """Return the orders to be run. sms: of the machine. by_stride: strides are possible."""
    if not reuse.shared:
        return Suggestion([], 0.0, 1.0, 1.0)
    dealt = np.arange(reuse.sectors.blocks, dtype=np.int64)
    now = reuse.fetched(dealt)
    fetched = {order: reuse.fetched(order.numbers(grid, sms)) for order in shapes(grid)} if now > reuse.least else {}
    found = _best({order: count for order, count in fetched.items() if count <= BETTER * now})
    best = min((fetched[order] for order in found), default=now)
    if by_stride:
        asked = {order: reuse.asked(order.numbers(grid, sms), sms) for order in _strides(grid, sms)}
        least = min(asked, key=lambda order: asked[order], default=None)
        if least is not None and asked[least] <= FEWER_ASKED * reuse.asked(dealt, sms):
            found.append(least)
    return Suggestion(found, reuse.shared / reuse.least, now / reuse.least, best / reuse.least)


def _best(fetched: dict[BlockOrder, int]) -> list[BlockOrder]:
    """Return what is suggested of the better ones."""
    if not fetched:
        return []
    least = min(fetched.values())
    near = [order for order, count in fetched.items() if count <= NEAR * least]
    tiles = [order for order in near if order.kind == TILE]
    widest = max(tiles, key=lambda order: (order.first, order.second), default=None)
    smallest = min(tiles, key=lambda order: (order.first * order.second, -order.first), default=None)
    columns = [order for order in near if order.kind == MODULUS]
    return list(dict.fromkeys([*(order for order in (widest, smallest) if order is not None), *columns]))


def _strides(grid: Three, sms: int) -> list[BlockOrder]:
    return [order for order in (BlockOrder(STRIDE, n) for n in STRIDES) if order.moves(grid, sms)]
