"""This model chooses the public bytes of a block's shared memory: one window, which blocks use in turns.

Needs accesses with the bytes that each may touch and how often it is executed, and the windows that fit. The multiplex
paper chooses by hand (section 4.3). Here the cost of a window is, first, how often an access that may touch it is
executed: these accesses wait for other blocks. Second, how often one is executed that may touch private bytes as well:
it has to compare its address. The windows are few, so each is counted: the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Weighted:
    """A weighted access may touch some bytes, and is executed so often."""

    bytes: int  #: as a bitset
    weight: float


class Window(NamedTuple):
    """A window is a range of addresses."""

    first: int
    end: int  #: one past the last

    @property
    def bytes(self) -> int:
        """Return its addresses as a bitset."""
        return (1 << self.end) - (1 << self.first)


def cheapest(accesses: Sequence[Weighted], windows: Iterable[Window], used: int) -> list[Window]:
    """Return the windows of the least cost, in order; of these those that contain no other one. used: the bytes that
    count, as a bitset."""
    costs: dict[Window, tuple[float, float]] = {}
    for window in windows:
        public, both = window.bytes & used, 0.0
        total = 0.0
        for access in accesses:
            if access.bytes & public:
                total += access.weight
                both += access.weight if access.bytes & used & ~public else 0.0
        costs[window] = total, both
    if not costs:
        return []
    least = min(costs.values())
    found = sorted(window for window, cost in costs.items() if cost == least)
    return [w for w in found if not any(o != w and w.first <= o.first and o.end <= w.end for o in found)]
