"""This module has the shapes of `run`, of one launch."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import EmulatorJson, ErrorDetails, MachineFrom, Versioned
from binalloc.report.shapes.parts.counters import CountersJson
from binalloc.report.shapes.parts.dram_shares import DramObjectJson
from binalloc.report.shapes.parts.left import Left
from binalloc.report.shapes.parts.memory.cpu import BesideCpu
from binalloc.report.shapes.parts.seen import SeenJson
from binalloc.report.shapes.says import says


class RanKernel(TypedDict):
    """This field names the kernel that ran."""

    kernel: Annotated[str, says("name of the kernel")]


class RanJson(RanKernel, EmulatorJson):
    """These fields say what the grid of an emulated run did."""

    partial: Annotated[
        bool,
        says(
            "whether the run was stopped before its end, also by `--break`; all figures then describe the run "
            "up to the stop"
        ),
    ]
    cycles: Annotated[int, says("emulated cycles from the first dispatch to the last retirement")]
    cycles_range: Annotated[
        list[int] | None,
        says("least and most cycles of the runs with and without delays of blocks (`--skews`); null without `--skews`"),
    ]
    blocks: Annotated[int, says("blocks of the grid")]
    blocks_ended: Annotated[int, says("blocks of the grid that ended")]
    blocks_per_sm: Annotated[int, says("blocks that may be resident on an SM at once")]
    occupancy: Annotated[float, says("warps of `blocks_per_sm` as a share of the most that an SM holds")]
    achieved_occupancy: Annotated[
        float, says("resident warps, on average over the run, as a share of the most that an SM holds")
    ]
    stats: Annotated[CountersJson, says("counters of the run")]


class ResultJson(RanJson, BesideCpu, Left):
    """These fields say what an emulated run of one launch did."""

    dram_by_object: Annotated[
        list[DramObjectJson],
        says(
            "what DRAM did for each object in memory, by address, then for other memory; it adds up to the run. Empty "
            "for commands other than `run`"
        ),
    ]


class RanVersion(TypedDict):
    """This field says which version of a kernel ran."""

    version: NotRequired[
        Annotated[str, says("version of the kernel that ran, in words; left out by commands that run one version")]
    ]


class StoppedFields(ResultJson, RanVersion):
    """These fields say what an emulated run had done when it was stopped."""


class StoppedJson(Versioned, StoppedFields):
    """A command prints this object for an emulated run that was stopped."""

    error: Annotated[ErrorDetails, says("what stopped the run")]


class ReferenceJson(TypedDict):
    """These fields compare a run with the reference of the launch file."""

    reference: NotRequired[
        Annotated[
            str,
            says("`same` or `differs`; left out without `--reference`, and for a run that was stopped"),
        ]
    ]
    differences: NotRequired[
        Annotated[
            list[str],
            says(
                "a sentence for each buffer that differs from the reference; left out without `--reference`, and "
                "for a run that was stopped"
            ),
        ]
    ]


class WrittenProfileJson(TypedDict):
    """This object describes a profile that was written."""

    file: Annotated[str, says("path of the profile")]
    warps: Annotated[int, says("warps that began the kernel")]


class WrittenSeriesJson(TypedDict):
    """This object describes a series that was written."""

    file: Annotated[str, says("path of the series")]
    every: Annotated[int, says("cycles of each interval; the last one may be shorter, or longer (`full_at_cycle`)")]
    intervals: Annotated[int, says("number of intervals")]
    full_at_cycle: Annotated[
        int | None,
        says(
            "first cycle of the last interval, which has all the rest, where there would be more than 10,000 "
            "intervals; null elsewhere"
        ),
    ]


class WrittenDramLogJson(TypedDict):
    """This object describes a DRAM log that was written
    ([TIMING.md](../emulator/TIMING.md#logs-for-other-dram-tools))."""

    folder: Annotated[str, says("folder of the log")]
    requests: Annotated[int, says("bursts that DRAM was asked for, in the files for DRAMsim3 and Ramulator 2")]
    commands: Annotated[int, says("commands in the files for DRAMPower")]
    full_at_cycle: Annotated[
        int | None,
        says("cycle from which on nothing is in the files, as they would exceed `--dram-log-limit`; null elsewhere"),
    ]
    bytes: Annotated[int, says("bytes of the traces in the folder")]


class RunFiles(TypedDict):
    """These fields name the files that were written of a run."""

    accelsim_trace: NotRequired[
        Annotated[
            str,
            says(
                "folder of the trace for Accel-Sim; left out without `--accelsim-trace`, and for a run that was stopped"
            ),
        ]
    ]
    dram_log: NotRequired[
        Annotated[
            WrittenDramLogJson,
            says("the DRAM log that was written; left out without `--dram-log`"),
        ]
    ]
    saved: NotRequired[
        Annotated[
            list[str],
            says("paths of the files with the buffers; left out without `--save`, and for a run that was stopped"),
        ]
    ]
    profile: NotRequired[
        Annotated[
            WrittenProfileJson,
            says("the [profile](#profile-of-a-run) that was written; left out without `--profile`"),
        ]
    ]
    series: NotRequired[
        Annotated[
            WrittenSeriesJson,
            says("the [series](#series) that was written; left out without `--series`"),
        ]
    ]


class RunFields(ResultJson, SeenJson, ReferenceJson, RunFiles):
    """These fields describe a run of one launch."""


class EndedRunJson(Versioned, RunFields, MachineFrom):
    """`run` prints this object for a run of one launch that has ended."""


class RunJson(EndedRunJson):
    """`run` prints this object for a run of one launch, be it one that was stopped."""

    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("what stopped the run; left out for a run that ended"),
        ]
    ]
