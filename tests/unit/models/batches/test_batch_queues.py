"""Batches of blocks, and their queues: the issue's example, and all grids against a slow definition."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binalloc.emulator.policies.dispatchers.serial import block_at
from binalloc.errors import UsageError
from binalloc.models.batches.formula import MODULUS, NONE, STRIDE, BatchFormula
from binalloc.models.batches.queues import first_places, queues


def test_ten_blocks_three_sms_stride_two() -> None:
    found = queues(BatchFormula(STRIDE, 2), 10, 3)
    assert [list(each) for each in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


FORMULAS = st.builds(BatchFormula, st.sampled_from((STRIDE, MODULUS)), st.integers(1, 40))


@given(FORMULAS, st.integers(1, 300), st.integers(1, 40))
def test_each_block_is_in_one_queue_and_no_batch_in_two(formula: BatchFormula, blocks: int, sms: int) -> None:
    formula = BatchFormula(formula.kind, min(formula.value, blocks))
    order = formula.in_order(blocks)
    found = [order[each.start : each.stop].tolist() for each in queues(formula, blocks, sms)]
    assert sorted(chain.from_iterable(found)) == list(range(blocks))
    owners = [{int(b) for b in formula.batch_of(np.array(each, np.int64))} for each in found]
    assert sum(map(len, owners)) == formula.count(blocks)
    assert max(map(len, owners)) - min(map(len, owners)) <= 1
    assert [len(o) for o in owners] == sorted((len(o) for o in owners), reverse=True)


class _Device:
    """A stand-in for the device's record."""

    def __init__(self, formula: BatchFormula, blocks: int) -> None:
        self.blocks = blocks
        self.batch_modulus = formula.value if formula.kind == MODULUS else 0


@given(FORMULAS, st.integers(1, 300))
def test_the_device_finds_the_block_at_each_place(formula: BatchFormula, blocks: int) -> None:
    formula = BatchFormula(formula.kind, min(formula.value, blocks))
    g = _Device(formula, blocks)
    assert [block_at(g, i) for i in range(blocks)] == formula.in_order(blocks).tolist()  # type: ignore[arg-type]


@given(FORMULAS, st.integers(1, 300))
def test_the_first_place_of_each_batch(formula: BatchFormula, blocks: int) -> None:
    formula = BatchFormula(formula.kind, min(formula.value, blocks))
    batches = formula.batch_of(formula.in_order(blocks)).tolist()
    places = first_places(formula, blocks, range(formula.count(blocks) + 1))
    assert places == [batches.index(b) for b in range(formula.count(blocks))] + [blocks]


def test_without_a_formula_each_block_is_a_batch() -> None:
    nothing = BatchFormula(NONE)
    assert nothing.count(5) == 5
    assert nothing.in_order(5).tolist() == [0, 1, 2, 3, 4]
    assert [list(each) for each in queues(nothing, 5, 2)] == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize("text", ["stride:1", "stride:12", "mod:1", "mod:12"])
def test_what_users_write_is_what_is_read(text: str) -> None:
    assert str(BatchFormula.parse(text, 12, "--batches")) == text


@pytest.mark.parametrize(
    "text", ["", "auto", "stride", "stride:", "stride:0", "stride:13", "mod:0", "mod:13", "mod:-1", "mod:1.5", "tile:2",
             "stride:²", "stride: 1", "STRIDE:1", "mod:" + "1" * 5000],
)  # fmt: skip
def test_anything_else_is_refused_with_what_could_be_written(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        BatchFormula.parse(text, 12, "--batches")
    assert "stride:N or mod:M" in str(caught.value)
