"""A run's counters as they grow: what each interval of so many cycles added to them.

The device is stopped before the first cycle with events at or behind the end of an interval. What SMs have left out
until then, as nothing happened in them, is accounted for up to the interval's last cycle, by the device function that
does so when they wake: an interval has what happened in its cycles, whichever form of bookkeeping runs.
"""

from __future__ import annotations

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.figures.accounting import account_until
from binalloc.emulator.host.figures.stats import Stats, count, ratios
from binalloc.emulator.state.memories import Memories
from binalloc.models.machines.model import Machine

MOST_INTERVALS = 10_000
"""Those of one length: what is left of a run after so many is one more interval, up to its end."""
_NEVER = 1 << 62
STANDING = ("queues", "places", "most")
"""Of `queues` what does not grow from cycle to cycle."""


class Series:
    """Takes the samples of one run. every: cycles of an interval. due: the first cycle behind the one that runs."""

    def __init__(self, every: int, engine: Engine, g: Records, sms: Records, memories: Memories, machine: Machine):
        self.every, self.due = every, every
        self._engine, self._g, self._sms, self._memories, self._machine = engine, g, sms, memories, machine
        self._counted = [self._now(0)]

    def take(self) -> None:
        """The interval before `due` is over."""
        self._end(self.due)

    def end(self) -> None:
        """The launch has ended or has been stopped, and with it the last interval, if it has begun."""
        cycle = int(self._engine.get(self._g, 0, "cycle"))
        while self.due <= cycle:
            self.take()
        if cycle > self._counted[-1]["cycles"]:
            self._end(cycle)

    def _end(self, cycle: int) -> None:
        """The interval ends before `cycle`."""
        account_until(self._engine, self._g, self._sms, self._memories, cycle)
        self._counted.append(self._now(cycle))
        self.due = cycle + self.every if len(self._counted) <= MOST_INTERVALS else _NEVER

    def _now(self, cycle: int) -> Stats:
        return count(self._engine, self._g, self._sms, self._machine, cycle)

    @property
    def full_at(self) -> int | None:
        """Where the interval began that has all the rest; None where there is none."""
        return int(self._counted[MOST_INTERVALS]["cycles"]) if len(self._counted) > MOST_INTERVALS + 1 else None

    def intervals(self) -> list[Stats]:
        """What each interval added to what `stats.count` counts, with its own `ratios`; `start`: its first cycle. The
        last one is longer than the others where there would be more than MOST_INTERVALS."""
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
