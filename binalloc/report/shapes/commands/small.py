"""These are the shapes of commands that print little."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import Versioned
from binalloc.report.shapes.says import says


class AssembledFunction(TypedDict):
    """A function of a binary."""

    name: Annotated[str, says("a function")]
    kind: Annotated[str, says("`kernel` or `function`")]
    instructions: Annotated[int, says("its instruction words")]


class AsmJson(TypedDict):
    """What `asm` prints."""

    schema_version: Annotated[int, says("1")]
    output: Annotated[str, says("path of the binary")]
    bytes: Annotated[int, says("its size")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]


class DisasmJson(TypedDict):
    """What `disasm` prints."""

    schema_version: Annotated[int, says("1")]
    output: Annotated[str | None, says("path of the text; null without -o")]
    functions: Annotated[list[AssembledFunction], says("functions of the binary")]
    text: Annotated[str, says("the assembly")]


class ScheduleJson(TypedDict):
    """What `schedule` prints."""

    schema_version: Annotated[int, says("1")]
    output: Annotated[str, says("path of the binary")]
    machine: Annotated[str, says("the machine's name")]
    machine_from: Annotated[
        str,
        says("why it is that machine: `asked for`, the target of PTX, the binary's own, or the default"),
    ]
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


class DiffFields(TypedDict):
    """The fields of what `diff` prints."""

    functions: Annotated[list[DiffFunction], says("functions of the rewritten binary")]


class DiffJson(Versioned, DiffFields):
    """What `diff` prints."""
