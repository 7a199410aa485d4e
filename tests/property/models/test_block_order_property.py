"""Orders of blocks against their definitions, written as loops over the blocks of a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binalloc.errors import UsageError
from binalloc.models.batches.order import BlockOrder
from binalloc.verify.block_order.orders import numbers_of
from tests.support.kits.block_order import GRIDS, orders


def by_definition(order: BlockOrder, grid: tuple[int, int, int], sms: int) -> list[int]:
    """The numbers of the blocks, in the order in which they are dealt."""
    gx, gy, gz = grid
    blocks = gx * gy * gz
    if order.kind == "mod":
        return [block for rest in range(order.first) for block in range(rest, blocks, order.first)]
    if order.kind == "stride":
        found = list(range(blocks))
        size = order.first * sms
        for group in range(0, blocks - size + 1, size):
            for k in range(size):
                found[group + k] = group + k % sms * order.first + k // sms
        return found
    found = []
    for z in range(gz):
        for top in range(0, gy, order.second):
            for left in range(0, gx, order.first):
                for y in range(top, min(top + order.second, gy)):
                    found += [x + gx * (y + gy * z) for x in range(left, min(left + order.first, gx))]
    return found


@given(st.data(), GRIDS, st.integers(1, 9))
def test_orders_are_what_they_are_defined_as(data: st.DataObject, grid: tuple[int, int, int], sms: int) -> None:
    blocks = math.prod(grid)
    order = data.draw(orders(blocks))
    wanted = by_definition(order, grid, sms)
    assert sorted(wanted) == list(range(blocks))
    assert order.numbers(grid, sms).tolist() == wanted
    checked = numbers_of(str(order), grid, sms)
    assert checked is not None
    assert checked.tolist() == wanted
    assert order.moves(grid, sms) == (wanted != list(range(blocks)))
    assert BlockOrder.parse(str(order), blocks, "here") == order


def test_orders_of_a_small_grid() -> None:
    """6 x 2 blocks: written down by hand."""
    assert BlockOrder("tile", 4, 2).numbers((6, 2, 1), 8).tolist() == [0, 1, 2, 3, 6, 7, 8, 9, 4, 5, 10, 11]
    assert BlockOrder("mod", 5).numbers((6, 2, 1), 8).tolist() == [0, 5, 10, 1, 6, 11, 2, 7, 3, 8, 4, 9]
    assert BlockOrder("stride", 2).numbers((11, 1, 1), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10]


@pytest.mark.parametrize("text", [
    "tile:0x2", "tile:2x0", "tile:2", "tile:13x1", "mod:0", "mod:13", "stride:0", "stride:13", "stride:", "", "row:2",
    "tile:2x2x2", "mod:-1", "tile:\u0662x2",
])  # fmt: skip
def test_what_is_no_order_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as error:
        BlockOrder.parse(text, 12, "--block-order")
    assert "no " in error.value.message
    assert error.value.found == text


@pytest.mark.parametrize("text", ["tile:0x2", "mod:0", "tile:2", "stride:-1", "none", "tile:2x2 "])
def test_the_checker_knows_no_other_orders(text: str) -> None:
    assert numbers_of(text, (4, 4, 1), 2) is None


def test_numbers_are_whole() -> None:
    assert BlockOrder("mod", 3).numbers((7, 1, 1), 1).dtype == np.int64
