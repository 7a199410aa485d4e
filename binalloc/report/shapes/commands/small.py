"""This module has the shapes of commands that print little."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class AssembledFunction(TypedDict):
    """This object describes a function of a binary."""

    name: Annotated[str, says("name of the function")]
    kind: Annotated[str, says("`kernel` or `function`")]
    instructions: Annotated[int, says("instructions of the function")]


class AsmJson(Versioned):
    """`asm` prints this object."""

    output: Annotated[str, says("path of the binary")]
    bytes: Annotated[int, says("size of the binary in bytes")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]


class DisasmJson(Versioned):
    """`disasm` prints this object."""

    output: Annotated[str | None, says("path of the text; null without -o")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]
    text: Annotated[str, says("the assembly")]


class ScheduleJson(Versioned, OnMachine):
    """`schedule` prints this object."""

    output: Annotated[str, says("path of the binary")]
    average_dispatch_interval: Annotated[
        dict[str, float],
        says(
            "mean stall count of the instructions of each function, by function: the unified paper's dispatch "
            "interval, in cycles"
        ),
    ]


class DiffRow(TypedDict):
    """A row has two instructions side by side."""

    old_index: Annotated[int, says("number of the instruction in the original function, -1 where there is none")]
    old: Annotated[str, says("the instruction of the original as assembly; empty where there is none")]
    new_index: Annotated[int, says("number of the instruction in the rewritten function, -1 where there is none")]
    new: Annotated[str, says("the instruction of the rewritten function as assembly; empty where there is none")]
    kind: Annotated[str, says("`same`, `changed`, `inserted` or `deleted`")]


class DiffFunction(TypedDict):
    """This object has a function of the rewritten binary beside that of the original."""

    function: Annotated[str, says("name of the function in the rewritten binary")]
    original: Annotated[str, says("name of the function of the original that it stands for")]
    rows: Annotated[list[DiffRow], says("instructions side by side, in the order of the code")]


class DiffJson(Versioned):
    """`diff` prints this object."""

    functions: Annotated[list[DiffFunction], says("functions of the rewritten binary")]
