"""Which orders of blocks are suggested for profiles made by hand: grids whose blocks share rows, columns or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from binalloc.models.batches.order import BlockOrder
from binalloc.models.batches.reuse import Reuse
from binalloc.models.batches.suggested import Suggestion, shapes, suggested
from binalloc.models.batches.touches import PageTouches

Three = tuple[int, int, int]
Sectors = Callable[[int, int, int], Iterable[int]]
"""The sectors that block (x, y, z) touches, whole lines of four."""


def whole(lines: Iterable[int]) -> list[int]:
    """The sectors of lines."""
    return [4 * line + k for line in lines for k in range(4)]


def panel(first: int, number: int, of: int) -> range:
    """The lines of one of many panels that begin at a line."""
    return range(first + number * of, first + (number + 1) * of)


def profile(grid: Three, touched: Sectors, held: float, resident: int = 4) -> Reuse:
    """The reuse of a grid, in an L2 of so many lines."""
    gx, gy, gz = grid
    pairs = [
        (sector, x + gx * (y + gy * z))
        for z in range(gz) for y in range(gy) for x in range(gx) for sector in touched(x, y, z)
    ]  # fmt: skip
    pages, numbers = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    return Reuse(PageTouches.of(gx * gy * gz, pages, numbers), 4, held, resident)


def found(grid: Three, touched: Sectors, held: float, *, strides: bool = False, each: int = 2) -> Suggestion:
    """What is suggested for four SMs with so many blocks each."""
    return suggested(profile(grid, touched, held, 4 * each), grid, 4, strides)


def names(of: Suggestion) -> list[str]:
    return list(map(str, of.orders))


def product(x: int, y: int, z: int) -> list[int]:
    """Of a matrix product: a panel of rows and one of columns, and a line of its own."""
    return whole([*panel(0, y, 2), *panel(1000, x, 2), 2000 + 100 * y + x])


def test_blocks_that_share_nothing_have_no_orders() -> None:
    of = found((16, 8, 1), lambda x, y, z: whole([x + 16 * y]), 8)
    assert (of.orders, of.share, of.now) == ([], 0.0, 1.0)


def test_rows_that_l2_holds_have_no_orders() -> None:
    of = found((16, 8, 1), lambda x, y, z: whole([y, 100 + x + 16 * y]), 24)
    assert of.orders == []
    assert of.share == pytest.approx(8 / 136)
    assert of.now == 1.0


def test_columns_that_l2_does_not_hold_are_dealt_one_after_the_other() -> None:
    """A row of 16 blocks touches 32 lines of shared columns and 16 of its own. L2 holds 20, so in the order as it is
    each row fetches all columns again. Rows of four touch 12, rows of two 6, which half of L2 holds."""
    of = found((16, 4, 1), lambda x, y, z: whole([*panel(0, x, 2), 100 + 16 * y + x]), 20)
    assert names(of) == ["tile:2x4", "tile:1x4"]
    assert of.now == pytest.approx((4 * 32 + 64) / (32 + 64))
    assert of.best == 1.0


def test_columns_that_l2_holds_have_no_orders() -> None:
    of = found((16, 4, 1), lambda x, y, z: whole([*panel(0, x, 2), 100 + 16 * y + x]), 64)
    assert of.orders == []
    assert (of.now, of.best) == (1.0, 1.0)


def test_a_tile_of_a_product_is_as_large_as_l2_allows() -> None:
    """In the order as it is each row of blocks fetches all 64 lines of the columns."""
    reuse = profile((32, 32, 1), product, 60)
    of = suggested(reuse, (32, 32, 1), 4, by_stride=False)
    least = min(reuse.fetched(order.numbers((32, 32, 1), 4)) for order in shapes((32, 32, 1)))
    assert of.best == least / reuse.least
    for order in of.orders:
        assert reuse.fetched(order.numbers((32, 32, 1), 4)) <= 1.05 * least
    smaller = found((32, 32, 1), product, 24)
    assert of.now == smaller.now == pytest.approx((32 * 2 + 32 * 64 + 1024) / (2 * 64 + 1024))
    assert of.best < smaller.best < of.now
    assert 1 < min(order.second for order in smaller.orders) < min(order.second for order in of.orders)


def test_columns_through_layers_are_a_modulus() -> None:
    """All blocks of one x share a panel, through all layers; there is one row."""
    of = found((16, 1, 6), lambda x, y, z: whole([*panel(0, x, 2), 100 + 16 * z + x]), 20)
    assert names(of) == ["mod:16"]


def test_no_order_is_suggested_for_a_twentieth() -> None:
    """Of 16 x 33 lines that each row fetches, one is shared with the row above."""
    of = found((16, 4, 1), lambda x, y, z: whole([x, *panel(100, 16 * y + x, 32)]), 100)
    assert of.now > 1.0
    assert of.orders == []


def test_neighbours_that_share_are_a_stride_where_l1_has_memory() -> None:
    """Blocks 2k and 2k + 1 share all that they touch."""

    def pairs(x: int, y: int, z: int) -> list[int]:
        return whole([x // 2])

    assert names(found((64, 1, 1), pairs, 1000, strides=True)) == ["stride:2"]
    assert names(found((64, 1, 1), pairs, 1000, strides=False)) == []
    assert names(found((4, 1, 1), pairs, 1000, strides=True)) == []  # as many blocks as SMs
    assert names(found((64, 1, 1), pairs, 1000, strides=True, each=1)) == []  # never at one time on an SM
    of = found((64, 1, 1), lambda x, y, z: whole([x // 2, *panel(100, x, 6)]), 1000, strides=True)
    assert names(of) == []  # a fourteenth is no tenth


def test_a_grid_of_one_row_has_no_tiles() -> None:
    assert shapes((64, 1, 1)) == []
    assert BlockOrder("tile", 1, 2) in shapes((64, 2, 1))
    assert all(order.moves((6, 8, 1), 4) for order in shapes((6, 8, 1)))
    assert shapes((1, 8, 1)) == []
    assert shapes((1, 8, 4)) == []
