"""The machine and the launch that the options of a command name."""

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
    from binalloc.models.machines.reader import load_machine

    return load_machine(name)


def require_machine(name: str | None) -> None:
    """Raises as `machine_model` where a machine is named, before any file is read."""
    for one in name.split(",") if name is not None else ():
        machine_model(one)


def machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """See `pipeline.own_machine`."""
    from binalloc.pipeline.own_machine import own_machine

    return own_machine(module, kernel, given, runs=runs)


def machine_from(module: Module, kernel: str | None, given: str | None, machine: Machine) -> str:
    """Why it is that machine; see `pipeline.own_machine`."""
    from binalloc.pipeline.own_machine import why_that_machine

    return why_that_machine(module, kernel, given, machine)


def told_machine(module: Module, kernel: str | None, given: str | None, machine: Machine) -> OnMachine:
    """The machine that a command took, and why that one: fields of its `--json`."""
    return {"machine": machine.name, "machine_from": machine_from(module, kernel, given, machine)}


def optional_launch(launch: str | None, size: str | None) -> Launch | None:
    if launch is not None:
        from binalloc.launch.file import load_launch

        return load_launch(launch, size)
    if size is not None:
        raise UsageError("--size chooses among a launch file's sizes", remedy="Give --launch FILE, too.")
    return None


def require_launch_fits(launch: Launch | None, module: Module, kernel: str) -> None:
    """Raises where there is a launch that is not one of that kernel."""
    if launch is not None:
        from binalloc.launch.file import check_against

        check_against(launch, module.function(kernel).info, module.path)


def require_something_to_run(launch: str | None, emulate: bool | None) -> None:
    """UsageError where a run is asked for without a launch."""
    if emulate and launch is None:
        raise UsageError("--emulate needs something to run", expected="--launch FILE")


def kernel_of(named: str | None, launch: Launch | None, profile: Profile | None) -> str | None:
    """The kernel that a command is about: as named, else the launch's, else the profile's; None where nothing says."""
    if named is not None:
        return named
    return launch.kernel if launch is not None else None if profile is None else profile.kernel


def require_read_paper(readings: tuple[str, ...], policy: str | None) -> None:
    """Usage error where a paper is to be read in some way that is not asked."""
    from binalloc.pipeline.policies.table import UNIFIED

    if readings and policy != UNIFIED:
        raise UsageError("--reading says how the unified paper is read", expected=f"--policy {UNIFIED}")


def optional_profile(profile: str | None) -> Profile | None:
    if profile is None:
        return None
    from binalloc.pipeline.profile import load_profile

    return load_profile(profile)


def optional_launches(launch: str | None, size: str | None) -> Launch | Program | None:
    """As `optional_launch`, of a launch file that may have a sequence of launches."""
    if launch is None:
        return optional_launch(launch, size)
    from binalloc.launch.program.file import load_either

    return load_either(launch, size)


def required_launches(launch: str | None, size: str | None) -> Launch | Program:
    """What the launch file says, be it one launch or a sequence."""
    if launch is None:
        raise UsageError("a launch file is needed", expected="--launch FILE")
    loaded = optional_launches(launch, size)
    assert loaded is not None
    return loaded
