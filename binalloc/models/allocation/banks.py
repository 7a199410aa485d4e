"""Registers over the banks of a register file, so that instructions find theirs in different ones.

Needs, for each two registers, what it costs that they share a bank, and which registers may be exchanged. Leaves a new
number for each. As long as an exchange of two registers makes the sum less, the one that makes it least is done: the
step of Kernighan and Lin, "An Efficient Heuristic Procedure for Partitioning Graphs" (1970), without going through
dearer ones. Banks have as many registers as before, since numbers are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STAYS = -1
"""The class of a register that keeps its number."""
LEAST = 1e-3
"""What an exchange has to save at least, as a share of what it would cost if all were in one bank: for less, nobody
wants other code."""


def spread(together: NDArray[np.float64], banks: int, classes: Sequence[int]) -> list[int]:
    """The new number of each register; number r lies in bank r mod `banks`.

    together: cost by two registers, symmetric, zero for one with itself. classes: by register; only registers of one
    class, not STAYS, change places.
    """
    count = len(classes)
    number = np.arange(count)
    bank = number % banks
    kind = np.array(classes, np.int64)
    may = (kind[:, None] == kind[None, :]) & (kind != STAYS)[:, None] & (number[:, None] < number[None, :])
    least = -LEAST * float(np.triu(together).sum())
    while count:
        beside = together @ (bank[:, None] == np.arange(banks)[None, :])  # what a register costs in each bank
        there = beside[:, bank]
        here = np.diagonal(there)
        saved = there + there.T - 2 * together - here[:, None] - here[None, :]
        saved[~may | (bank[:, None] == bank[None, :])] = 0.0
        one, other = divmod(int(saved.argmin()), count)
        if saved[one, other] >= least:
            break
        number[[one, other]] = number[[other, one]]
        bank[[one, other]] = bank[[other, one]]
    return [int(n) for n in number]
