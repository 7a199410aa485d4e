"""The log of what the SMs of a run do, as batches of NumPy arrays: for traces, watchpoints, whoever wants every issue.

    def receive(batch: Batch) -> None:
        issues = batch.of(LogKind.ISSUE)
        ...

    run(module, kernel, launch, machine, log=IssueLog([Listener(receive, addresses=True)]))

Device code writes rows (`state.parts.log` says what they mean); after every quantum, which ends early when there are
many, they are taken out here, put into one order and handed on, so that memory is bounded however long a run is. The
rows are the same in both engines, and in the event-skipping and the per-cycle mode: rows of a cycle come SM by SM, in
each first what falls due (scoreboards, ends of blocks, held lines that go on) by warp slot, then a new block, then what
the schedulers issue, in the order in which it executes.
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
"""Rows after which a quantum ends, if others may be written in the cycle before it does."""
_DUE = (LogKind.SCOREBOARD, LogKind.RESUME, LogKind.BLOCK_END, LogKind.GO_ON)


@dataclass(frozen=True)
class Batch:
    """Rows of the log in their order.

    rows: int64 [row, `LogColumn`]. addresses: int64 [access, lane], of memory instructions that some lane executes, but
    not of texture fetches; a row's LANES says which is its own, -1 none. Addresses of shared and local memory are bytes
    from its start, those of constants offsets in their bank. Lanes that do not execute have addresses that mean
    nothing. data: int64 [access, `DATA_WORDS`, lane], where asked for: the words that a store stores (narrower ones in
    the first); of an atomic operand B in the first two, C in the others; the rest is 0.
    """

    rows: Ints
    addresses: Ints
    data: Ints

    def column(self, number: int) -> Ints:
        """A column of all rows, by its number in `LogColumn`."""
        return self.rows[:, number]

    def of(self, kind: int) -> Batch:
        """The rows of one kind, with the same addresses."""
        return Batch(self.rows[self.column(LogColumn.KIND) == kind], self.addresses, self.data)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Listener:
    """Who wants batches. addresses, data: what of accesses' lanes it needs. begin: called with the device before the
    first cycle."""

    receive: Callable[[Batch], None]
    addresses: bool = False
    data: bool = False
    begin: Callable[[LaunchedDevice], None] | None = None

    @property
    def keep(self) -> int:
        """As `g.log_keep` says it."""
        return Keep.DATA if self.data else Keep.ADDRESSES if self.addresses else Keep.NOTHING


@dataclass
class IssueLog:
    """The log of one run: what `run` takes. everything: False logs accesses to what is watched alone."""

    listeners: Sequence[Listener]
    everything: bool = True
    drain_at: int = DRAIN_AT
    device: LaunchedDevice | None = field(default=None, init=False)

    def begin(self, device: LaunchedDevice) -> None:
        """Switch the log of `device` on. Refused for a device of which one cycle could fill the log."""
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
        """Hand on the rows that wait: to all listeners, also where one has had enough (LimitHit)."""
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
    """The most rows, and accesses, that one cycle of the device writes: a warp ends, waits, goes on, is told of a
    barrier once each, a block comes and goes, and an issue says itself, that it waits, and that lines are held."""
    issues = device.machine.schedulers.count * device.machine.schedulers.issue_width
    sm = 3 * issues + 5 * device.get("warp_limit") + 2 * device.get("resident_limit") + 2
    return device.sms_count * sm, device.sms_count * issues


def in_order(rows: Ints) -> Ints:
    """Rows of whole cycles in the order that both modes share: within an SM's cycle what is due stands in front of the
    first block or issue, by warp slot and kind."""
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
