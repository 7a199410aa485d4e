"""Passes of a shared-memory access counted from the definition: byte by byte, pass by pass.

    banks       how many there are
    bank_bytes  what one serves in a pass: one row of its own
    mode_bytes  what goes to one bank before the next one's turn

Where banks are wider than the mode, a bank's row is filled on several rounds: with banks of 8 bytes and 4-byte mode the
bits of an address are ...HBBBBBxx, byte x of half H of bank B (NVIDIA, GPU Performance Analysis and Optimization,
GTC 2012).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

LANES = 32


@dataclass(frozen=True)
class Banks:
    """A shared memory's shape."""

    banks: int
    bank_bytes: int
    mode_bytes: int

    def place(self, address: int) -> tuple[int, int]:
        """(bank, its row) of a byte."""
        round_, within = divmod(address, self.banks * self.mode_bytes)
        return within // self.mode_bytes, round_ // (self.bank_bytes // self.mode_bytes)

    def groups(self, size: int) -> list[range]:
        """The lanes that are served together: no more than would fill every bank's row with their `size` bytes."""
        together = min(LANES, max(1, self.banks * self.bank_bytes // size))
        return [range(first, first + together) for first in range(0, LANES, together)]

    def passes(self, addresses: Mapping[int, int], size: int) -> int:
        """Passes for lanes {lane: address} of `size` bytes each, at least 4."""
        total = 0
        for group in self.groups(max(size, 4)):
            wanted = {
                self.place(addresses[lane] + byte) for lane in group if lane in addresses for byte in range(size)
            }
            while wanted:
                wanted = self.after_a_pass(wanted)
                total += 1
        return total

    @staticmethod
    def after_a_pass(wanted: Set[tuple[int, int]]) -> set[tuple[int, int]]:
        """What is left of (bank, row) pairs when each bank has served one of its rows."""
        served: set[int] = set()
        left = set()
        for bank, row in sorted(wanted):
            if bank in served:
                left.add((bank, row))
            served.add(bank)
        return left


FERMI = Banks(32, 4, 4)
KEPLER_4 = Banks(32, 8, 4)
KEPLER_8 = Banks(32, 8, 8)
TESLA = Banks(16, 4, 4)
