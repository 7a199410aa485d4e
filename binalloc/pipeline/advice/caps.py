"""Register caps that the vendor's compiler accepts: below its floor it takes the floor instead, with a warning.

Measured with ptxas 13.0.88 (`ptxas -arch=sm_XX -maxrregcount 1 -v` of a kernel with 64 live values, which says
"adjusting per thread register count of 1 to lower bound of 24"): sm_75, 80, 86, 87, 88, 89, 90, 90a, 100, 100a, 103,
110, 120 and 121 all have 24. For older architectures that compiler makes no code, and no floor is assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

FLOORS = ((7.5, 24),)
"""From this compute capability on, so many registers per thread at least."""


def least_cap(machine: Machine) -> int:
    """The lowest cap of registers per thread that the vendor's compiler obeys for the machine; 1 if none is known."""
    capability = float(machine.cc)
    return max((floor for since, floor in FLOORS if capability >= since), default=1)
