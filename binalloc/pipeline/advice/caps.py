"""The vendor's compiler accepts register caps down to a floor: for a lower cap it takes the floor, with a warning.

Measured with ptxas 13.0.88, by `ptxas -arch=sm_XX -maxrregcount 1 -v` of a kernel with 64 live values. It says
"adjusting per thread register count of 1 to lower bound of 24" for sm_75, 80, 86, 87, 88, 89, 90, 90a, 100, 100a, 103,
110, 120 and 121. This compiler makes no code for older architectures, and no floor is assumed for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

FLOORS = ((7.5, 24),)
"""Pairs of a compute capability and the fewest registers per thread from there on, measured (see above)."""


def least_cap(machine: Machine) -> int:
    """Return the lowest cap on registers per thread that the vendor's compiler obeys for the machine; 1 if unknown."""
    capability = float(machine.cc)
    return max((floor for since, floor in FLOORS if capability >= since), default=1)
