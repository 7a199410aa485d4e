"""Which cycles of a run a trace shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Cycles from `first` up to `last` (None: to the end); with `every`, of each so many of them the first `length`."""

    first: int = 0
    last: int | None = None
    every: int = 0
    length: int = 1000

    def numbers(self, cycles: Ints) -> Ints:
        """The number of the window that each cycle is in, -1 for none."""
        since = cycles - self.first
        inside = since >= 0
        if self.last is not None:
            inside &= cycles < self.last
        if not self.every:
            return np.where(inside, 0, -1)
        return np.where(inside & (since % self.every < self.length), since // self.every, -1)

    def touch(self, start: int, end: int) -> bool:
        """Whether some cycle from `start` up to `end` is in a window."""
        start = max(start, self.first)
        if self.last is not None:
            end = min(end, self.last)
        if start >= end:
            return False
        if not self.every:
            return True
        phase = (start - self.first) % self.every
        return phase < self.length or start + self.every - phase < end

    @property
    def whole(self) -> bool:
        """Whether that is every cycle."""
        return self.first == 0 and self.last is None and not self.every
