"""The shared memory of a block is divided into a private and a public part here.

Needs what is known of the shared memory, and its access regions; leaves the map of addresses. The public part is what
regions touch: blocks have it in turns. The private part is common bytes, which a block keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.regions import Region, access_regions

_UNIT = 16  # bytes of the widest access: addresses keep their alignment to it


@dataclass(frozen=True)
class Parts:
    """The parts of a block's shared memory, by their addresses in the original."""

    low: int  #: first byte of the public part, a multiple of 16
    high: int  #: one past its last byte
    first: int  #: its first byte that is used: private ones may lie below it
    size: int  #: bytes of shared memory of the original
    moved: int  #: by how much private bytes behind the public part move down, a multiple of 16

    @property
    def public(self) -> int:
        """Return the bytes of the public part."""
        return self.high - self.low

    @property
    def private(self) -> int:
        """Return the bytes of the private part."""
        return self.size - self.moved

    def private_address(self, address: int) -> int:
        """Return where a private byte of the original is."""
        return address if address < self.first else address - self.moved


def divide(memory: SharedMemory) -> tuple[SharedMemory, list[Region], Parts | None]:
    """Return the access regions, and the parts if there are any regions. Common bytes between bytes that regions touch
    are public: for these the shared memory is returned without them among the common ones."""
    while True:
        regions = access_regions(memory)
        touched = 0
        for region in regions:
            touched |= region.bytes
        size = memory.reach.size
        written = [a.may for a in memory.reach.accesses if a.writes]
        kept = touched & _any(written) & (1 << size) - 1
        if not regions or not kept:
            return memory, regions, None
        first, high = (kept & -kept).bit_length() - 1, kept.bit_length()
        inside = memory.common.bytes & (1 << high) - (1 << first)
        if not inside:
            low = first // _UNIT * _UNIT
            moved = (high - first) // _UNIT * _UNIT if memory.common.bytes else size
            return memory, regions, Parts(low, high, first, size, moved)
        memory = replace(memory, common=memory.common.only(~inside))


def _any(masks: list[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found

