"""These are the shapes of files that commands write."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class ProfileFile(TypedDict):
    """The file of `run --profile`."""

    profile_version: Annotated[int, says("1; another one is refused")]
    kernel: Annotated[str, says("that ran")]
    machine: Annotated[str, says("the machine's name; a profile serves for every machine")]
    partial: Annotated[bool, says("whether the run was stopped before its end")]
    code_sha256: Annotated[
        str,
        says("hash of the instructions of the kernel and all it calls, control codes left out: other code refuses it"),
    ]
    functions: Annotated[
        dict[str, list[list[int]]],
        says(
            "by function, pairs [first word, executions by warps] of stretches of words that were executed "
            "equally often, the first from word 0; each ends where the next begins"
        ),
    ]


class BaselineFile(TypedDict):
    """The file that the pytest plugin keeps for a check."""

    schema_version: Annotated[int, says("1; another one is refused")]
    test: Annotated[str, says("pytest's id of the test, from its file's name on")]
    kernel: Annotated[str, says("that ran")]
    machine: Annotated[str, says("the machine's name")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    grid: Annotated[list[int], says("blocks in x, y, z")]
    block: Annotated[list[int], says("threads in x, y, z")]
    dynamic_shared: Annotated[int, says("bytes per block")]
    sms: Annotated[int, says("SMs emulated")]
    cycles: Annotated[int, says("of the run")]
    registers: Annotated[int, says("per thread")]
    local_bytes: Annotated[int, says("local memory per thread, the kernel's frame and its spills")]
    occupancy: Annotated[float, says("of an SM that has all the blocks that it may, to six digits")]


class SeriesInterval(TypedDict):
    """An interval. Besides these fields it has the [counters](#counters) that its cycles added, and quotients of them.

    Of a queue it has all but `queues`, `places` and `most`. Objects among the counters are not nested: their names are
    one key, dots and all, as `stalls.scoreboard`, `units.lsu` or `queues.l1_mshrs.average`.
    """

    start: Annotated[int, says("its first cycle")]
    cycles: Annotated[int, says("its cycles; the intervals together have the run's")]
    ipc: Annotated[float | None, says("warp instructions per cycle and SM")]
    resident_warps: Annotated[float, says("warps resident on an SM, on average")]


class SeriesFile(TypedDict):
    """The file of `run --series`, as JSON."""

    schema_version: Annotated[int, says("1")]
    kernel: Annotated[str, says("as in [run](#run), like the next six")]
    machine: Annotated[str, says("as there")]
    engine: Annotated[str, says("as there")]
    scheduler: Annotated[str, says("as there")]
    sms: Annotated[int, says("as there")]
    partial: Annotated[bool, says("as there: the intervals are then those up to where the run was stopped")]
    cycles: Annotated[int, says("as there, of the whole run")]
    every: Annotated[int, says("cycles of an interval; the last one may be shorter, or longer, see the next")]
    full_at_cycle: Annotated[
        int | None,
        says(
            "where there would be more than 10,000: all cycles from this one on are one interval more, the last; "
            "else null"
        ),
    ]
    intervals: Annotated[list[SeriesInterval], says("the intervals, in order")]
