"""Traces of runs of kernel `k`, as bytes and as what they say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from binalloc.emulator.runs.issue_log import IssueLog, Listener
from binalloc.emulator.runs.run import Result
from binalloc.emulator.traces.trace import Trace, TraceOptions
from tests.support.kits.emulator.run_log import Row, plain
from tests.support.kits.emulator.small import go
from tests.support.oracles.traces.trace_events import violations

Slice = tuple[float, float, str, dict[str, Any]]
"""Start, end, name, arguments."""


@dataclass
class Traced:
    """A run, its log, the trace it left, and what the trace was said to hold."""

    result: Result
    rows: list[Row]
    data: bytes
    found: dict[str, Any]

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    def tracks(self) -> dict[tuple[str, str], list[Slice]]:
        """Slices by the names of process and thread."""
        events = self.json["traceEvents"]
        of = {
            (e["name"], e["pid"], e["tid"]): e["args"].get("name") for e in events if e["ph"] == "M"
        }  # a process's name is told on its first thread
        found: dict[tuple[str, str], list[Slice]] = {}
        for e in events:
            if e["ph"] == "X":
                key = of["process_name", e["pid"], 1], of["thread_name", e["pid"], e["tid"]]
                found.setdefault(key, []).append((e["ts"], round(e["ts"] + e["dur"], 3), e["name"], e["args"]))
        return found

    def counter(self, process: int, name: str) -> list[tuple[float, dict[str, float]]]:
        """Samples of a counter."""
        events = self.json["traceEvents"]
        return [(e["ts"], e["args"]) for e in events if e["ph"] == "C" and (e["pid"], e["name"]) == (process, name)]


def traced(module: Any, options: TraceOptions | None = None, how: str = "the grid ended", **launch: Any) -> Traced:
    """Run kernel `k` as `go` does; the trace is a valid one."""
    pieces: list[bytes] = []
    batches: list[Any] = []
    trace = Trace(pieces.append, options or TraceOptions())
    log = IssueLog([trace.listener(), Listener(batches.append)])
    result = go(module, log=log, **launch)
    found = trace.end(how)
    data = b"".join(pieces)
    assert violations(data) == []
    assert found.bytes == len(data)
    return Traced(result, plain(batches), data, found._asdict())
