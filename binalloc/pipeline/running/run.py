"""This module runs one launch in the emulator, and returns a record with everything that was to be observed of it.

Needs a module scheduled for the machine. Leaves true: a stopped run has a record as well, and its `ended` says what
stopped it; no result is handed on in an exception. Writes no file but the trace, which grows during the run, and the
recorder's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from binalloc.emulator.host.figures.skew import skewed_cycles
from binalloc.errors import Interrupted, LimitHit
from binalloc.launch.merged import fitting
from binalloc.pipeline.running.observed import Observation, observed
from binalloc.pipeline.running.reference import AgainstReference, against_reference, require_reference
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.pipeline.steps.measure import run_progress

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.issue_log import IssueLog, Listener
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.run import Result
    from binalloc.emulator.traces.dram_log import DramLog, DramLogCounts
    from binalloc.isa.instruction import Function, Module
    from binalloc.launch.types import Launch
    from binalloc.pipeline.running.observed import WrittenTrace
    from binalloc.pipeline.running.touched import Watched

Runner = Callable[["Module", str, "Launch", "RunOptions"], "Result"]
"""A function that runs one launch of a kernel, given by name."""


class Recorder(Protocol):
    """A recorder listens to a whole run, and keeps its recording only if the run comes to its end."""

    @property
    def listener(self) -> Listener:
        """Return the listener for the run's log."""

    def keep(self) -> None:
        """Keep the recording: the grid has ended."""


MakeRecorder = Callable[["Module", "Function", "Launch"], AbstractContextManager[Recorder]]
"""A function that makes the recorder of one run. When the recorder is closed, a recording that was not kept is lost."""


@dataclass
class KernelRun:
    """This record is an emulated run of one launch, with what was observed of it; the run may have been stopped."""

    module: Module
    function: Function  #: the kernel
    launch: Launch
    options: RunOptions
    result: Result
    #: error that stopped it, or one of the runs with skews after it; None at its end and at a break
    ended: LimitHit | Interrupted | None = None
    trace: WrittenTrace | None = None  #: the trace; None if none was asked for
    watched: Watched | None = None  #: accesses to watched memory; None if nothing is watched
    breaks: bool = False  #: whether there were breaks
    stopped_at: LaunchedDevice | None = None  #: the device as it stopped at a break
    reference: AgainstReference | None = None  #: comparison with the launch's reference; None if not asked for
    recorded: bool = False  #: whether the recorder has kept the run
    dram_log: DramLogCounts | None = None  #: what the DRAM log holds; None if none was asked for
    skewed: tuple[int, ...] = ()  #: cycles of the runs with each seed's delays
    step: int | None = None  #: number of the launch in a sequence
    whole: bool = False  #: whether the grid and all listeners came to their ends


def run_kernel(
    module: Module,
    kernel: str | None,
    launch: Launch,
    options: RunOptions,
    *,
    progress: Callable[[str], None],
    wanted: Observation | None = None,
    reference: bool = False,
    recorder: MakeRecorder | None = None,
    runner: Runner | None = None,
    dram_log: DramLog | None = None,
) -> KernelRun:
    """Run `kernel` (default: the launch's) and return its record.

    wanted: what else is to be observed. reference: whether buffers are compared with the launch's reference (not if the
    run is stopped). recorder: makes the run's recorder. runner: runs the launch in place of `run_launch`.

    Raises KernelFault, Refused and UsageError; LimitHit and Interrupted only if nothing is known of the run.
    """
    from binalloc.emulator.runs.run import run_launch

    run = run_launch if runner is None else runner
    fn = find_kernel(module, launch.kernel if kernel is None else kernel)
    launch = fitting(launch, module, fn.name)
    if reference:
        require_reference(launch, launch.path)
    options = replace(options, progress=run_progress(fn.name, progress))

    samplers = () if dram_log is None else (dram_log.begin,)

    def start(log: IssueLog | None) -> Result:
        return run(module, fn.name, launch, replace(options, log=log, samplers=samplers))

    with nullcontext() if recorder is None else recorder(module, fn, launch) as recording:
        try:
            seen = observed(start, wanted or Observation(), None if recording is None else recording.listener)
        finally:  # a kernel that faults leaves a log up to then
            filled = None if dram_log is None else dram_log.end()
        found = KernelRun(
            module, fn, launch, options, seen.result, seen.error, seen.trace, seen.watched,
            bool(wanted and wanted.breaks), seen.stopped_at, dram_log=filled,
        )  # fmt: skip
        if recording is not None and found.ended is None and not found.result.partial:
            recording.keep()
            found.recorded = True
    if found.ended is not None or found.result.partial:
        return found
    found.whole = True
    if reference:
        found.reference = against_reference(launch, found.result.buffers)
    _run_with_skews(found, run)
    return found


def _run_with_skews(found: KernelRun, run: Runner) -> None:
    """Repeat the run with the delays of as many seeds as the options ask for. If one is stopped, `ended` says so."""
    bare = replace(found.options, every=None, profile=False, by_object=False)

    def cycles_of(seed: int) -> int:
        return run(found.module, found.function.name, found.launch, replace(bare, skew=seed)).cycles

    try:
        found.skewed = skewed_cycles(cycles_of, found.options.skews)
    except (LimitHit, Interrupted) as error:
        found.ended = error
    except KeyboardInterrupt as interrupted:
        found.ended = Interrupted(None, getattr(interrupted, "exit_code", 130))
