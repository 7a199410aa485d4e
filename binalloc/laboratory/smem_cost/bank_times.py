"""An observer of a run notes the cycles in which the banks of shared memory serve its accesses."""

from __future__ import annotations

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state.counters import Stat


class BankTimes:
    """A BankTimes is an observer of a run that follows SM 0."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int]] = []  #: (cycle of issue, passes); all accesses of a cycle are one pair
        self.arrivals: list[int] = []  #: for each warp the cycle in which it came to a barrier, ascending
        self._passes = 0

    def __call__(self, device: LaunchedDevice, cycle: int) -> None:
        """Note the growth of the counters in the cycle that has just ended."""
        stat = device.engine.view(device.sms, 0, "stat")
        passes = int(stat[Stat.SHARED_PASSES])
        if passes > self._passes:
            self.accesses.append((cycle, passes - self._passes))
            self._passes = passes
        self.arrivals += [cycle] * (int(stat[Stat.BARRIERS]) - len(self.arrivals))

    def taken(self, first: int, last: int) -> int:
        """Return in how many of the cycles from `first` to `last`, without the latter, the banks made a pass."""
        total = 0
        until = first
        for cycle, passes in self.accesses:
            until, before = max(until, min(cycle + passes, last)), max(until, cycle)
            total += max(until - before, 0)
        return total
