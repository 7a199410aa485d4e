"""This module runs a program of several launches, or one launch of it, in the emulator, and returns a record.

Needs a module scheduled for the machine, with all kernels that the program launches. Leaves true: a stopped run has a
record as well, of the launches that had ended. Writes no file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from binalloc.errors import Interrupted, LimitHit
from binalloc.launch.program.file import load_program
from binalloc.launch.program.types import Program
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.running.reference import AgainstReference, against_reference, require_reference
from binalloc.pipeline.running.run import KernelRun, MakeRecorder, run_kernel
from binalloc.pipeline.steps.programs import kernels_of, program_progress, scheduled_for

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.program import Ran
    from binalloc.emulator.runs.run import Result
    from binalloc.emulator.traces.dram_log import DramLog
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.running.observed import Observation


@dataclass
class ProgramRun:
    """This record is an emulated run of all launches of a program; the run may have been stopped."""

    program: Program
    ran: Ran  #: results and figures
    ended: LimitHit | Interrupted | None = None  #: error that stopped it; None if it ran to its end
    reference: AgainstReference | None = None  #: comparison with the program's reference; None if not asked for


def run_whole_program(
    module: Module, program: Program, options: RunOptions, *, progress: Callable[[str], None], reference: bool = False
) -> ProgramRun:
    """Run a program and return its record.

    reference: whether buffers are compared with the program's reference (not if the run is stopped). Raises what
    `run_steps` raises; LimitHit and Interrupted only if nothing was launched.
    """
    from binalloc.emulator.runs.program import run_steps

    if reference:
        require_reference(program.held, program.path)
    try:
        ran = run_steps(
            module, program, options, kernels=kernels_of(module, program), progress=program_progress(progress)
        )
    except (LimitHit, Interrupted) as error:
        if error.program is None:
            raise
        return ProgramRun(program, cast("Ran", error.program), error)
    found = ProgramRun(program, ran)
    if reference:
        found.reference = against_reference(program.held, ran.buffers, program.constants)
    return found


def run_step(
    module: Module,
    program: Program,
    options: RunOptions,
    step: int,
    *,
    progress: Callable[[str], None],
    wanted: Observation | None = None,
    recorder: MakeRecorder | None = None,
    dram_log: DramLog | None = None,
) -> KernelRun:
    """Run a program up to its launch of number `step`, and return the record of this launch, as `run_kernel` does.

    options: for the launches before it and for itself. Raises UsageError if the program has no such launch.
    """
    from binalloc.emulator.runs.program import LaunchReached, run_steps

    unseen = replace(options, every=None, profile=False, by_object=False)
    try:
        run_steps(
            module, program, unseen, kernels=kernels_of(module, program), stop_at=step,
            progress=program_progress(progress),
        )
    except LaunchReached as there:
        reached = there
    else:
        raise AssertionError(step)  # `run_steps` raises UsageError if there is no such launch

    def one(_: Module, __: str, launch: Launch, asked: RunOptions) -> Result:
        return reached.session.launch(launch, reached.parameters, asked, contents=True)

    found = run_kernel(
        module, reached.launch.kernel, reached.launch, options, progress=progress, wanted=wanted, recorder=recorder,
        runner=one, dram_log=dram_log,
    )  # fmt: skip
    found.step = step
    return found


def run_program(
    module: Module, program: Program | str | Path, machine: Machine | str | Path | None = None, **options: Any
) -> Ran:
    """Run all launches of a program on one device, which keeps its memory between them.

    module: has all launched kernels; if it is scheduled for another machine, a copy in memory is scheduled for this
    one. program: a checked program, or the path of its file. machine: a model, its name or its file; without it,
    the binary's own.

    options: `engine`, `scheduler`, `sms`, `max_cycles` (of all launches together), `check`, `race` as in `run`. With
    `host_steps`, functions of Python files may be called. `buffers` has contents in place of the program's own, by
    name. `progress` is called now and then with the number of ended launches, the running kernel, and the cycle.

    Raises what `run` raises, each error with its step, and LimitHit for an endless loop.
    """
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.program import run_steps

    loaded = program if isinstance(program, Program) else load_program(program)
    kernels = kernels_of(module, loaded)
    first = next(iter(kernels.values())).name if kernels else None
    model = own_machine(module, first, machine, runs=True)
    module = scheduled_for(module, kernels, model)
    given = {name: options.pop(name) for name in ("buffers", "progress") if name in options}
    asked = RunOptions(machine=model, **options)
    return run_steps(module, loaded, asked, kernels=kernels_of(module, loaded), **given)
