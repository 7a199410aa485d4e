"""Which way of a cache's set a new line takes, in every cache: an empty one, else the least recently used.

An empty way has age 0; that of a line some of whose words are on their way carries BUSY, and is not taken.
"""

from __future__ import annotations

from binalloc.emulator.state.arrays import Words
from binalloc.emulator.state.device import device

BUSY = 1 << 60


@device
def least_used(ages: Words, first: int, ways: int) -> int:
    """Index of the way to take among `ways` from `first` on, the lowest where several are empty; -1 if all are busy."""
    least = BUSY
    for i in range(first, first + ways):
        least = min(least, ages[i])
    end = first + ways
    best = end
    for i in range(first, end):
        best = min(best, i if ages[i] == least else end)
    return best if least < BUSY else -1
