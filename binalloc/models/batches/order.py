"""This module has orders of thread blocks: as which block each block of a grid works.

Hardware deals the blocks of a grid by number: block (x, y, z) of a grid (gx, gy, gz) has the number x + gx (y + gy z).
An order is a permutation of these numbers. The block that is dealt as number `i` does the work of block
`numbers(grid)[i]`. So blocks that use the same data can run at one time, or on one SM.

- `tile:WxH`: the grid's layers fall into tiles of W x H blocks. Tiles come one after the other, row by row, and so do
  the blocks of a tile. Tiles at the right and lower edges are smaller where the sides do not divide the grid. Blocks
  stay in their layer.
- `mod:M`: first the blocks whose numbers are multiples of M, then those with a remainder of 1, and so on. The numbers
  go through all layers, as those of batches do (`formula.py`).
- `stride:N`: for hardware that deals numbers to its S SMs in turn, N consecutive blocks come to the same SM. In each
  group of N S blocks, position k has the block (k mod S) N + k div S of the group. Blocks behind the last whole group
  stay. The numbers go through all layers, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binalloc.errors import UsageError
from binalloc.models.batches.formula import BatchFormula

TILE, MODULUS, STRIDE = "tile", "mod", "stride"
KINDS = (TILE, MODULUS, STRIDE)
EXPECTED = "tile:WxH, mod:M or stride:N, with whole numbers from 1 to the number of blocks"
_TILE = re.compile(r"([0-9]{1,10})x([0-9]{1,10})", re.ASCII)

Ints = NDArray[np.int64]
Three = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class BlockOrder:
    """An order of blocks has its kind and one or two numbers."""

    kind: str  #: one of KINDS
    first: int  #: width of a tile in blocks, the modulus, or the stride
    second: int = 0  #: height of a tile in blocks, 0 for other kinds

    @staticmethod
    def parse(text: str, blocks: int, place: str) -> BlockOrder:
        """Return the order that a user wrote. blocks: of the grid. place: the option or key, for the message. Raises
        UsageError for anything else, and for numbers that are 0 or above the blocks of the grid."""
        kind, _, sides = text.partition(":")
        if found := _TILE.fullmatch(sides) if kind == TILE else None:
            width, height = (int(side) for side in found.groups())
            if 1 <= width <= blocks and 1 <= height <= blocks:
                return BlockOrder(TILE, width, height)
        try:
            return BlockOrder(kind, BatchFormula.parse(text, blocks, "").value)
        except UsageError:  # it knows no tiles
            raise UsageError(f"no order of {blocks:,} blocks", place=place, found=text, expected=EXPECTED) from None

    def __str__(self) -> str:
        """Return the order as a user writes it."""
        return f"{TILE}:{self.first}x{self.second}" if self.kind == TILE else f"{self.kind}:{self.first}"

    def numbers(self, grid: Ints | Three, sms: int) -> Ints:
        """Return the number of the block as which each dealt block works. sms: SMs to which blocks are dealt in turn,
        for a stride."""
        gx, gy, gz = (int(side) for side in grid)
        dealt = np.arange(gx * gy * gz, dtype=np.int64)
        if self.kind == TILE:
            layer = gx * gy
            return dealt // layer * layer + self._tiled(dealt % layer, gx, gy)
        return self._by_modulus(dealt) if self.kind == MODULUS else self._by_stride(dealt, sms)

    def moves(self, grid: Three, sms: int) -> bool:
        """Return whether any block of the grid works as another one."""
        gx, gy, _ = grid
        blocks = math.prod(grid)
        if self.kind == TILE:
            return self.second > 1 and self.first < gx and gy > 1
        if self.kind == MODULUS:
            return 1 < self.first < blocks
        return self.first > 1 and sms > 1 and self.first * sms <= blocks

    def _tiled(self, dealt: Ints, gx: int, gy: int) -> Ints:
        """Return the numbers within a layer of gx x gy blocks."""
        width, height = self.first, self.second
        row = dealt // (gx * height)
        high = np.minimum(height, gy - row * height)  # of the tiles in this row
        left = dealt - row * height * gx
        column = left // (width * high)
        wide = np.minimum(width, gx - column * width)
        within = left - column * width * high
        found: Ints = column * width + within % wide + gx * (row * height + within // wide)
        return found

    def _by_modulus(self, dealt: Ints) -> Ints:
        """Return the numbers class by class of equal remainders; the first classes may have one block more."""
        modulus = self.first
        least, more = divmod(dealt.size, modulus)
        large = more * (least + 1)  # blocks of the classes with one more
        behind = np.maximum(dealt - large, 0)
        rest = np.where(dealt < large, dealt // (least + 1), more + behind // max(least, 1))
        place = np.where(dealt < large, dealt % (least + 1), behind % max(least, 1))
        found: Ints = rest + modulus * place
        return found

    def _by_stride(self, dealt: Ints, sms: int) -> Ints:
        """Return the numbers with each group of blocks turned by its SMs."""
        group = self.first * sms
        k = dealt % group
        turned = dealt - k + k % sms * self.first + k // sms
        return np.where(dealt < dealt.size // group * group, turned, dealt)
