"""These are the shapes of what all objects have in common: errors, versions of JSON, machines."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class ErrorDetails(TypedDict):
    """What is wrong."""

    message: Annotated[str, says("what is wrong")]
    exit_code: Annotated[int, says("the process's exit code")]
    file: NotRequired[
        Annotated[
            str | None,
            says("the file concerned; this and the next four are left out where the command line could not be parsed"),
        ]
    ]
    place: NotRequired[Annotated[str | None, says("section, line, offset, key or option")]]
    found: NotRequired[Annotated[str | None, says("what was there")]]
    expected: NotRequired[Annotated[str | None, says("what should have been there")]]
    remedy: NotRequired[Annotated[str | None, says("what to do")]]


class ErrorJson(TypedDict):
    """What is printed of an error."""

    schema_version: Annotated[int, says("1")]
    error: Annotated[ErrorDetails, says("what is wrong")]


class WeighingProfile(TypedDict):
    """The profile that weighs code."""

    file: Annotated[str, says("its path")]
    machine: Annotated[str, says("the machine that it was taken on")]
    partial: Annotated[bool, says("whether that run was stopped before its end")]
    warps: Annotated[int, says("how many warps began the kernel in it")]


class BothCounts(TypedDict):
    """A number of the original's and one of the rewritten binary's."""

    original: Annotated[int, says("the original's")]
    rewritten: Annotated[int, says("the rewritten binary's")]


class Versioned(TypedDict):
    """What every object has that a command prints."""

    schema_version: Annotated[int, says("1: fields are only added under one number")]


class OnMachine(TypedDict):
    """Which machine a command took, and why."""

    machine: Annotated[str, says("the machine's name")]
    machine_from: Annotated[
        str, says("why it is that machine: `asked for`, the target of PTX, the binary's own, or the default")
    ]


class MachineFrom(TypedDict):
    """Why a command took its machine."""

    machine_from: Annotated[
        str, says("why it is that machine: `asked for`, the target of PTX, the binary's own, or the default")
    ]
