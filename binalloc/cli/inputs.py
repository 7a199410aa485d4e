"""This module loads the machine and the launch that the options of a command name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.profile import Profile
    from binalloc.report.shapes.parts.common import OnMachine


def machine_model(name: str) -> Machine:
    """Load a machine model by the name or the path of its file. Raise UsageError if there is no such machine."""
    from binalloc.models.machines.reader import load_machine

    return load_machine(name)


def require_machine(name: str | None) -> None:
    """Raise the errors of `machine_model` for bad machines, before any file is read. name: a list; None for no list."""
    for one in name.split(",") if name is not None else ():
        machine_model(one)


def machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """Return the machine for a kernel; see `own_machine` in `pipeline/own_machine.py`."""
    from binalloc.pipeline.own_machine import own_machine

    return own_machine(module, kernel, given, runs=runs)


def machine_from(module: Module, kernel: str | None, given: str | None, machine: Machine) -> str:
    """Return why that machine was taken; see `why_that_machine` in `pipeline/own_machine.py`."""
    from binalloc.pipeline.own_machine import why_that_machine

    return why_that_machine(module, kernel, given, machine)


def machine_fields(module: Module, kernel: str | None, given: str | None, machine: Machine) -> OnMachine:
    """Return the fields of --json on the machine that the command took, and why. given: the value of --machine."""
    return {"machine": machine.name, "machine_from": machine_from(module, kernel, given, machine)}


def optional_launch(launch: str | None, size: str | None) -> Launch | None:
    """Load a launch file of one launch; None if none is named. Raise UsageError if only a size is given."""
    if launch is not None:
        from binalloc.launch.file import load_launch

        return load_launch(launch, size)
    if size is not None:
        raise UsageError("--size chooses among a launch file's sizes", remedy="Give --launch FILE, too.")
    return None


def fitting_launch(launch: Launch | None, module: Module, kernel: str) -> Launch | None:
    """Return the launch, if there is one, as the kernel needs it. Raise an error if it does not fit."""
    if launch is None:
        return launch
    from binalloc.launch.merged import fitting

    return fitting(launch, module, kernel)


def require_something_to_run(launch: str | None, emulate: bool | None) -> None:
    """Raise UsageError if --emulate is given without a launch."""
    if emulate and launch is None:
        raise UsageError("--emulate needs something to run", expected="--launch FILE")


def require_runs(option: str, launch: str | None, emulate: bool | None) -> None:
    """Raise UsageError if an option measures versions, but nothing is run."""
    if launch is None or emulate is False:
        raise UsageError(f"{option} measures versions in the emulator", expected="--launch FILE, without --no-emulate")


def kernel_of(named: str | None, launch: Launch | None, profile: Profile | None) -> str | None:
    """Return the name of the kernel to work on: `named`, else the launch's, else the profile's, else None."""
    if named is not None:
        return named
    return launch.kernel if launch is not None else None if profile is None else profile.kernel


def require_read_paper(readings: tuple[str, ...], policy: str | None) -> None:
    """Raise UsageError if --reading is given with a policy other than the one of the unified paper."""
    from binalloc.pipeline.policies.table import UNIFIED

    if readings and policy != UNIFIED:
        raise UsageError("--reading says how the unified paper is read", expected=f"--policy {UNIFIED}")


def optional_profile(profile: str | None) -> Profile | None:
    """Load a profile; None if no file is named."""
    if profile is None:
        return None
    from binalloc.pipeline.profile import load_profile

    return load_profile(profile)


def optional_launches(launch: str | None, size: str | None) -> Launch | Program | None:
    """Load a launch file of one launch or of a sequence; None if none is named. Raise UsageError if only a size is
    given."""
    if launch is None:
        return optional_launch(launch, size)
    from binalloc.launch.program.file import load_either

    return load_either(launch, size)


def required_launches(launch: str | None, size: str | None) -> Launch | Program:
    """Load a launch file of one launch or of a sequence. Raise UsageError if none is named."""
    if launch is None:
        raise UsageError("a launch file is needed", expected="--launch FILE")
    loaded = optional_launches(launch, size)
    assert loaded is not None
    return loaded
