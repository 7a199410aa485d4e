"""When a run's accesses to shared memory went through the banks: an observer of `run`."""

from __future__ import annotations

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state.counters import Stat


class BankTimes:
    """What SM 0 did. accesses: (cycle of issue, passes) of its shared accesses; several of one cycle are one here.
    arrivals: cycles in which warps came to a barrier, one for each."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int]] = []
        self.arrivals: list[int] = []
        self._passes = 0

    def __call__(self, device: LaunchedDevice, cycle: int) -> None:
        """What the cycle just done added to the counters."""
        stat = device.engine.view(device.sms, 0, "stat")
        passes = int(stat[Stat.SHARED_PASSES])
        if passes > self._passes:
            self.accesses.append((cycle, passes - self._passes))
            self._passes = passes
        self.arrivals += [cycle] * (int(stat[Stat.BARRIERS]) - len(self.arrivals))

    def taken(self, first: int, last: int) -> int:
        """Cycles from `first` to before `last` in which the banks made a pass."""
        total = 0
        until = first
        for cycle, passes in self.accesses:
            until, before = max(until, min(cycle + passes, last)), max(until, cycle)
            total += max(until - before, 0)
        return total
