"""This module has the shapes of what CPU programs have done beside a kernel."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class CpuProgramJson(TypedDict):
    """This object says what a CPU program has done in the cycles of the run."""

    name: str
    misses: Annotated[int, says("misses whose data has come back")]
    under_way: Annotated[int, says("misses under way at the end")]
    instructions: Annotated[float, says("instructions of these misses: 1,000 over `mpki` for each")]
    ipc: Annotated[float, says("instructions per cycle of the program's clock")]
    ipc_alone: Annotated[float, says("IPC of the program alone, as the file states it")]
    speed: Annotated[float, says("`ipc` over `ipc_alone`")]
    delay_each: Annotated[
        float | None, says("core cycles from a miss's arrival at its channel to its data; null without misses")
    ]


class CpuJson(TypedDict):
    """This object says what CPU programs have done beside the kernel
    ([TIMING.md](../emulator/TIMING.md#cpu-programs))."""

    programs: list[CpuProgramJson]
    memory: Annotated[str, says("memory with their pages, `near` or `far`")]
    rows: Annotated[str, says("where in a bank these lie: `mixed` with the GPU's, or `split` from them")]
    first: Annotated[bool, says("whether channels served them before the GPU")]
    weighted_speedup: Annotated[float, says("sum of `speed`")]


class BesideCpu(TypedDict):
    """This field is about CPU programs."""

    cpu: NotRequired[Annotated[CpuJson, says("CPU programs that shared the memory; left out without `--cpu`")]]
