"""A run's counters as they grow: what each interval of so many cycles added to them.

The device is stopped before the first cycle with events at or behind the end of an interval. What SMs have left out
until then, as nothing happened in them, is accounted for up to the interval's last cycle, by the device function that
does so when they wake: an interval has what happened in its cycles, whichever form of bookkeeping runs.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

from binalloc.emulator.host.engine import Engine, Records
from binalloc.emulator.host.stats import Stats, count, ratios
from binalloc.emulator.sm.issue import skip
from binalloc.emulator.state.memories import Memories
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import Hint, LimitHit
from binalloc.models.machines.model import Machine

R = TypeVar("R", Gpu, Sm)
MOST_INTERVALS = 10_000
STANDING = ("queues", "places", "most")
"""Of `queues` what does not grow from cycle to cycle."""


class Series:
    """Takes the samples of one run. every: cycles of an interval. due: the first cycle behind the one that runs."""

    def __init__(self, every: int, engine: Engine, g: Records, sms: Records, memories: Memories, machine: Machine):
        self.every, self.due = every, every
        self._engine, self._g, self._sms, self._memories, self._machine = engine, g, sms, memories, machine
        self._counted = [self._now(0)]

    def follow(self, status: int, limit: int) -> int:
        """The device has stopped, as it was told to, before `due` or `limit`, or as `run_quantum` says with `status`:
        end the intervals that are over, and return the status of a run that is told of `limit` alone.

        Raises LimitHit: there are too many.
        """
        cycle = int(self._engine.get(self._g, 0, "cycle"))
        if status == 3:
            while self.due <= min(cycle, limit):
                self._end(self.due)
            return 3 if cycle >= limit else 0
        if status == 1:
            self._end(cycle)
        return status

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


def account_until(engine: Engine, g: Records, sms: Records, memories: Memories, cycle: int) -> None:
    """Bring the counters of SMs up to the cycle before this one. Needs a device that has been stopped before it, so
    that nothing happens in them until then."""
    device = _fields(g, 0, Gpu)
    for i in range(engine.get(g, 0, "sms")):
        s = _fields(sms, i, Sm)
        if s.last_time < cycle - 1:
            skip(device, s, memories.program, cycle - 1 - s.last_time)
            s.last_time = cycle - 1


def _difference(before: Stats, after: Stats) -> Stats:
    return {
        name: _difference(before[name], value) if isinstance(value, dict)
        else value if name in STANDING else value - before[name]
        for name, value in after.items()
    }  # fmt: skip


def _fields(records: Records, i: int, kind: type[R]) -> R:
    """Record i, of that kind, with its fields as attributes, as device code has it: a view, not a copy."""
    return cast(R, records.view(np.recarray)[i] if isinstance(records, np.ndarray) else records[i])
