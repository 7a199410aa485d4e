"""One emulated run of one launch, with all that was asked to be seen of it, as a record.

Needs a module scheduled for the machine. Leaves true: a run that was stopped has a record as well, whose `ended` says
by what; nothing travels in exceptions. Writes no file but the trace, which grows while the run goes on, and what a
recorder keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from binalloc.emulator.host.figures.skew import skewed_cycles
from binalloc.errors import Interrupted, LimitHit
from binalloc.launch.file import check_against
from binalloc.pipeline.running.observed import Wanted, observed
from binalloc.pipeline.running.reference import AgainstReference, against_reference, require_reference
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.pipeline.steps.measure import run_progress

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.issue_log import IssueLog, Listener
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.run import Result
    from binalloc.isa.instruction import Function, Module
    from binalloc.launch.types import Launch
    from binalloc.pipeline.running.observed import WrittenTrace
    from binalloc.pipeline.running.touched import Watched

Runner = Callable[["Module", str, "Launch", "RunOptions"], "Result"]


class Recorder(Protocol):
    """Something that listens to a whole run and keeps what it has made of it only if the run ends."""

    @property
    def listener(self) -> Listener:
        """The listener for the run's log."""

    def keep(self) -> None:
        """Put what was recorded where it belongs: the grid has ended."""


MakeRecorder = Callable[["Module", "Function", "Launch"], AbstractContextManager[Recorder]]
"""Makes the recorder of one run; what it has not kept is gone when it is closed."""


@dataclass
class KernelRun:
    """An emulated run of one launch, be it one that was stopped, and what was seen of it."""

    module: Module
    function: Function  #: the kernel
    launch: Launch
    options: RunOptions
    result: Result
    ended: LimitHit | Interrupted | None = None  #: what stopped it, or a run with skews behind it; None for a break
    trace: WrittenTrace | None = None
    watched: Watched | None = None
    breaks: bool = False  #: whether it was to stop somewhere
    stopped_at: LaunchedDevice | None = None  #: the device as it stopped at a break
    reference: AgainstReference | None = None
    recorded: bool = False  #: whether the recorder has kept the run
    skewed: tuple[int, ...] = ()  #: cycles of the runs with each seed's delays
    step: int | None = None  #: number of the launch in a sequence
    whole: bool = False  #: the grid has ended, and so has whoever listened


def run_kernel(
    module: Module,
    kernel: str | None,
    launch: Launch,
    options: RunOptions,
    *,
    progress: Callable[[str], None],
    wanted: Wanted | None = None,
    reference: bool = False,
    recorder: MakeRecorder | None = None,
    runner: Runner | None = None,
) -> KernelRun:
    """Run `kernel` (default: the launch's) and return its record. Raises KernelFault, Refused, UsageError; LimitHit and
    Interrupted only where nothing of the run is known.

    wanted: what else is to be seen. reference: compare the buffers with the launch's reference, unless the run was
    stopped. recorder: makes the one who records the run. runner: runs the launch in place of `run_launch`.
    """
    from binalloc.emulator.runs.run import run_launch

    run = run_launch if runner is None else runner
    fn = find_kernel(module, launch.kernel if kernel is None else kernel)
    check_against(launch, fn.info, module.path)
    if reference:
        require_reference(launch, launch.path)
    options = replace(options, progress=run_progress(fn.name, progress))

    def start(log: IssueLog | None) -> Result:
        return run(module, fn.name, launch, replace(options, log=log))

    with nullcontext() if recorder is None else recorder(module, fn, launch) as recording:
        seen = observed(start, wanted or Wanted(), None if recording is None else recording.listener)
        found = KernelRun(
            module, fn, launch, options, seen.result, seen.error, seen.trace, seen.watched,
            bool(wanted and wanted.breaks), seen.stopped_at,
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
    """Repeat the run with the delays of as many seeds as the options ask for; a stop of these ends the record."""
    bare = replace(found.options, every=None, profile=False)

    def cycles_of(seed: int) -> int:
        return run(found.module, found.function.name, found.launch, replace(bare, skew=seed)).cycles

    try:
        found.skewed = skewed_cycles(cycles_of, found.options.skews)
    except (LimitHit, Interrupted) as error:
        found.ended = error
    except KeyboardInterrupt as interrupted:
        found.ended = Interrupted(None, getattr(interrupted, "exit_code", 130))
