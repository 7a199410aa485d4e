"""This module says which batch each thread block belongs to.

A batch is a group of blocks that touch the same pages. After "Thread Batching for High-performance Energy-efficient GPU
Memory Design", section 3.1: consecutive blocks form a batch (a stride), or blocks whose numbers are equal modulo some
number. Block (x, y) of a grid has the number x + y * gridDim.x; a third dimension continues it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binalloc.errors import Hint, UsageError

STRIDE, MODULUS, NONE = "stride", "modulus", "none"
KINDS = (STRIDE, MODULUS, NONE)
EXPECTED = "stride:N or mod:M, with a whole number from 1 to the number of blocks"
EACH_BLOCK = "stride:1"  # how a user writes that each block is a batch of its own
AUTO = "auto"  # how a user writes that batches are to be found
_SPELLINGS = {"stride": STRIDE, "mod": MODULUS}

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BatchFormula:
    """A formula gives the batch of a block from the block's number."""

    kind: str  #: one of KINDS
    value: int = 0  #: the stride or the modulus; 0 where no formula fits

    @staticmethod
    def parse(text: str, blocks: int, place: str | Hint) -> BatchFormula:
        """Return the formula that a user wrote as `stride:N` or `mod:M`. Raises UsageError for anything else, and for a
        number that is 0 or above the blocks of the grid. place: the option or key, for the message."""
        name, _, value = text.partition(":")
        if name not in _SPELLINGS or not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= blocks:
            raise UsageError(f"no batches of {blocks} blocks", place=place, found=text, expected=EXPECTED)
        return BatchFormula(_SPELLINGS[name], int(value))

    def __str__(self) -> str:
        """Return the formula as a user writes it."""
        return "none" if self.kind == NONE else f"{'mod' if self.kind == MODULUS else self.kind}:{self.value}"

    def count(self, blocks: int) -> int:
        """Return how many batches a grid of so many blocks has. Without a formula each block is one."""
        if self.kind == MODULUS:
            return min(self.value, blocks)
        return blocks if self.kind == NONE else -(-blocks // self.value)

    def batch_of(self, blocks: Ints) -> Ints:
        """Return the batch of each block number."""
        if self.kind == MODULUS:
            return blocks % self.value
        return blocks.copy() if self.kind == NONE else blocks // self.value

    def in_order(self, blocks: int) -> Ints:
        """Return the numbers of all blocks of a grid, batch by batch, and in each batch from the lowest on."""
        numbers = np.arange(blocks, dtype=np.int64)
        return numbers[np.argsort(self.batch_of(numbers), kind="stable")]
