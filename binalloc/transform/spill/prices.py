"""This module defines the costs of accesses to memory by value: in a slot or in local memory."""

from __future__ import annotations

from dataclasses import dataclass

SLOT_COST = 1.0  # an access to a slot, the unit of all costs of spill code
LOCAL_COST = 4.0
"""Cost of an access to local memory, in accesses to a slot, if no machine is known. It is about the ratio of an L1 hit
with its misses to shared memory."""

WISH = 0.01
"""Cost for a function that moves an argument from its place although callers use it after the call. Callers may have
room for it elsewhere, so it is far below one access; but among ways of equal cost, the one that leaves it in place is
better."""


@dataclass(frozen=True)
class Prices:
    """The price of a reload or store is counted in accesses to a slot."""

    usual: float = SLOT_COST  #: of any value that is not in `local`
    local: frozenset[int] = frozenset()  #: values without a slot
    far: float = LOCAL_COST  #: of these values
    wish: float = 0.0  #: of an argument that callers use after the call and no longer find in its place

    def of(self, value: int) -> float:
        """Return the price for a value."""
        return self.far if value in self.local else self.usual

    @property
    def all_local(self) -> Prices:
        """Return the prices if no value has a slot."""
        return Prices(self.far, far=self.far, wish=self.wish)
