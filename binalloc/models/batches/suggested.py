"""This module suggests orders of blocks that are worth a run, from the sectors of lines that each block touches.

The rule, after what `reuse.py` estimates of each order:

1. Where no sector is touched by two blocks, no order is suggested: neighbours share nothing.
2. Of tiles whose sides are powers of two or the grid's own, the sectors are estimated that L2 fetches, and in three
   dimensions those of columns through all layers (`mod` by the grid's width; in one layer that is a tile one block
   wide). Orders with at most 0.95 of what the order as it is fetches are *better*.
3. Of those that come within 5 % of the best one three are suggested at most: the widest tile (of equal ones the
   highest) that would do so with half of L2, too, which is nearest to the order as it is; the smallest tile (of equal
   ones the widest), which has the smallest working set; and columns.
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
HALF = 0.5  # of L2: a wide tile that needs more of it fails where blocks run out of order
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
    least = min(fetched.values(), default=now)
    near = [order for order, count in fetched.items() if count <= min(BETTER * now, NEAR * least)]
    sure = {order for order in near if reuse.fetched(order.numbers(grid, sms), HALF) <= NEAR * least}
    found, best = _few(near, sure), least if near else now
    if by_stride:
        asked = {order: reuse.asked(order.numbers(grid, sms), sms) for order in _strides(grid, sms)}
        stride = min(asked, key=lambda order: asked[order], default=None)
        if stride is not None and asked[stride] <= FEWER_ASKED * reuse.asked(dealt, sms):
            found.append(stride)
    return Suggestion(found, reuse.shared / reuse.least, now / reuse.least, best / reuse.least)


def _few(near: list[BlockOrder], sure: set[BlockOrder]) -> list[BlockOrder]:
    """Return what is suggested of the orders near the best. sure: those that are near with half of L2, too."""
    tiles = [order for order in near if order.kind == TILE]
    wide = sorted((order for order in tiles if order in sure), key=lambda order: (order.first, order.second))
    small = sorted(tiles, key=lambda order: (order.first * order.second, -order.first))
    columns = [order for order in near if order.kind == MODULUS]
    return list(dict.fromkeys([*wide[-1:], *small[:1], *columns]))


def _strides(grid: Three, sms: int) -> list[BlockOrder]:
    return [order for order in (BlockOrder(STRIDE, n) for n in STRIDES) if order.moves(grid, sms)]
