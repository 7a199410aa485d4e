"""This module has the shapes of `run`, of a sequence of launches."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.commands.runs import ReferenceJson
from binalloc.report.shapes.parts.common import EmulatorJson, ErrorDetails, MachineFrom, Versioned
from binalloc.report.shapes.parts.energy import DramEnergyJson
from binalloc.report.shapes.parts.left import ProgramLeft
from binalloc.report.shapes.says import says


class LaunchedJson(TypedDict):
    """This object describes a launch that has ended."""

    launch: Annotated[int, says("number of the launch, from 0, as `--step` takes it")]
    step: Annotated[str, says("step of the launch file that has the launch")]
    rounds: Annotated[list[int], says("rounds of the loops around that step from 0, the outermost loop first")]
    kernel: Annotated[str, says("name of the kernel in the binary")]
    name: Annotated[str, says("C++ name of the kernel without result and parameters, or its name in the binary")]
    grid: Annotated[list[int], says("blocks of the grid in x, y and z")]
    block: Annotated[list[int], says("threads of a block in x, y and z")]
    dynamic_shared: Annotated[int, says("dynamic shared memory per block, in bytes")]
    start: Annotated[int, says("cycle of the sequence in which the launch begins")]
    cycles: Annotated[int, says("emulated cycles from the launch's first dispatch to its last retirement")]
    blocks_per_sm: Annotated[int, says("blocks that may be resident on an SM at once")]
    occupancy: Annotated[float, says("warps of `blocks_per_sm` as a share of the most that an SM holds")]
    achieved_occupancy: Annotated[
        float, says("resident warps, on average over the launch, as a share of the most that an SM holds")
    ]
    registers: Annotated[int, says("registers per thread")]
    slots: Annotated[int, says("slots per thread")]
    warp_instructions: Annotated[int, says("[counter](#counters) of this name for the launch")]
    ipc: Annotated[float, says("[counter](#counters) of this name for the launch")]
    user_global_load_bytes: Annotated[int, says("[counter](#counters) of this name for the launch")]
    user_global_store_bytes: Annotated[int, says("[counter](#counters) of this name for the launch")]
    global_load_sectors: Annotated[int, says("[counter](#counters) of this name for the launch")]
    global_store_sectors: Annotated[int, says("[counter](#counters) of this name for the launch")]
    local_bytes_moved: Annotated[int, says("[counter](#counters) of this name for the launch")]
    bank_conflict_cycles: Annotated[int, says("[counter](#counters) of this name for the launch")]
    l1_global_hits: Annotated[int, says("[counter](#counters) of this name for the launch")]
    l1_global_misses: Annotated[int, says("[counter](#counters) of this name for the launch")]
    l2_hits: Annotated[int, says("[counter](#counters) of this name for the launch")]
    l2_misses: Annotated[int, says("[counter](#counters) of this name for the launch")]
    dram_bytes: Annotated[int, says("[counter](#counters) of this name for the launch")]
    dram_utilisation: Annotated[float, says("[counter](#counters) of this name for the launch")]
    l1_hit_rate: Annotated[
        float | None,
        says("`l1_global_hits` over the sum of `l1_global_hits` and `l1_global_misses`; null where that is 0"),
    ]
    l2_hit_rate: Annotated[
        float | None, says("`l2_hits` over the sum of `l2_hits` and `l2_misses`; null where that is 0")
    ]


class KernelTotal(TypedDict):
    """This object sums all launches of a kernel."""

    kernel: Annotated[str, says("name of the kernel in the binary")]
    name: Annotated[str, says("C++ name of the kernel without result and parameters, or its name in the binary")]
    launches: Annotated[int, says("number of launches of the kernel")]
    cycles: Annotated[int, says("emulated cycles of all these launches")]
    share: Annotated[
        float | None,
        says("`cycles` of the kernel as a share of the cycles of the sequence; null where those are 0"),
    ]
    average: Annotated[float, says("cycles of a launch, on average")]
    least: Annotated[int, says("cycles of the shortest launch")]
    most: Annotated[int, says("cycles of the longest launch")]
    l1_hit_rate: Annotated[
        float | None,
        says(
            "lines that global loads found in L1, as a share of all that they looked for, over all launches; "
            "null where they looked for none"
        ),
    ]
    l2_hit_rate: Annotated[
        float | None,
        says("loads and atomics that found their words in L2, as a share of all, over all launches; null without any"),
    ]
    stats: Annotated[
        dict[str, int | dict[str, int]],
        says(
            "sums of the [counters](#counters) over all launches, without quotients and `queues`, which do not add up"
        ),
    ]
    dram_energy: Annotated[
        DramEnergyJson | None,
        says("energy of DRAM in all these launches; null for machines whose file has no currents"),
    ]
    far_dram_energy: Annotated[
        DramEnergyJson | None,
        says("likewise of the far memory; null where no launch uses one"),
    ]


class ScalarsJson(TypedDict):
    """This field has the values of scalars at the end of a sequence of launches."""

    scalars: NotRequired[
        Annotated[
            dict[str, float | str | list[float | str]],
            says(
                "values of scalars at the end, by name: infinities and NaN as text, complex numbers as lists of "
                "two; left out for a run that was stopped"
            ),
        ]
    ]


class ProgramFiles(TypedDict):
    """This field names the files that were written of a run of a sequence."""

    saved: NotRequired[
        Annotated[
            list[str],
            says("paths of the files with the buffers; left out without `--save`, and for a run that was stopped"),
        ]
    ]


class LaunchFile(TypedDict):
    """This field names the launch file with the sequence."""

    program: Annotated[str, says("path of the launch file")]


class RanProgram(LaunchFile, EmulatorJson):
    """These fields say what the launches of a sequence did."""

    partial: Annotated[
        bool,
        says("whether the run was stopped before its end; all fields then describe the launches that had ended"),
    ]
    cycles: Annotated[int, says("emulated cycles of all launches, which follow each other without a gap")]
    launches: Annotated[list[LaunchedJson], says("launches in the order of time")]
    kernels: Annotated[list[KernelTotal], says("kernels in the order of their first launches")]


class ProgramRunFields(RanProgram, ProgramLeft, ScalarsJson, ReferenceJson, ProgramFiles):
    """These fields describe a run of a sequence of launches."""


class EndedProgramJson(Versioned, ProgramRunFields, MachineFrom):
    """`run` prints this object for a sequence of launches that has ended."""


class ProgramRunJson(EndedProgramJson):
    """`run` prints this object for a sequence of launches, be it one that was stopped."""

    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("what stopped the run; left out for a run that ended"),
        ]
    ]
