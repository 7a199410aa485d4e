"""This pass distributes registers over the banks of a register file, so that the operands of an instruction lie in
different banks.

Needs, for each two registers, the cost of their sharing a bank, and which registers may be exchanged. Leaves a new
number for each register. While an exchange of two registers lowers the total cost, the exchange that lowers it most is
made. That is the step of Kernighan and Lin, "An Efficient Heuristic Procedure for Partitioning Graphs" (1970), without
its passes through more expensive states. Numbers are exchanged, so each bank keeps its number of registers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STAYS = -1
"""The class of a register that keeps its number."""
LEAST = 1e-3
"""An exchange has to save at least this share of the cost of all registers in one bank. Chosen by hand: a smaller gain
is not worth code that differs from the original."""


def spread(together: NDArray[np.float64], banks: int, classes: Sequence[int]) -> list[int]:
    """Return the new number of each register; register r lies in bank r mod `banks`.

    together: cost for each two registers, symmetric, zero for a register with itself. classes: for each register its
    class. Only registers of one class change places, and none of class STAYS.
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
