"""This module has the shapes of what all objects have in common: errors, versions of JSON, machines."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says

_NO_PARTS = "left out for errors of options, of the system and of defects"


class ErrorDetails(TypedDict):
    """This object says what is wrong."""

    message: Annotated[str, says("what is wrong, in one line")]
    exit_code: Annotated[int, says("exit code of the process")]
    file: NotRequired[Annotated[str | None, says(f"file that the error is about; {_NO_PARTS}")]]
    place: NotRequired[
        Annotated[
            str | None,
            says(f"place of the error: a section, line, offset, key or option; {_NO_PARTS}"),
        ]
    ]
    found: NotRequired[Annotated[str | None, says(f"what was at that place; {_NO_PARTS}")]]
    expected: NotRequired[Annotated[str | None, says(f"what should have been at that place; {_NO_PARTS}")]]
    remedy: NotRequired[Annotated[str | None, says(f"what the user can do; {_NO_PARTS}")]]


class Versioned(TypedDict):
    """Every object that a command prints has this field."""

    schema_version: Annotated[int, says("1; under one number fields are only added")]


class ErrorJson(Versioned):
    """This object is printed for an error."""

    error: Annotated[ErrorDetails, says("the error")]


class WeighingProfile(TypedDict):
    """This object names the profile by which code is weighted."""

    file: Annotated[str, says("path of the profile")]
    machine: Annotated[str, says("name of the machine that the profiled run was emulated on")]
    partial: Annotated[bool, says("whether the profiled run was stopped before its end")]
    warps: Annotated[int, says("warps that began the kernel in the profiled run")]


class BothCounts(TypedDict):
    """A pair of numbers compares the two binaries."""

    original: Annotated[int, says("number for the original binary")]
    rewritten: Annotated[int, says("number for the rewritten binary")]


_WHY_THAT_MACHINE = says(
    "why the command took this machine: `asked for`; `target` with the target of the PTX; `the binary's own`, the "
    "machine that the binary records; or `default`"
)


class EmulatorJson(TypedDict):
    """These fields describe the emulator of a run."""

    machine: Annotated[str, says("name of the machine")]
    engine: Annotated[str, says("engine of the emulator: `numba` or `python`")]
    scheduler: Annotated[str, says("warp scheduler, as `--scheduler` names it")]
    dispatcher: Annotated[str, says("dispatcher of blocks to SMs, as `--dispatch` names it")]
    batches: Annotated[
        str, says("which blocks are a batch, as `--batches` names it; `auto` where nothing depends on batches")
    ]
    placement: Annotated[str, says("placement of blocks' shared memory, as `--placement` names it")]
    pages: Annotated[str, says("page policy, between L1 and L2, as `--pages` names it")]
    sms: Annotated[int, says("number of SMs that were emulated")]


class MachineFrom(TypedDict):
    """This field says why a command took its machine."""

    machine_from: Annotated[str, _WHY_THAT_MACHINE]


class OnMachine(TypedDict):
    """These fields say which machine a command took, and why."""

    machine: Annotated[str, says("name of the machine")]
    machine_from: Annotated[str, _WHY_THAT_MACHINE]
