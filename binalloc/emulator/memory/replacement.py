"""In every cache a new line takes an empty way of its set, else the least recently used one.

An empty way has age 0. A line carries BUSY while some of its words are on their way, and is not replaced.
"""

from __future__ import annotations

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device

BUSY = 1 << 45  # above every age: ages are cycles up to layout.CLOCK_END, or count what takes some cycles each
WAY_SHIFT = 16  # no cache has 2^16 ways, and an age with BUSY, 46 bits, still fits beside them


@device
def least_used(ages: Words, first: int, ways: int) -> int:
    """Return the index of the way to replace among `ways` from `first` on, the lowest where several are empty, or -1 if
    all are busy."""
    least = BUSY << WAY_SHIFT
    for i in range(ways):
        least = min(least, ages[first + i] << WAY_SHIFT | i)
    return first + (least & ((1 << WAY_SHIFT) - 1)) if least < BUSY << WAY_SHIFT else -1
