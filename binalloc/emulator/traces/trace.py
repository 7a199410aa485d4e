"""This module makes a trace of one run for Perfetto or chrome://tracing: give its `log` to `run`, then `end` it.

    with written_whole("t.json") as write:
        trace = Trace(write, TraceOptions())
        run(module, kernel, launch, machine, log=IssueLog([trace.listener()]))
        trace.end("the grid ended")

Memory is bounded, whatever the run, as events are written when they come. The same run makes the same bytes in both
engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.issue_log import Batch, Listener
from binalloc.emulator.traces.event_file import EventFile
from binalloc.emulator.traces.series import TraceSeries, described
from binalloc.emulator.traces.timeline import Timeline
from binalloc.emulator.traces.windows import Windows
from binalloc.version import VERSION

DEFAULT_LIMIT = 1_000_000
"""Events: 150 to 250 MB, about what viewers take."""
DEFAULT_INTERVAL = 100
"""Cycles between samples of the counters. A shorter interval shows more and makes a larger file; chosen by hand."""
_READING = {
    "time": "1 us is one core cycle; a pair of instructions issued by a warp in one cycle shares it",
    "processes": "process n + 1 is SM n, its thread w + 1 warp slot w; the last process is what all SMs share",
    "instructions": "from issue until the warp may go on: its stall count, or a control instruction's latency",
    "waits": "for scoreboards, called after the latest instruction that set one; at barriers; `ready`: it may issue, "
    "but its scheduler chose others or the ports were taken; `ended`: it waits for what it asked for, or its block",
}


@dataclass(frozen=True)
class TraceOptions:
    """The options of a trace say what it shows."""

    windows: Windows = field(default_factory=Windows)  #: cycles
    limit: int = DEFAULT_LIMIT  #: most events
    interval: int = DEFAULT_INTERVAL  #: cycles between samples of counters


class TraceCounts(NamedTuple):
    """The record counts what a trace holds of its run, and what it lacks."""

    events: int  #: in it, but for those that name processes and threads
    instructions: int  #: warp instructions drawn
    left_out: int  #: warp instructions not drawn
    full_at_cycle: int | None  #: from then on nothing is drawn, as there were too many events
    bytes: int  #: before any compression


class Trace:
    """A trace shows the run that gets its listener."""

    def __init__(self, write: Callable[[bytes], object], options: TraceOptions) -> None:
        self._options = options
        self._file = EventFile(write, options.limit)
        self._device: LaunchedDevice | None = None
        self._timeline: Timeline | None = None
        self._series: TraceSeries | None = None

    def listener(self) -> Listener:
        """Return the listener for an `IssueLog`."""
        return Listener(self._receive, begin=self._begin)

    def end(self, how: str) -> TraceCounts:
        """Complete the file, and return its counts. how: how the run ended."""
        device, timeline, series = self._device, self._timeline, self._series
        assert device is not None
        assert timeline is not None
        assert series is not None
        if timeline.cut is None:
            timeline.end(device.get("cycle"))
            series.end()
        found = TraceCounts(self._file.events, timeline.drawn, timeline.issued - timeline.drawn, timeline.cut, 0)
        counts = found._asdict()
        del counts["bytes"]
        self._file.end(self._about(device, how) | counts)
        return found._replace(bytes=self._file.bytes)

    def _begin(self, device: LaunchedDevice) -> None:
        self._device = device
        self._series = TraceSeries(device, self._file, self._options.interval)
        self._timeline = Timeline(device, self._file, self._options.windows)
        device.samplers.append(self._series)

    def _receive(self, batch: Batch) -> None:
        assert self._timeline is not None
        self._timeline.receive(batch)

    def _about(self, device: LaunchedDevice, how: str) -> dict[str, object]:
        """Return the metadata: the source of the trace, and how to read it."""
        w = self._options.windows
        shown = "every cycle" if w.whole else f"from cycle {w.first}" + ("" if w.last is None else f" up to {w.last}")
        shown += f", the first {w.length} of every {w.every}" if w.every else ""
        return {
            "made_by": f"binalloc {VERSION}",
            "kernel": device.kernel.name,
            "machine": device.machine.name,
            "core_mhz": device.machine.clock.core_mhz,
            "sms": device.sms_count,
            "cycles": device.get("cycle"),
            "ended": how,
            "shown": shown,
            "reading": _READING | {"counters": described(self._options.interval)},
        }
