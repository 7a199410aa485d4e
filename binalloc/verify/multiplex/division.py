"""A division says where the bytes of the original's shared memory went, and this module holds its arithmetic.

Needs nothing; it is a hint that the proof does not trust: whatever it says, each access is compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.isa.interface.places import WORD

WORDS = 1 << 8 * WORD
"""Addresses of shared memory are counted modulo this number (ISA.md, State and memory)."""
ALIGNED = 16
"""Most bytes of one access: addresses are multiples of the access's size, and BAR.ALLOC gives multiples of 128."""


@dataclass(frozen=True)
class Division:
    """A division splits the original's shared memory into a public part and a private one around it."""

    low: int  #: the original address that goes to the first public byte that BAR.ALLOC gives
    first: int  #: first public byte of the original
    high: int  #: byte behind the last public one
    moved: int  #: by how much private bytes from `high` on have lower addresses

    def fault(self) -> str:
        """Return what is wrong with the numbers by themselves; "" if nothing is."""
        if not 0 <= self.low <= self.first <= self.high < WORDS // 2:
            return "the public part is no range of addresses"
        if not 0 <= self.moved < WORDS // 2:
            return "private bytes would have no addresses"
        if self.low % ALIGNED or self.moved % ALIGNED:
            return f"accesses would lose their alignment: not multiples of {ALIGNED}"
        return ""

    def parts(self) -> tuple[tuple[int, int, bool, int], ...]:
        """Return the parts: (first address, address behind the last one, whether it is public, distance to the new
        address: from the block's base, or from 0)."""
        return (
            (0, self.first, False, 0),
            (self.first, self.high, True, -self.low),
            (self.high, WORDS, False, -self.moved),
        )
