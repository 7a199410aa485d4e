"""These are the shapes of `run`, of one launch."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import ErrorDetails, MachineFrom, Versioned
from binalloc.report.shapes.parts.counters import CountersJson
from binalloc.report.shapes.parts.left import Left
from binalloc.report.shapes.parts.seen import SeenJson
from binalloc.report.shapes.says import says


class RanJson(TypedDict):
    """What the grid of an emulated run did."""

    kernel: Annotated[str, says("the kernel")]
    machine: Annotated[str, says("the machine's name")]
    engine: Annotated[str, says("`numba` or `python`")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    sms: Annotated[int, says("SMs emulated")]
    partial: Annotated[
        bool,
        says("whether the run was stopped before its end, at a `--break` too: all figures are then those up to there"),
    ]
    cycles: Annotated[int, says("from first dispatch to last retirement")]
    cycles_range: Annotated[
        list[int] | None,
        says("the fewest and the most cycles of this run and of those that `--skews` asks for; null without"),
    ]
    blocks: Annotated[int, says("blocks of the grid")]
    blocks_ended: Annotated[int, says("blocks that ended")]
    blocks_per_sm: Annotated[int, says("resident blocks allowed")]
    occupancy: Annotated[float, says("resident warps allowed over the most an SM holds")]
    achieved_occupancy: Annotated[float, says("resident warps on average over the most an SM holds")]
    stats: Annotated[CountersJson, says("the run's counters")]


class ResultJson(RanJson, Left):
    """What an emulated run of one launch did."""


class RanVersion(TypedDict):
    """Which version of a kernel ran."""

    version: NotRequired[
        Annotated[str, says("which version of the kernel ran, in words, of a command that runs several")]
    ]


class StoppedFields(ResultJson, RanVersion):
    """What an emulated run that was stopped had done by then."""


class StoppedJson(Versioned, StoppedFields):
    """What any command prints of an emulated run that was stopped."""

    error: Annotated[ErrorDetails, says("what stopped it")]


class ReferenceJson(TypedDict):
    """How a run compares with a launch file's reference."""

    reference: NotRequired[
        Annotated[
            str,
            says(
                "`same` or `differs`; this and the next are left out without `--reference`, and these two and the "
                "next two of a run that was stopped"
            ),
        ]
    ]
    differences: NotRequired[Annotated[list[str], says("one sentence for each buffer that differs")]]


class WrittenProfileJson(TypedDict):
    """A profile that was written."""

    file: Annotated[
        str, says("path of the [profile](#profile-of-a-run); this and the next are left out without `--profile`")
    ]
    warps: Annotated[int, says("how many warps began the kernel")]


class WrittenSeriesJson(TypedDict):
    """A series that was written."""

    file: Annotated[str, says("path of the [series](#series); this and the next three are left out without `--series`")]
    every: Annotated[int, says("cycles of an interval")]
    intervals: Annotated[int, says("how many there are")]
    full_at_cycle: Annotated[
        int | None,
        says(
            "where there would be more than 10,000: all cycles from this one on are one interval more, the last; "
            "else null"
        ),
    ]


class RunFiles(TypedDict):
    """The files that were written of a run."""

    accelsim_trace: NotRequired[
        Annotated[
            str,
            says("folder of the trace for Accel-Sim; left out without `--accelsim-trace`"),
        ]
    ]
    saved: NotRequired[Annotated[list[str], says("paths of the buffers' files; left out without `--save`")]]
    profile: NotRequired[
        Annotated[
            WrittenProfileJson,
            says("the written [profile](#profile-of-a-run); left out without `--profile`"),
        ]
    ]
    series: NotRequired[
        Annotated[
            WrittenSeriesJson,
            says("the written [series](#series); left out without `--series`"),
        ]
    ]


class RunFields(ResultJson, SeenJson, ReferenceJson, RunFiles):
    """The fields of what `run` prints of one launch."""


class EndedRunJson(Versioned, RunFields, MachineFrom):
    """What `run` prints of one launch that has ended."""


class RunJson(EndedRunJson):
    """What `run` prints of one launch."""

    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("[details](#details), of a run that was stopped; left out otherwise"),
        ]
    ]
