"""This module has the shapes of timelines of blocks."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class LifeJson(TypedDict):
    """This object is what one block does in a timeline."""

    block: Annotated[int, says("number of the block in the original's grid")]
    marks: Annotated[
        str,
        says(
            "a character for each column up to the one in which the block ends: `#` where a warp of it accesses shared "
            "memory, `=` where they issue other instructions alone, `.` where none issues, a space before it has come"
        ),
    ]


class TimelineJson(TypedDict):
    """This object is the timeline of one version."""

    version: Annotated[str, says("name of the version")]
    blocks: Annotated[
        list[LifeJson], says("the first blocks of the first SM, virtual ones of merged blocks, as they came")
    ]


class TimelinesJson(TypedDict):
    """This object shows when blocks use shared memory."""

    cycles_per_column: Annotated[int, says("cycles of a column, in all versions")]
    versions: Annotated[list[TimelineJson], says("the original, and all versions of schemes that were run")]


class OfTimelines(TypedDict):
    """This field is what `--timeline` adds."""

    timelines: NotRequired[
        Annotated[TimelinesJson, says("when blocks use shared memory; left out without `--timeline`")]
    ]
