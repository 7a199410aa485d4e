"""This module prepares a binary for a program of several launches, and its progress in words."""

from __future__ import annotations

from collections.abc import Callable

from binalloc.errors import UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.launch.program.types import Program
from binalloc.models.machines.model import Machine
from binalloc.names.kernels import readable
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.printable import one_line

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


def program_progress(show: Callable[[str], None]) -> Callable[[int, str, int], None]:
    """Return a `progress` for `run_steps` that hands `show`, every `EVERY` launches, a line on how far a program is."""

    def notify(launches: int, kernel: str, cycles: int) -> None:
        if launches % EVERY == 0:
            show(f"{launches:,} launches ended, {readable(kernel)} runs, {cycles:,} cycles")

    return notify
