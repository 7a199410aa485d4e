"""A run's counters as they grow: what each interval of so many cycles added to them.

The device is stopped before the first cycle with events at or behind the end of an interval. What SMs have left out
until then, as nothing happened in them, is accounted for up to the interval's last cycle, by the device function that
does so when they wake: an interval has what happened in its cycles, whichever form of bookkeeping runs.
"""

from __future__ import annotations

from binalloc.emulator.host.accounting import account_until
from binalloc.emulator.host.engine import Engine, Records
from binalloc.emulator.host.stats import Stats, count, ratios
from binalloc.emulator.state.memories import Memories
from binalloc.errors import Hint, LimitHit
from binalloc.models.machines.model import Machine

MOST_INTERVALS = 10_000
STANDING = ("queues", "places", "most")
"""Of `queues` what does not grow from cycle to cycle."""


class Series:
    """Takes the samples of one run. every: cycles of an interval. due: the first cycle behind the one that runs."""

    def __init__(self, every: int, engine: Engine, g: Records, sms: Records, memories: Memories, machine: Machine):
        self.every, self.due = every, every
        self._engine, self._g, self._sms, self._memories, self._machine = engine, g, sms, memories, machine
        self._counted = [self._now(0)]

    def take(self) -> None:
        """The interval before `due` is over. Raises LimitHit: there are too many."""
        self._end(self.due)

    def end(self) -> None:
        """The launch has ended, and with it the last interval."""
        self._end(int(self._engine.get(self._g, 0, "cycle")))

    def _end(self, cycle: int) -> None:
        """The interval ends before `cycle`."""
        if len(self._counted) > MOST_INTERVALS:
            raise LimitHit(
                "the run has too many intervals",
                found=f"more than {MOST_INTERVALS:,} of {self.every:,} cycles",
                expected=f"at most {MOST_INTERVALS:,}",
                remedy=Hint("Sample less often ({every} N)."),
            )
        account_until(self._engine, self._g, self._sms, self._memories, cycle)
        self._counted.append(self._now(cycle))
        self.due = cycle + self.every

    def _now(self, cycle: int) -> Stats:
        return count(self._engine, self._g, self._sms, self._machine, cycle)

    def intervals(self) -> list[Stats]:
        """What each interval added to what `stats.count` counts, with its own `ratios`; `start`: its first cycle."""
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
