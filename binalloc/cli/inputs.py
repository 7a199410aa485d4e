"""The machine and the launch that the options of a command name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.errors import UsageError
from binalloc.models.machines.files import DEFAULT_MACHINE, list_machines

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.profile import Profile


def machine_model(name: str) -> Machine:
    from binalloc.models.machines.reader import load_machine

    return load_machine(name)


def machine_of(module: Module, kernel: str | None, given: str | None, *, runs: bool) -> Machine:
    """The machine asked for, else the one the binary's kernel was scheduled for where it is a known model.

    runs: the binary will run, so another machine than its own will not do. UsageError where its own is not known, and
    where `kernel` means no kernel.
    """
    from binalloc.pipeline.steps import find_kernel

    kernels = module.kernels() if kernel is None else [find_kernel(module, kernel)]
    recorded = [fn.info.machine for fn in kernels]
    known = [name for name in recorded if name in list_machines()]
    if runs and not known and given is None and any(recorded):
        raise UsageError(
            "the binary is scheduled for a machine that is no known model",
            file=module.path or None, found=next(filter(None, recorded)), expected=", ".join(list_machines()),
            remedy="Give its machine file, --machine FILE.",
        )  # fmt: skip
    own = known[0] if known else DEFAULT_MACHINE
    return machine_model(own if given is None else given)


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


def required_launch(launch: str | None, size: str | None) -> Launch:
    if launch is None:
        raise UsageError("a launch file is needed", expected="--launch FILE")
    loaded = optional_launch(launch, size)
    assert loaded is not None
    return loaded
