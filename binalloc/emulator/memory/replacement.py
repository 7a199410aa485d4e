"""Which way of a cache's set a new line takes, in every cache: an empty one, else the least recently used.

An empty way has age 0; that of a line some of whose words are on their way carries BUSY, and is not taken.
"""

from __future__ import annotations

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device

BUSY = 1 << 45  # above every age: those are cycles up to layout.CLOCK_END, or counts of what takes some
WAY_SHIFT = 16  # no cache has more ways


@device
def least_used(ages: Words, first: int, ways: int) -> int:
    """Index of the way to take among `ways` from `first` on, the lowest where several are empty; -1 if all are busy."""
    least = BUSY << WAY_SHIFT
    for i in range(ways):
        least = min(least, ages[first + i] << WAY_SHIFT | i)
    return first + (least & ((1 << WAY_SHIFT) - 1)) if least < BUSY << WAY_SHIFT else -1
