"""This module runs an original and its rewritten binary in the emulator, and compares their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from binalloc.emulator.host.pairs import OFF
from binalloc.errors import running
from binalloc.launch.types import CompareMode

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.isa.instruction import Module
    from binalloc.launch.comparison import Shown
    from binalloc.launch.file import Difference, Launch
    from binalloc.launch.program.types import Program


@dataclass(frozen=True)
class FirstStore:
    """This record has the stores that wrote the first differing element, and the values they left there."""

    element: str
    expected: Shown  #: value that the original left
    actual: Shown  #: value that the rewritten binary left
    original: str | None  #: the original's store, in words; None if there is none
    rewritten: str | None  #: the rewritten binary's store, in words; None if there is none


@dataclass(frozen=True)
class ComparedRuns:
    """This record has the runs of the original and the rewritten binary, side by side."""

    machine: str
    scheduler: str
    rescheduled: bool  #: whether the original had to be scheduled for the machine first
    differences: list[str]  #: first difference of each buffer and variable, and of what was printed
    first_store: FirstStore | None  #: stores to the first differing element; None if not looked for, or not found
    original: int  #: emulated cycles
    rewritten: int  #: emulated cycles

    @property
    def same(self) -> bool:
        """Return whether both runs left the same results and printed the same."""
        return not self.differences


def compare_programs(
    old: Module, new: Module, program: Program, options: RunOptions, progress: Callable[[str], None]
) -> ComparedRuns:
    """Run all launches of a program with both binaries, and compare the results. Raises what `run_steps` raises."""
    from binalloc.emulator.runs.program import run_steps
    from binalloc.launch.file import compare, compare_globals
    from binalloc.pipeline.steps.programs import kernels_of, program_progress, scheduled_for

    results = []
    given = scheduled_for(old, kernels_of(old, program), options.machine)
    for which, module in (("original", given), ("rewritten", new)):
        with running(f"the {which}"):
            kernels = kernels_of(module, program)
            results.append(run_steps(module, program, options, kernels=kernels, progress=program_progress(progress)))
    before, after = results
    differences = compare(program.held, before.buffers, after.buffers)
    differences += compare_globals(program.held, before.globals, after.globals)
    found = [str(d) for d in differences] + _printed(before.said.differs(after.said))
    return ComparedRuns(
        options.machine.name, options.scheduler, given is not old, found, None, before.cycles, after.cycles
    )


def _printed(difference: str | None) -> list[str]:
    """Return a difference in printed text as a list; an empty one if there is none."""
    return [] if difference is None else [difference]


def compare_launches(
    old: Module,
    new: Module,
    kernel: str,
    launch: Launch,
    options: RunOptions,
    progress: Callable[[str], None],
) -> ComparedRuns:
    """Run one launch with both binaries, and compare the results. Blocks of the original share nothing, whatever the
    options say of the rewritten one: with other slots it may have no such pairs. Raises what `run_launch` raises."""
    from binalloc.emulator.runs.run import run_launch
    from binalloc.launch.file import compare, compare_globals, variable_name
    from binalloc.launch.merged import fitting
    from binalloc.pipeline.steps.measure import run_progress

    machine = options.machine
    rescheduled = any(fn.info.machine != machine.name for fn in old)
    if rescheduled:
        from binalloc.transform.schedule.schedule import schedule

        old = schedule(old, machine)
    launches = [fitting(launch, module, kernel) for module in (old, new)]
    results = []
    for which, module, own in zip(("original", "rewritten"), (old, new), launches, strict=True):
        with running(f"the {which}"):
            notify = run_progress(f"{kernel}, {which}", progress)
            how = replace(options, sharing=OFF) if which == "original" else options
            results.append(run_launch(module, kernel, own, replace(how, progress=notify)))
    before, after = results
    differences = compare(launch, before.buffers, after.buffers)
    differences += compare_globals(launch, before.globals, after.globals)
    data = before.buffers | {variable_name(name): values for name, values in before.globals.items()}
    traced = bool(differences) and launches == [launch, launch]
    first = _first_store(old, new, kernel, launch, options, differences[0], data) if traced else None
    found = [str(d) for d in differences] + _printed(before.printed.differs(after.printed))
    return ComparedRuns(machine.name, options.scheduler, rescheduled, found, first, before.cycles, after.cycles)


def _first_store(
    old: Module,
    new: Module,
    kernel: str,
    launch: Launch,
    options: RunOptions,
    d: Difference,
    results: dict[str, Any],
) -> FirstStore | None:
    """Find the stores that wrote the first differing element in both runs.

    The result is None if elements have no place of their own (compare = "unordered").
    """
    import numpy as np

    from binalloc.emulator.runs.watch import first_store

    if d.mode == CompareMode.UNORDERED:
        return None
    data = results[d.name]
    offset = int(np.ravel_multi_index(d.index, data.shape)) * data.itemsize + d.offset
    size = data.itemsize if d.bytes is None else d.bytes
    alone = replace(options, sharing=OFF)
    stores = [first_store(m, kernel, launch, d.name, offset, size, o) for m, o in ((old, alone), (new, options))]
    named = [str(store) if store else None for store in stores]
    return FirstStore(d.element, d.expected, d.actual, named[0], named[1])
