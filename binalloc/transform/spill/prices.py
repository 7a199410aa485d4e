"""What accesses to memory cost, by value: in a slot or in local memory."""

from __future__ import annotations

from dataclasses import dataclass

SLOT_COST = 1.0
"""The unit of all costs of spill code: an access to a slot."""
LOCAL_COST = 4.0
"""An access to local memory, in accesses to a slot: about the ratio of an L1 hit with its misses to shared memory."""


@dataclass(frozen=True)
class Prices:
    """Of a reload or store, in accesses to a slot. usual: of any value but those in `local`, for which there is no
    slot."""

    usual: float = SLOT_COST
    local: frozenset[int] = frozenset()

    def of(self, value: int) -> float:
        return LOCAL_COST if value in self.local else self.usual
