"""A series has a run's counters over time: what each interval of a number of cycles added to them.

The device is stopped before the first cycle with events at or behind the end of an interval. SMs have then left out
cycles without events. The device function that accounts for those when an SM wakes does so up to the interval's last
cycle. So an interval has the events of its cycles, in either form of bookkeeping.
"""

from __future__ import annotations

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.figures.accounting import account_until
from binalloc.emulator.host.figures.stats import Stats, count, ratios
from binalloc.emulator.state.memories import Memories
from binalloc.models.machines.model import Machine

MOST_INTERVALS = 10_000
"""Intervals of one length; the rest of a longer run is one more interval, up to its end. It bounds memory and the file
that is written; chosen by hand."""
_NEVER = 1 << 62  # a cycle that no run comes to
STANDING = ("queues", "places", "most")  # Figures of `queues` that do not grow from cycle to cycle.


class CounterSeries:
    """A series takes the samples of one run. every: cycles of an interval. due: the first cycle behind the current
    interval."""

    def __init__(self, every: int, engine: Engine, g: Records, sms: Records, memories: Memories, machine: Machine):
        self.every, self.due = every, every
        self._engine, self._g, self._sms, self._memories, self._machine = engine, g, sms, memories, machine
        self._counted = [self._now(0)]

    def take(self) -> None:
        """End the interval before `due`."""
        self._end(self.due)

    def end(self) -> None:
        """End the last interval, if it has begun: the launch has ended or has been stopped."""
        cycle = int(self._engine.get(self._g, 0, "cycle"))
        while self.due <= cycle:
            self.take()
        if cycle > self._counted[-1]["cycles"]:
            self._end(cycle)

    def _end(self, cycle: int) -> None:
        """End the interval in front of `cycle`."""
        account_until(self._engine, self._g, self._sms, self._memories, cycle)
        self._counted.append(self._now(cycle))
        self.due = cycle + self.every if len(self._counted) <= MOST_INTERVALS else _NEVER

    def _now(self, cycle: int) -> Stats:
        return count(self._engine, self._g, self._sms, self._machine, cycle)

    @property
    def full_at(self) -> int | None:
        """Return the first cycle of the interval with all the rest; None where there is none."""
        return int(self._counted[MOST_INTERVALS]["cycles"]) if len(self._counted) > MOST_INTERVALS + 1 else None

    def intervals(self) -> list[Stats]:
        """Return what each interval added to the figures of `stats.count`, with its own `ratios`; `start`: its first
        cycle. The last one is longer than the others where there would be more than MOST_INTERVALS."""
        out = []
        sms = int(self._engine.get(self._g, 0, "sms"))
        for before, after in zip(self._counted, self._counted[1:], strict=False):
            gained: Stats = _difference(before, after)
            out.append({"start": before["cycles"], **gained, **ratios(gained, self._machine, sms)})
        return out


def _difference(before: Stats, after: Stats) -> Stats:
    return {
        name: _difference(before[name], value) if isinstance(value, dict)
        else value if name in STANDING else value - before[name]
        for name, value in after.items()
    }  # fmt: skip
