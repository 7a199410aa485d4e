"""This module has the shapes of files that commands write."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class ProfileFile(TypedDict):
    """This object is the content of a file of `run --profile`."""

    profile_version: Annotated[int, says("1; a file with another number is refused")]
    kernel: Annotated[str, says("kernel that ran")]
    machine: Annotated[str, says("name of the machine of the run; a profile can be used for every machine")]
    partial: Annotated[bool, says("whether the run was stopped before its end")]
    code_sha256: Annotated[
        str,
        says(
            "hash of the instructions of the kernel and its callees, without control codes; a profile is refused for "
            "other code"
        ),
    ]
    functions: Annotated[
        dict[str, list[list[int]]],
        says(
            "pairs [first instruction, executions by warps] by function. Each pair stands for a stretch of "
            "instructions that were executed equally often; it ends where the next pair begins, and the first begins "
            "at instruction 0"
        ),
    ]


class BaselineFile(TypedDict):
    """This object is the content of the file that the pytest plugin keeps for a check."""

    schema_version: Annotated[int, says("1; a file with another number is refused")]
    test: Annotated[str, says("pytest's id of the test, from the name of its file on")]
    kernel: Annotated[str, says("kernel that ran")]
    machine: Annotated[str, says("name of the machine")]
    scheduler: Annotated[str, says("warp scheduler, as `--scheduler` names it")]
    grid: Annotated[list[int], says("blocks of the grid in x, y and z")]
    block: Annotated[list[int], says("threads of a block in x, y and z")]
    dynamic_shared: Annotated[int, says("dynamic shared memory per block, in bytes")]
    sms: Annotated[int, says("number of SMs that were emulated")]
    cycles: Annotated[int, says("emulated cycles of the run")]
    registers: Annotated[int, says("registers per thread")]
    local_bytes: Annotated[int, says("local memory per thread in bytes: the kernel's frame and its spills")]
    occupancy: Annotated[
        float,
        says("resident warps of a full SM, as a share of the most that an SM holds, rounded to six digits"),
    ]


class SeriesInterval(TypedDict):
    """This object describes an interval. Besides these fields it has the [counters](#counters) that its cycles added,
    and the quotients of these counters.

    Of a queue it has all but `queues`, `places` and `most`. Objects among the counters are not nested: a name in such
    an object becomes one key with dots, such as `stalls.scoreboard`, `units.lsu` or `queues.l1_mshrs.average`.
    """

    start: Annotated[int, says("first cycle of the interval")]
    cycles: Annotated[int, says("cycles of the interval; all intervals together have the cycles of the run")]
    ipc: Annotated[float, says("warp instructions per cycle and SM")]
    resident_warps: Annotated[float, says("resident warps per SM, on average over the interval")]


class SeriesFile(TypedDict):
    """This object is the content of a file of `run --series`, as JSON."""

    schema_version: Annotated[int, says("1")]
    kernel: Annotated[str, says("name of the kernel")]
    machine: Annotated[str, says("name of the machine")]
    engine: Annotated[str, says("engine of the emulator: `numba` or `python`")]
    scheduler: Annotated[str, says("warp scheduler, as `--scheduler` names it")]
    sms: Annotated[int, says("number of SMs that were emulated")]
    partial: Annotated[
        bool,
        says("whether the run was stopped before its end; the intervals then end where the run was stopped"),
    ]
    cycles: Annotated[int, says("cycles of the whole run, from the first dispatch to the last retirement")]
    every: Annotated[int, says("cycles of each interval; the last one may be shorter, or longer (`full_at_cycle`)")]
    full_at_cycle: Annotated[
        int | None,
        says(
            "first cycle of the last interval, which has all the rest, where there would be more than 10,000 "
            "intervals; null elsewhere"
        ),
    ]
    intervals: Annotated[list[SeriesInterval], says("intervals in the order of time")]
