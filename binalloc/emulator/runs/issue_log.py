"""This module hands batches of the log of a run's SMs, as NumPy arrays, to traces, watchpoints, or any other listener.

    def receive(batch: Batch) -> None:
        issues = batch.of(LogKind.ISSUE)
        ...

    run(module, kernel, launch, machine, log=IssueLog([Listener(receive, addresses=True)]))

Device code writes rows, whose meaning is in `state.parts.log`. After every quantum they are taken out here, ordered and
handed on. A quantum ends early when there are many rows, so memory is bounded however long a run is. The rows are the
same in both engines, and in the event-skipping and the per-cycle mode. Rows of a cycle come SM by SM. For each SM the
due events come first (scoreboards, ends of blocks, held lines that go on), by warp slot. Then come a new block and the
issues of the schedulers, in the order of execution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.parts.log import (
    DATA_WORDS,
    LOG_ACCESSES,
    LOG_ROWS,
    Keep,
    LogColumn,
    LogKind,
)
from binalloc.errors import LimitHit, Refused

Ints = NDArray[np.int64]
DRAIN_AT = 1 << 14
"""Rows after which a quantum ends, at the end of the cycle. More take more memory, fewer make more batches; chosen by
hand."""
_DUE = (LogKind.SCOREBOARD, LogKind.RESUME, LogKind.BLOCK_END, LogKind.GO_ON)


@dataclass(frozen=True)
class Batch:
    """A batch has rows of the log in their order."""

    rows: Ints  #: int64 [row, `LogColumn`]
    #: int64 [access, lane], of memory instructions with an executing lane, without texture fetches. A row's LANES is
    #: the index of its access, -1 for none. Addresses of shared and local memory are bytes from its start, addresses of
    #: constants are offsets in their bank. Those of lanes that do not execute mean nothing
    addresses: Ints
    #: int64 [access, `DATA_WORDS`, lane], where asked for. For a store: the stored words, of which narrow ones are in
    #: the first. For an atomic: operand B in the first two, C in the others. The rest is 0
    data: Ints

    def column(self, number: int) -> Ints:
        """Return a column of all rows, by its number in `LogColumn`."""
        return self.rows[:, number]

    def of(self, kind: int) -> Batch:
        """Return the rows of one kind, with the same addresses."""
        return Batch(self.rows[self.column(LogColumn.KIND) == kind], self.addresses, self.data)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Listener:
    """A listener receives batches."""

    receive: Callable[[Batch], None]
    addresses: bool = False  #: whether it needs the addresses of accesses' lanes
    data: bool = False  #: whether it needs the data of accesses' lanes
    begin: Callable[[LaunchedDevice], None] | None = None  #: called with the device before the first cycle
    everything: bool = True  #: whether it needs all rows, or those of accesses to watched bytes alone

    @property
    def keep(self) -> int:
        """Return the value of `g.log_keep` for this listener."""
        return Keep.DATA if self.data else Keep.ADDRESSES if self.addresses else Keep.NOTHING


@dataclass
class IssueLog:
    """An issue log collects what the SMs of one run do. It is for the option `log` of `run`."""

    listeners: Sequence[Listener]
    everything: bool = True  #: False logs only accesses to watched bytes
    drain_at: int = DRAIN_AT
    device: LaunchedDevice | None = field(default=None, init=False)

    def begin(self, device: LaunchedDevice) -> None:
        """Switch the log of `device` on. Raises Refused for a device of which one cycle could fill the log."""
        self.device = device
        marks = _marks(device)
        for name, most, room in (("rows of the log", marks[0], LOG_ROWS), ("accesses of it", marks[1], LOG_ACCESSES)):
            if most >= room:
                raise Refused("the device is too large to be logged", place=name, found=most, expected=f"below {room}")
        device.put("logging", 1)
        device.put("log_all", int(self.everything))
        device.put("log_keep", max((each.keep for each in self.listeners), default=Keep.NOTHING))
        device.put("log_full", min(self.drain_at, LOG_ROWS - marks[0]))
        device.put("log_lanes_full", min(self.drain_at, LOG_ACCESSES - marks[1]))
        device.drain = self.drain
        for each in self.listeners:
            if each.begin is not None:
                each.begin(device)

    def drain(self) -> None:
        """Hand the waiting rows to all listeners, even where one of them raises LimitHit."""
        device = self.device
        assert device is not None
        n, lanes = device.get("logged"), device.get("logged_lanes")
        device.put("log_stop", 0)
        if n == 0:
            return
        device.put("logged", 0)
        device.put("logged_lanes", 0)
        rows = device.engine.view(device.g, 0, "log")[:n].copy()
        columns = device.engine.view(device.g, 0, "log_lane")[:lanes]
        data = columns[:, L.LANES :].reshape(lanes, DATA_WORDS, L.LANES).copy()
        batch = Batch(in_order(rows), columns[:, : L.LANES].copy(), data)
        enough: LimitHit | None = None
        for each in self.listeners:
            try:
                each.receive(batch)
            except LimitHit as error:
                enough = enough or error
        if enough is not None:
            raise enough


def _marks(device: LaunchedDevice) -> tuple[int, int]:
    """Return the most rows, and the most accesses, that one cycle of the device writes.

    A warp ends, waits, goes on, comes to a barrier and leaves it once each. A block comes and goes. An issue has up to
    three rows: itself, its wait, and its held lines.
    """
    issues = device.machine.schedulers.count * device.machine.schedulers.issue_width
    sm = 3 * issues + 5 * device.get("warp_limit") + 2 * device.get("resident_limit") + 2
    return device.sms_count * sm, device.sms_count * issues


def in_order(rows: Ints) -> Ints:
    """Return rows of whole cycles in the order of both modes. Within an SM's cycle the events that are due come before
    the first block or issue, by warp slot and kind."""
    kind = rows[:, LogColumn.KIND]
    group = np.lexsort((rows[:, LogColumn.SM], rows[:, LogColumn.CYCLE]))
    rows, kind = rows[group], kind[group]
    begins = np.ones(len(rows), bool)
    begins[1:] = (np.diff(rows[:, LogColumn.CYCLE]) != 0) | (np.diff(rows[:, LogColumn.SM]) != 0)
    number = np.cumsum(begins) - 1
    turn = ~np.isin(kind, _DUE)
    turns = np.cumsum(turn)
    due: NDArray[np.bool_] = turns == (turns - turn)[begins][number]
    place = np.where(due, rows[:, LogColumn.WARP] * len(LogKind.names) + kind, np.arange(len(rows)))
    return rows[np.lexsort((place, ~due, number))]
