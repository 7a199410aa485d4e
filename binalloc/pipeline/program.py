"""This module runs a program of several launches from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.errors import UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.launch.program.file import load_program
from binalloc.launch.program.types import Program
from binalloc.models.machines.model import Machine
from binalloc.names.kernels import readable
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.printable import one_line

if TYPE_CHECKING:
    from binalloc.emulator.runs.program import Ran


EVERY = 16
"""Launches between two lines of progress, so that lines do not slow a program of many short launches."""


def kernels_of(module: Module, program: Program) -> dict[str, Function]:
    """Return the module's kernels by the names that the program uses. Raises UsageError for a missing kernel."""
    found = {}
    for name in program.kernels:
        try:
            found[name] = find_kernel(module, name)
        except UsageError as error:
            error.message = f"{error.message} (launched by {one_line(program.path or 'the program')})"
            raise
    return found


def scheduled_for(module: Module, functions: dict[str, Function], machine: Machine) -> Module:
    """Return the module, scheduled anew if one of the kernels is not scheduled for that machine."""
    from binalloc.transform.schedule.schedule import schedule

    reached = [fn for kernel in functions.values() for fn in module.reached(kernel)]
    return schedule(module, machine) if any(fn.info.machine != machine.name for fn in reached) else module


def told_by(show: Callable[[str], None]) -> Callable[[int, str, int], None]:
    """Return a `progress` for `run_steps` that hands `show`, every `EVERY` launches, a line on how far a program is."""

    def tell(launches: int, kernel: str, cycles: int) -> None:
        if launches % EVERY == 0:
            show(f"{launches:,} launches ended, {readable(kernel)} runs, {cycles:,} cycles")

    return tell


def run_program(
    module: Module, program: Program | str | Path, machine: Machine | str | Path | None = None, **options: Any
) -> Ran:
    """Run all launches of a program on one device, which keeps its memory between them.

    module: has all launched kernels; if it is scheduled for another machine, a copy in memory is scheduled for this
    one. program: a checked program, or the path of its file. machine: a model, its name or its file; without it,
    the binary's own. options: `engine`, `scheduler`, `sms`, `max_cycles` (of all launches together), `check`, `race` as
    in `run`; `host_steps`, which lets functions of Python files be called; `buffers`, contents in place of the
    program's own, by name; `progress`, called now and then with the number of ended launches, the running kernel, and
    the cycle.

    Raises what `run` raises, each error with the step that it arose in, and LimitHit for a loop that does not end.
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
