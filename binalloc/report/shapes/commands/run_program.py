"""These are the shapes of `run`, of a sequence of launches."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.commands.runs import ReferenceJson
from binalloc.report.shapes.parts.common import ErrorDetails, MachineFrom, Versioned
from binalloc.report.shapes.parts.left import ProgramLeft
from binalloc.report.shapes.says import says


class LaunchedJson(TypedDict):
    """A launch that has ended."""

    launch: Annotated[int, says("number of a launch, from 0 on: what `--step` takes")]
    step: Annotated[str, says("its step in the launch file")]
    rounds: Annotated[list[int], says("rounds, from 0 on, of the loops around that step, the outermost first")]
    kernel: Annotated[str, says("the kernel")]
    name: Annotated[str, says("its C++ name without result and parameters, or its name")]
    grid: Annotated[list[int], says("blocks in x, y, z")]
    block: Annotated[list[int], says("threads in x, y, z")]
    dynamic_shared: Annotated[int, says("bytes of dynamic shared memory per block")]
    start: Annotated[int, says("the cycle of the whole in which it begins")]
    cycles: Annotated[int, says("from its first dispatch to its last retirement")]
    blocks_per_sm: Annotated[int, says("resident blocks allowed")]
    occupancy: Annotated[float, says("resident warps allowed over the most an SM holds")]
    achieved_occupancy: Annotated[float, says("resident warps on average over the most an SM holds")]
    registers: Annotated[int, says("registers per thread")]
    slots: Annotated[int, says("slots per thread")]
    warp_instructions: Annotated[int, says("its [counter](#counters) of that name, as the next are")]
    ipc: Annotated[float, says("its counter")]
    user_global_load_bytes: Annotated[int, says("its counter")]
    user_global_store_bytes: Annotated[int, says("its counter")]
    global_load_sectors: Annotated[int, says("its counter")]
    global_store_sectors: Annotated[int, says("its counter")]
    local_bytes_moved: Annotated[int, says("its counter")]
    bank_conflict_cycles: Annotated[int, says("its counter")]
    l1_global_hits: Annotated[int, says("its counter")]
    l1_global_misses: Annotated[int, says("its counter")]
    l2_hits: Annotated[int, says("its counter")]
    l2_misses: Annotated[int, says("its counter")]
    dram_bytes: Annotated[int, says("its counter")]
    dram_utilisation: Annotated[float, says("its counter")]
    l1_hit_rate: Annotated[
        float | None,
        says("`l1_global_hits` over them and `l1_global_misses`; null where nothing looked there"),
    ]
    l2_hit_rate: Annotated[float | None, says("the same of `l2_hits` and `l2_misses`")]


class KernelTotal(TypedDict):
    """All launches of a kernel."""

    kernel: Annotated[str, says("a kernel, in the order of first launches")]
    name: Annotated[str, says("as above")]
    launches: Annotated[int, says("how many launches of it")]
    cycles: Annotated[int, says("of all of them")]
    share: Annotated[float | None, says("of `cycles`; null where those are 0")]
    average: Annotated[float, says("cycles of a launch")]
    least: Annotated[int, says("of the shortest")]
    most: Annotated[int, says("of the longest")]
    l1_hit_rate: Annotated[float | None, says("as above, of all launches together")]
    l2_hit_rate: Annotated[float | None, says("likewise")]
    stats: Annotated[
        dict[str, int | dict[str, int]],
        says("sums of those of its [counters](#counters) that add up: all but quotients and `queues`"),
    ]


class ScalarsJson(TypedDict):
    """The values of scalars at the end of a program."""

    scalars: NotRequired[
        Annotated[
            dict[str, float | str | list[float | str]],
            says(
                "values of scalars in the end by name: infinities and NaN as text, complex numbers as lists of two; "
                "this and the next three are left out of a run that was stopped"
            ),
        ]
    ]


class ProgramFiles(TypedDict):
    """The files that were written of a program's run."""

    saved: NotRequired[Annotated[list[str], says("paths of the buffers' files; left out without `--save`")]]


class RanProgram(TypedDict):
    """What the launches of a program did."""

    program: Annotated[str, says("path of the launch file")]
    machine: Annotated[str, says("the machine's name")]
    engine: Annotated[str, says("`numba` or `python`")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    sms: Annotated[int, says("SMs emulated")]
    partial: Annotated[
        bool,
        says("whether it was stopped before its end: all of this is then what the launches did that had ended"),
    ]
    cycles: Annotated[int, says("of all launches, which follow each other without a gap")]
    launches: Annotated[list[LaunchedJson], says("launches in the order of time")]
    kernels: Annotated[list[KernelTotal], says("kernels in the order of first launches")]
    scalars: NotRequired[
        Annotated[
            dict[str, float | str | list[float | str]],
            says(
                "values of scalars in the end by name: infinities and NaN as text, complex numbers as lists of two; "
                "this and the next three are left out of a run that was stopped"
            ),
        ]
    ]


class ProgramRunFields(RanProgram, ProgramLeft, ScalarsJson, ReferenceJson, ProgramFiles):
    """The fields of what `run` prints of a sequence of launches."""


class EndedProgramJson(Versioned, ProgramRunFields, MachineFrom):
    """What `run` prints of a sequence of launches that has ended."""


class ProgramRunJson(EndedProgramJson):
    """What `run` prints of a sequence of launches."""

    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("[details](#details), of a run that was stopped; left out otherwise"),
        ]
    ]
