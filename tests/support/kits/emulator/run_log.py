"""Runs with a log of what their SMs did, and the log as plain values that can be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.run import Result
from binalloc.emulator.state.layout import LANES
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from tests.support.kits.emulator.small import go

ALL = (1 << LANES) - 1


class Row(NamedTuple):
    """A row; addresses of the lanes that execute, and their data words, by lane."""

    kind: str
    cycle: int
    sm: int
    warp: int
    block: int
    in_block: int
    pc: int
    mask: int
    detail: int
    addresses: dict[int, int]
    data: dict[int, list[int]]


def plain(batches: list[Batch]) -> list[Row]:
    """All rows of the batches."""
    return [_row(batch, values) for batch in batches for values in batch.rows.tolist()]


def _row(batch: Batch, values: list[int]) -> Row:
    kind, *rest, at = values
    mask = values[LogColumn.MASK]
    lanes = [t for t in range(LANES) if mask >> t & 1] if at >= 0 else []
    addresses = {t: int(batch.addresses[at, t]) for t in lanes}
    data = {t: batch.data[at, :, t].tolist() for t in lanes}
    return Row(LogKind.names[kind], *rest, addresses, data)


def logged(module: Any, *, drain_at: int = 1 << 14, data: bool = True, **options: Any) -> tuple[Result, list[Row]]:
    """Run kernel `k` as `go` does."""
    batches: list[Batch] = []
    log = IssueLog([Listener(batches.append, addresses=True, data=data)], drain_at=drain_at)
    result = go(module, log=log, **options)
    return result, plain(batches)
