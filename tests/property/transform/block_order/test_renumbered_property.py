"""Kernels in random orders on random grids: each is proven for its order, and for no other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binalloc.verify.block_order.check import check_order
from tests.support.kits.block_order import CALLED, GRIDS, PLACES, orders, renumbered
from tests.support.programs.builder import program


@pytest.mark.parametrize("text", [PLACES, CALLED])
@given(data=st.data(), grid=GRIDS, sms=st.integers(1, 9))
def test_it_is_proven_for_its_order_alone(text: str, data: st.DataObject, grid: tuple[int, int, int], sms: int) -> None:
    blocks = math.prod(grid)
    order, other = data.draw(orders(blocks)), data.draw(orders(blocks))
    module = program(text)
    made = renumbered(module, str(order), grid, sms).module
    report = check_order(module, made, "k", str(order), grid, sms)
    assert report.ok, str(report)
    assert report.stats["blocks"] == blocks
    if text == PLACES:
        same = np.array_equal(order.numbers(grid, sms), other.numbers(grid, sms))
        assert check_order(module, made, "k", str(other), grid, sms).ok == same
