"""The threads of a block are the axis of values, where the block's size is known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from binalloc.analysis.ranges.value import Interval, Value, constant, of_threads
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import LANES

MOST_THREADS = 1024
"""Threads of a block, on every machine at most."""
_AXES = 3  # axes of a block


@dataclass(frozen=True)
class Threads:
    """The threads of a block are numbered along x, then y, then z."""

    limits: SetLimits
    size: tuple[int, int, int] | None  #: threads of a block along x, y and z, where that is known
    most: int = MOST_THREADS  #: threads of a block at most
    #: speak of the first thread alone, which every block has
    first: bool = False

    @property
    def count(self) -> int:
        """Return the threads of a block, 0 where that is not known."""
        return self.size[0] * self.size[1] * self.size[2] if self.size else 0

    @cached_property
    def _numbers(self) -> dict[str, Value]:
        if self.size is None and self.first:
            names = [name for name, axis in self.limits.places.items() if axis < _AXES]
            return dict.fromkeys([*names, self.limits.lane, self.limits.warp], constant(0))
        if self.size is None:
            return {}
        linear = np.arange(self.count, dtype=np.int64)
        x, y, _ = self.size
        axes = linear % x, linear // x % y, linear // (x * y)
        found = {name: of_threads(axes[axis]) for name, axis in self.limits.places.items() if axis < _AXES}
        found |= {name: constant(self.size[axis]) for name, axis in self.limits.sizes.items() if axis < _AXES}
        found[self.limits.lane] = of_threads(linear % LANES)
        found[self.limits.warp] = of_threads(linear // LANES)
        return found

    def special(self, name: str) -> Value | None:
        """Return the value of a special register, where it is known."""
        return self._numbers.get(name)

    def bounds(self, name: str) -> Interval | None:
        """Return bounds of a special register that follow from the most threads that a block may have."""
        if name == self.limits.lane:
            return Interval(0, LANES - 1)
        if self.limits.places.get(name, _AXES) < _AXES:
            return Interval(0, self.most - 1)
        return Interval(1, self.most) if self.limits.sizes.get(name, _AXES) < _AXES else None
