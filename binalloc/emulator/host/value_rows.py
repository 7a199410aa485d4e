"""Operands that are no registers are rows of equal words, so that device code finds them in the same array as
registers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.layout import LANES, VALUE_ROWS


class ValueRows:
    """Value rows come in pairs behind the first VALUE_ROWS, each pair once; the first pair is zero."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[int, int], int] = {}
        self.row(0, 0)

    def row(self, low: int, high: int) -> int:
        """Return the row of the low word of the value. The row of its high word follows."""
        return self.pairs.setdefault((low, high), VALUE_ROWS + 2 * len(self.pairs))

    def copy(self) -> ValueRows:
        """Return the same pairs, in the same rows."""
        other = ValueRows()
        other.pairs = dict(self.pairs)
        return other

    def array(self) -> NDArray[np.uint32]:
        """Return the rows as uint32 [row, lane], the first VALUE_ROWS zero."""
        words = np.zeros((VALUE_ROWS + 2 * len(self.pairs), LANES), np.uint32)
        for (low, high), row in self.pairs.items():
            words[row], words[row + 1] = low, high
        return words
