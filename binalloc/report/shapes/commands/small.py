"""These are the shapes of commands that print little."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.says import says


class AssembledFunction(TypedDict):
    """A function of a binary."""

    name: Annotated[str, says("a function")]
    kind: Annotated[str, says("`kernel` or `function`")]
    instructions: Annotated[int, says("its instruction words")]


class AsmJson(Versioned):
    """What `asm` prints."""

    output: Annotated[str, says("path of the binary")]
    bytes: Annotated[int, says("its size")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]


class DisasmJson(Versioned):
    """What `disasm` prints."""

    output: Annotated[str | None, says("path of the text; null without -o")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]
    text: Annotated[str, says("the assembly")]


class ScheduleJson(Versioned, OnMachine):
    """What `schedule` prints."""

    output: Annotated[str, says("path of the binary")]
    average_dispatch_interval: Annotated[
        dict[str, float],
        says("stall counts over instructions by function: the unified paper's interval"),
    ]


class DiffRow(TypedDict):
    """Two instructions side by side."""

    old_index: Annotated[int, says("instruction of the original, -1 for none")]
    old: Annotated[str, says("its text")]
    new_index: Annotated[int, says("instruction of the rewritten one, -1 for none")]
    new: Annotated[str, says("its text")]
    kind: Annotated[str, says("`same`, `changed`, `inserted` or `deleted`")]


class DiffFunction(TypedDict):
    """A function of the rewritten binary beside the original's."""

    function: Annotated[str, says("a function of the rewritten binary")]
    original: Annotated[str, says("the original's that it stands for")]
    rows: Annotated[list[DiffRow], says("instructions side by side")]


class DiffJson(Versioned):
    """What `diff` prints."""

    functions: Annotated[list[DiffFunction], says("functions of the rewritten binary")]
