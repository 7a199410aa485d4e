"""This module runs a kernel with a trace, watchpoints and breaks, and records the observations.

Such a run has a log, to which all observers listen.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from binalloc.errors import Interrupted, KernelFault, LimitHit
from binalloc.files import written_whole
from binalloc.pipeline.running.touched import Touched

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.issue_log import IssueLog, Listener
    from binalloc.emulator.runs.run import Result
    from binalloc.emulator.runs.watch import Watch
    from binalloc.emulator.stops.stopped import Stopped
    from binalloc.emulator.traces.trace import Trace, TraceCounts, TraceOptions
    from binalloc.pipeline.running.touched import Watched, WatchedAccess

Write = Callable[[bytes], object]
"""A function that appends bytes to a file."""
Run = Callable[["IssueLog | None"], "Result"]
"""A function that runs a kernel with a log, or without."""


@dataclass(frozen=True)
class TraceFile:
    """This record names a trace to write."""

    path: str  #: a name that ends in .gz makes a compressed file
    options: TraceOptions  #: what it shows


@dataclass(frozen=True)
class WrittenTrace:
    """This record is a trace that was written."""

    file: str  #: path
    counts: TraceCounts  #: what the trace holds, in numbers


def _ignore(_: Any) -> None:
    """Do nothing with the argument."""


@dataclass(frozen=True)
class Observation:
    """This record says what is to be observed of a run."""

    trace: TraceFile | None = None
    watches: tuple[str, ...] = ()  #: watched pieces of memory, as users write them
    breaks: tuple[str, ...] = ()  #: places to stop at, as users write them
    most: int = 0  #: upper limit on listed accesses to watched memory
    #: is called with each listed access: during the run if `live`, else only if the kernel faults
    say: Callable[[WatchedAccess], None] = _ignore
    live: bool = False  #: whether `say` is called during the run
    file: Callable[[WrittenTrace], None] | None = None  #: is called with the written trace, even if the run fails


class SeenRun(NamedTuple):
    """This record is the result of an observed run."""

    result: Result
    trace: WrittenTrace | None
    watched: Watched | None
    stopped_at: LaunchedDevice | None  #: the device as it stopped at a break
    error: LimitHit | Interrupted | None = None  #: error that ended the run early; a break is none


def observed(start: Run, wanted: Observation, recorder: Listener | None = None) -> SeenRun:
    """Run and observe as wanted. recorder: another listener to the run's log.

    A kernel that faults, exceeds a limit or is interrupted leaves a trace up to then; any other error leaves no file.
    Raises KernelFault, and errors that keep a run from beginning.
    """
    return _Observed(wanted, recorder).run(start)


class _Observed:
    """This object is one observed run."""

    def __init__(self, wanted: Observation, recorder: Listener | None) -> None:
        self._wanted, self._recorder = wanted, recorder
        self._touched = Touched(wanted.most, wanted.say, wanted.live)
        self._result: Result | None = None
        self._stopped: Stopped | None = None
        self._error: LimitHit | Interrupted | None = None
        self._fault: KernelFault | None = None

    def run(self, start: Run) -> SeenRun:
        """Run and return what was seen; see `observed`."""
        watch = self._watch() if self._wanted.watches else None
        file = self._wanted.trace
        written = None
        with nullcontext() if file is None else written_whole(file.path) as write:
            if file is None:
                self._start(start, watch, None)
            else:
                assert write is not None
                written = self._traced(start, watch, file, write)
        if written is not None and self._wanted.file is not None:
            self._wanted.file(written)
        if self._fault is not None:
            self._touched.say_late()
            raise self._fault
        if watch is not None and not isinstance(self._error, Interrupted):
            watch.check()  # not after an interrupt, which must end the run at once
        assert self._result is not None
        watched = None if watch is None else self._touched.found
        device = None if self._stopped is None else self._stopped.device
        return SeenRun(self._result, written, watched, device, self._error)

    def _watch(self) -> Watch:
        """Make the watch of the wanted pieces of memory."""
        from binalloc.emulator.debug.breaks import WATCH
        from binalloc.emulator.debug.watches import joined, span_of
        from binalloc.emulator.runs.watch import Watch

        texts = self._wanted.watches
        return Watch(
            lambda device: self._touched.begin(device, joined([span_of(device, text) for text in texts])),
            self._touched.add,
            stop=WATCH in self._wanted.breaks,
        )

    def _start(self, start: Run, watch: Watch | None, trace: Trace | None) -> None:
        """Run, and keep the result and the error that ended the run."""
        from binalloc.emulator.runs.run import Result
        from binalloc.emulator.stops.stopped import Stopped

        try:
            self._result = start(self._log(watch, trace))
        except (Stopped, LimitHit, Interrupted) as stopped:
            if not isinstance(stopped.partial, Result):
                raise
            self._result = stopped.partial
            if isinstance(stopped, Stopped):
                self._stopped = stopped
            else:
                self._error = stopped
        except KernelFault as fault:
            self._fault = fault

    def _log(self, watch: Watch | None, trace: Trace | None) -> IssueLog | None:
        """Return a log with all listeners; None if there are none."""
        from binalloc.emulator.debug.breaks import WATCH, breaking
        from binalloc.emulator.runs.issue_log import IssueLog

        listeners = [] if trace is None else [trace.listener()]
        listeners += [] if self._recorder is None else [self._recorder]
        listeners += [] if watch is None else [watch.listener()]
        listeners += [breaking([text for text in self._wanted.breaks if text != WATCH])] if self._wanted.breaks else []
        everything = trace is not None or (self._recorder is not None and self._recorder.everything)
        return IssueLog(listeners, everything=everything) if listeners else None

    def _traced(self, start: Run, watch: Watch | None, file: TraceFile, write: Write) -> WrittenTrace:
        """Run, and write the trace."""
        from binalloc.emulator.traces.trace import Trace

        packed = _Packed(write) if file.path.endswith(".gz") else None
        trace = Trace(write if packed is None else packed.write, file.options)
        self._start(start, watch, trace)
        found = trace.end(self._how())
        if packed is not None:
            packed.end()
        return WrittenTrace(file.path, found)

    def _how(self) -> str:
        """Return how the run ended, in words for the trace."""
        if self._result is not None and not self._result.partial:
            return "the grid ended"
        if self._stopped is not None:
            return "stopped at a break"
        return f"stopped: {getattr(self._fault or self._error, 'message', 'interrupted')}"


class _Packed:
    """This writer compresses what is written to it. The file has no time, so that equal traces make equal files."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)  # + 16: a gzip header without a time

    def write(self, data: bytes) -> None:
        """Compress and write."""
        self._write(self._packer.compress(data))

    def end(self) -> None:
        """Write the rest."""
        self._write(self._packer.flush())
