"""This module defines which cycles of a run a trace shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Windows:
    """Windows are the cycles of a run that a trace shows."""

    first: int = 0  #: the first cycle
    last: int | None = None  #: the cycle after the last one; None: to the end
    every: int = 0  #: if not 0, each period of so many cycles has one window, at its beginning
    length: int = 1000  #: cycles of such a window

    def numbers(self, cycles: Ints) -> Ints:
        """Return the number of the window of each cycle, -1 for none."""
        since = cycles - self.first
        inside = since >= 0
        if self.last is not None:
            inside &= cycles < self.last
        if not self.every:
            return np.where(inside, 0, -1)
        return np.where(inside & (since % self.every < self.length), since // self.every, -1)

    def touch(self, start: int, end: int) -> bool:
        """Return whether some cycle from `start` up to `end` is in a window."""
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
        """Return whether the windows have every cycle."""
        return self.first == 0 and self.last is None and not self.every
