"""The shared memory of a block is divided into a private and a public part here.

Needs what is known of the shared memory, with the bytes that are to be private; leaves the map of addresses. The public
part is what regions touch: blocks have it in turns. The private part is what a block keeps: common bytes, and those
that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.regions import Region, access_regions
from binalloc.analysis.shared.variables import overlapping
from binalloc.errors import Refused

UNIT = 16  # bytes of the widest access: addresses keep their alignment to it


@dataclass(frozen=True)
class Parts:
    """The parts of a block's shared memory, by their addresses in the original."""

    low: int  #: first byte of the public part, a multiple of 16
    high: int  #: one past its last byte
    first: int  #: its first byte that is used: private ones may lie below it
    size: int  #: bytes of shared memory of the original
    moved: int  #: by how much private bytes behind the public part move down, a multiple of 16

    @staticmethod
    def around(first: int, high: int, size: int) -> Parts:
        """Return the parts if bytes `first` to `high` are public, and others of the `size` bytes are private."""
        return Parts(first // UNIT * UNIT, high, first, size, (high - first) // UNIT * UNIT)

    @property
    def public(self) -> int:
        """Return the bytes of the public part."""
        return self.high - self.low

    @property
    def private(self) -> int:
        """Return the bytes of the private part."""
        return max(self.size - self.moved, 0)

    def private_address(self, address: int) -> int:
        """Return where a private byte of the original is."""
        return address if address < self.first else address - self.moved


def with_private(memory: SharedMemory, private: int) -> SharedMemory:
    """Return the shared memory with some private bytes, as a bitset. Then places beyond a block's memory need no
    region, either: a run that ends well has no access there."""
    return replace(memory, private=private and private | 1 << memory.reach.size)


def divide(memory: SharedMemory) -> tuple[SharedMemory, list[Region], Parts | None]:
    """Return the access regions, and the parts if there are any regions. Common bytes between bytes that regions touch
    are public: for these the shared memory is returned without them among the common ones.

    Raises Refused if a chosen private byte lies between public ones.
    """
    while True:
        regions, window = window_of(memory)
        if window is None:
            return memory, regions, None
        first, high = window
        size = memory.reach.size
        between = (1 << high) - (1 << first)
        _require_apart(memory, between)
        inside = memory.common.bytes & between
        if not inside:
            return memory, regions, Parts.around(first, high, size) if memory.kept else _all_public(regions, size)
        memory = replace(memory, common=memory.common.only(~inside))


def _all_public(regions: list[Region], size: int) -> Parts:
    """Return the parts if blocks keep nothing. Bytes that are read and never stored are public then, too: a private
    part would have no room for them."""
    touched = 0
    for region in regions:
        touched |= region.bytes & (1 << size) - 1
    parts = Parts.around((touched & -touched).bit_length() - 1, touched.bit_length(), size)
    return replace(parts, moved=-(-size // UNIT) * UNIT)


def window_of(memory: SharedMemory) -> tuple[list[Region], tuple[int, int] | None]:
    """Return the access regions, and the first byte that they use and the one behind the last; None if they store
    nothing."""
    regions = access_regions(memory)
    touched = written = 0
    for region in regions:
        touched |= region.bytes
    for access in memory.reach.accesses:
        written |= access.may if access.writes else 0
    used = touched & written & (1 << memory.reach.size) - 1 & ~memory.kept
    return regions, ((used & -used).bit_length() - 1, used.bit_length()) if used else None


def _require_apart(memory: SharedMemory, between: int) -> None:
    """Refuse private bytes between public ones: the public part of a block is one piece."""
    inside = memory.private & between
    if not inside:
        return
    kernel = memory.program.kernel.fn
    names = ", ".join(v.name for v in overlapping(kernel.shared, inside)) or "private bytes"
    start, end = (inside & -inside).bit_length() - 1, inside.bit_length()
    raise Refused(
        "private bytes of shared memory lie between public ones", place=kernel.name,
        found=f"{names}, bytes {start:,} to {end - 1:,}", expected="public bytes side by side",
        remedy="Make more variables private in front of these, or fewer behind.",
    )  # fmt: skip
