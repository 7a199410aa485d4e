"""This module writes what DRAM was asked for and told in a run as files for other DRAM tools, while the run goes on.

    log = DramLog(Path("energy"), DEFAULT_LIMIT)
    run(module, kernel, launch, machine, samplers=(log.begin,))
    log.end()

Memory is bounded: the device's log is emptied every so many cycles, before it can be full. The same run makes the same
bytes in both engines. Files end with a whole line. Where they would be longer than the limit, all of them end in front
of one cycle.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.figures.standing import end_tick, overdue
from binalloc.emulator.state.memory_layout import DRAM_LOG_WORDS, MAX_BANKS_OF_DRAM, Command, LogWord
from binalloc.emulator.traces.dram_formats import Access, FileSet, Told
from binalloc.emulator.traces.dram_limit import DEFAULT_LIMIT
from binalloc.emulator.traces.dram_shape import DramShape
from binalloc.errors import UsageError
from binalloc.files import writing
from binalloc.models.machines.unloaded import ticks_per_cycle

_ROOM = 1 << 16  # commands of the device's log: 5 MB; a larger one is emptied less often, which saves little
_SHARE = 4  # of the log's room, the part that the commands of an interval can fill; the rest is for late refreshes
_DURING = "The run has not come to its end, or what it wrote could not be completed.\n"


class DramLogCounts(NamedTuple):
    """The record counts what the files hold, and what they lack."""

    requests: int  #: bursts that were asked for
    commands: int
    full_at_cycle: int | None  #: from this cycle on nothing is in the files, as they would be too long
    bytes: int


class DramLog:
    """A DramLog is the files of one run. `begin` makes the sampler that fills them, `end` completes them."""

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        self._folder, self._limit = folder, limit
        self._sampler: _Sampler | None = None

    def begin(self, device: LaunchedDevice) -> _Sampler:
        """Return the sampler for a device before its first cycle. Raises UsageError for a machine without currents and
        for a folder that is not new or empty, or to which nothing can be written."""
        if device.machine.dram_power is None:
            raise UsageError(
                "the machine has no currents for the energy of DRAM", place="dram.power", found=device.machine.name,
                expected="a machine file with the section dram.power",
            )  # fmt: skip
        self._sampler = _Sampler(device, _new_folder(self._folder), self._limit)
        return self._sampler

    def end(self) -> DramLogCounts | None:
        """Complete the files up to the cycle in which the run stands, and return what they hold; None if no run has
        begun."""
        return None if self._sampler is None else self._sampler.completed()


def _new_folder(folder: Path) -> Path:
    """Make the folder, or take an empty one, and return it."""
    with writing(folder):
        others = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if others:
            raise UsageError(
                "the folder for the DRAM log holds files", file=str(folder), found=others[0],
                expected="no such folder, or an empty one", remedy="Name another folder.",
            )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Sampler:
    """A sampler empties the device's log every `_every` cycles, and puts it into the files."""

    def __init__(self, device: LaunchedDevice, folder: Path, limit: int) -> None:
        self._device, self._limit = device, limit
        self._shape = DramShape.of(device)
        self._files = FileSet(folder, self._shape)
        self._files.readme(_DURING)
        self._waiting: list[Access] = []  # in the order in which they came
        self._requests = self._commands = 0
        self._full_at: int | None = None
        self._from = 0  # cycles in front of it are in the files
        self._done: DramLogCounts | None = None
        ticks = ceil(ticks_per_cycle(device.machine))
        busiest = self._shape.channels * ticks * self._shape.buses  # commands of a cycle, at most
        self._every = max(1, _ROOM // _SHARE // busiest)
        self.due = self._every
        device.memories.dram_log = np.zeros(_ROOM * DRAM_LOG_WORDS, np.int64)
        device.put("dram_log", _ROOM * DRAM_LOG_WORDS)

    def take(self) -> None:
        """Empty the log of the cycles before `due`."""
        self._empty(self.due)
        self.due += self._every

    def end(self) -> None:
        """Complete the files: the launch has ended."""
        self.completed()

    def completed(self) -> DramLogCounts:
        """Complete the files, once, and return what they hold."""
        if self._done is None:
            cycle = self._device.get("cycle")
            self._empty(cycle, last=True)
            shown = cycle if self._full_at is None else self._full_at
            self._files.end(end_tick(self._device.engine, self._device.g, shown))
            self._done = DramLogCounts(self._requests, self._commands, self._full_at, self._files.bytes)
            self._files.readme(self._how())
        return self._done

    def _how(self) -> str:
        """Return how far the files go, in words."""
        if self._full_at is None:
            return f"The files hold the run up to cycle {self._device.get('cycle'):,}.\n"
        return (
            f"The files hold the run up to cycle {self._full_at:,} of {self._device.get('cycle'):,}: with the rest "
            f"they would exceed their limit of {self._limit:,} bytes.\n"
        )

    def _empty(self, cycle: int, last: bool = False) -> None:
        """Put the commands of the cycles before `cycle` into the files, and make room for others."""
        device = self._device
        rows = device.memories.dram_log.reshape(-1, DRAM_LOG_WORDS)[: device.get("dram_logged")]
        rows = rows[rows[:, LogWord.CHANNEL] < self._shape.channels]  # a far memory is of another kind
        lost = device.get("dram_lost") > 0
        told = [self._told(row) for row in rows.tolist()]
        device.put("dram_logged", 0)
        device.put("dram_lost", 0)
        if self._full_at is not None:
            return
        told += self._idle_refreshes(cycle) if last else []
        asked, rest = self._ready([*self._waiting, *(one.asked for one in told if one.asked is not None)], last)
        if lost or not self._files.add(told, asked, self._limit):
            self._full_at = self._from
            device.put("dram_log", 0)
            told, asked, rest = [], self._waiting, []  # requests whose commands are in the files
            self._files.add(told, asked, 2 * self._limit)
        self._waiting = rest
        self._commands += len(told)
        self._requests += sum(len(one.columns) for one in asked)
        self._from = cycle

    def _told(self, row: list[int]) -> Told:
        """Return a command of the log."""
        channel, tick, command, bank, number, line, words, left, cycle, age = row
        if command > Command.WRITE:
            return Told(channel, tick, command, bank, number, None, None)
        columns = self._shape.columns(line, words)
        column = columns[len(columns) - left]
        asked = None
        if left == 1:
            tick_of = end_tick(self._device.engine, self._device.g, cycle)
            asked = Access(age, tick_of, channel, bank, number, columns, command == Command.WRITE)
        return Told(channel, tick, command, bank, number, column, asked)

    def _ready(self, waiting: list[Access], last: bool) -> tuple[list[Access], list[Access]]:
        """Return the requests that no other one that has come before them can follow, in the order in which they came,
        and the rest."""
        oldest = min(map(self._oldest, range(self._shape.channels)))
        waiting = sorted(waiting)
        ready = [one for one in waiting if last or one.age < oldest]
        return ready, waiting[len(ready) :]

    def _oldest(self, channel: int) -> int:
        """Return the age of the oldest request that still waits at the channel, one beyond all ages where none does."""
        engine, g = self._device.engine, self._device.g
        used = int(engine.view(g, 0, "channel_used")[channel])
        first, age = engine.view(g, 0, "bank_first"), engine.view(g, 0, "age")
        banks = (channel * MAX_BANKS_OF_DRAM + b for b in range(self._shape.banks) if (used >> b) & 1)
        return min((int(age[int(first[b])]) for b in banks), default=self._device.get("stamp") + 1)

    def _idle_refreshes(self, cycle: int) -> list[Told]:
        """Return the commands of the refreshes that nobody has settled, channel after channel."""
        engine, g = self._device.engine, self._device.g
        end = end_tick(engine, g, cycle)
        out = []
        for channel in range(self._shape.channels):
            late = overdue(engine, g, channel, end)
            if late is None:
                continue
            if late.close is not None:
                out.append(Told(channel, late.close, Command.PRECHARGE_ALL, 0, 0, None, None))
            out += [Told(channel, tick, Command.REFRESH, 0, 0, None, None) for tick in (late.first, *late.more)]
        return out
