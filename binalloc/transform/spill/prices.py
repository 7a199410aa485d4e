"""What accesses to memory cost, by value: in a slot or in local memory."""

from __future__ import annotations

from dataclasses import dataclass

SLOT_COST = 1.0
"""The unit of all costs of spill code: an access to a slot."""
LOCAL_COST = 4.0
"""An access to local memory, in accesses to a slot, where no machine is known: about the ratio of an L1 hit with its
misses to shared memory."""

WISH = 0.01
"""What a function counts where it takes an argument from its place that callers go on using: they may have room for it
elsewhere, but of two ways that cost the same the other is better."""


@dataclass(frozen=True)
class Prices:
    """Of a reload or store, in accesses to a slot. usual: of any value but those in `local`, for which there is no
    slot and which cost `far`. wish: of an argument that callers go on using and no longer find in its place."""

    usual: float = SLOT_COST
    local: frozenset[int] = frozenset()
    far: float = LOCAL_COST
    wish: float = 0.0

    def of(self, value: int) -> float:
        return self.far if value in self.local else self.usual

    @property
    def all_local(self) -> Prices:
        """Where there are slots for none."""
        return Prices(self.far, far=self.far, wish=self.wish)
