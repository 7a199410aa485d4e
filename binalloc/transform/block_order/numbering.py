"""The code that computes as which block a block works is made here, for one grid and one order.

Needs a grid and an order; leaves steps (`arithmetic.py`). The numbers are those of `models/batches/order.py`. For any
other grid the code gives the block's own place. Divisions are by numbers that the grid decides, so there are none at
run time. Where a division is by one number or a smaller one, at the grid's edges, the quotients by both are computed,
the second one of what lies behind the edge: the greater one is right.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from binalloc.isa.interface.instruction_set import InstructionSet
from binalloc.models.batches.order import MODULUS, TILE, BlockOrder, Three
from binalloc.transform.block_order.arithmetic import Arithmetic, Operand, Value

GRID = 3
"""What the instruction interface adds to the axes of the grid."""


class Numbering:
    """A numbering has the steps for one grid and one order. sms: to which hardware deals blocks in turn. on: the grid
    on which blocks get their new places, where it is another one."""

    def __init__(
        self, isa: InstructionSet, order: BlockOrder, grid: Three, sms: int, on: Three | None = None
    ) -> None:
        self.order, self.grid, self.sms, self.on = order, grid, sms, on or grid
        self.steps = Arithmetic(isa)
        self._place = {axis - GRID: name for name, axis in isa.limits.places.items() if axis >= GRID}
        self._size = {axis - GRID: name for name, axis in isa.limits.sizes.items() if axis >= GRID}

    def computed(self, axes: Collection[int]) -> dict[int, Value]:
        """Return the block's place along some axes of the grid, as values."""
        found = self._tiled() if self.order.kind == TILE else self._split(self._numbered())
        own = {axis: self.steps.special(self._place[axis]) for axis in axes}
        mask = self._fits()
        return {axis: self.steps.chosen(mask, found[axis], own[axis]) for axis in axes}

    def moved(self) -> set[int]:
        """Return the axes along which a block's place may change."""
        axes = (0, 1) if self.order.kind == TILE else range(3)
        return {axis for axis in axes if self.grid[axis] > 1}

    def _fits(self) -> Value:
        """Return a mask that has all bits where the grid is the one of this numbering."""
        steps = self.steps
        found: Operand = 0
        for axis, side in enumerate(self.on):
            found = steps.differ(steps.special(self._size[axis]), side, found)
        return steps.zero_mask(steps.number(found))

    def _dealt(self, axes: int) -> Operand:
        """Return the number that the block was dealt as, of the first axes alone."""
        steps = self.steps
        found: Operand = 0
        for axis in reversed(range(axes)):
            side = self.grid[axis]
            if side > 1:  # else there is nothing to add, and nothing to multiply with
                found = steps.times(found, side, steps.special(self._place[axis]))
        return found

    def _tiled(self) -> dict[int, Operand]:
        gx, gy, _ = self.grid
        wide, high = min(self.order.first, gx), min(self.order.second, gy)
        steps, dealt = self.steps, self._dealt(2)
        row = steps.quotient(dealt, gx * high, gx * gy - 1)
        left = steps.times(row, -gx * high, dealt)
        rows, low = divmod(gy, high)
        column = steps.quotient(left, wide * high, gx * high - 1)
        height: Operand = high
        if low:
            height = steps.at_most(steps.times(row, -high, gy), high)
            beyond = steps.beyond(dealt, rows * high * gx)
            column = steps.greater(column, steps.quotient(beyond, wide * low, gx * low - 1))
        within = steps.product(steps.times(column, -wide), height, left)
        columns, narrow = divmod(gx, wide)
        down = steps.quotient(within, wide, wide * high - 1)
        width: Operand = wide
        if narrow:
            beyond = steps.beyond(left, steps.times(height, columns * wide))
            down = steps.greater(down, steps.quotient(beyond, narrow, narrow * high - 1))
            width = steps.at_most(steps.times(column, -wide, gx), wide)
        across = steps.product(steps.times(down, -1), width, within)
        return {0: steps.times(column, wide, across), 1: steps.times(row, high, down)}

    def _numbered(self) -> Operand:
        """Return the number of the block as which the block works."""
        dealt = self._dealt(3)
        return self._by_modulus(dealt) if self.order.kind == MODULUS else self._by_stride(dealt)

    def _by_modulus(self, dealt: Operand) -> Operand:
        steps, blocks = self.steps, math.prod(self.grid)
        least, more = divmod(blocks, self.order.first)
        if more:
            rest = steps.quotient(dealt, least + 1, blocks - 1)
            rest = steps.greater(rest, steps.quotient(steps.beyond(dealt, more), least, blocks - 1))
            place = steps.times(steps.at_most(rest, more), -1, steps.times(rest, -least, dealt))
        else:
            rest = steps.quotient(dealt, least, blocks - 1)
            place = steps.times(rest, -least, dealt)
        return steps.times(place, self.order.first, rest)

    def _by_stride(self, dealt: Operand) -> Operand:
        steps, blocks, stride = self.steps, math.prod(self.grid), self.order.first
        group = stride * self.sms
        whole = blocks // group * group
        if not whole:
            return dealt
        k = steps.times(steps.quotient(dealt, group, blocks - 1), -group, dealt)
        turn = steps.quotient(k, self.sms, group - 1)
        turned = steps.times(steps.times(turn, -self.sms, k), stride, turn)
        distance = steps.times(k, -1, turned)
        if whole < blocks:
            behind = steps.beyond(dealt, whole - 1)  # 0 within whole groups
            distance = steps.masked(distance, steps.zero_mask(steps.number(behind)))
        return steps.plus(dealt, distance)

    def _split(self, number: Operand) -> dict[int, Operand]:
        """Return the places along all axes of a block with a number."""
        gx, gy, gz = self.grid
        steps = self.steps
        z = steps.quotient(number, gx * gy, gx * gy * gz - 1)
        number = steps.times(z, -gx * gy, number)
        y = steps.quotient(number, gx, gx * gy - 1)
        return {0: steps.times(y, -gx, number), 1: y, 2: z}
