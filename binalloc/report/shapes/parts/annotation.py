"""These are the shapes of what single instructions of a run did and waited for."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class AnnotatedPlace(TypedDict):
    """An instruction, and where it comes from."""

    index: Annotated[int, says("word in the function")]
    text: Annotated[str, says("the instruction")]
    spill: Annotated[bool, says("it is an access by spill code")]
    original: Annotated[
        int | None,
        says("word of the original function that it stands for; null for what a rewrite inserted"),
    ]
    file: Annotated[str | None, says("source file, as the binary names it; null where it names none")]
    line: Annotated[int | None, says("line in it; null likewise")]
    hot: Annotated[
        bool,
        says(
            "it is among the hottest: those with the most slots, issued and lost; ten, or as many as `--annotate` says"
        ),
    ]


class SlotsOfCode(TypedDict):
    """Issues of an instruction or a source line, and issue slots lost to it."""

    issues: Annotated[int, says("times that warps issued it")]
    thread_instructions: Annotated[int, says("the same by active lane")]
    average_lanes: Annotated[float | None, says("lanes that executed it, per issue; null if it never was issued")]
    stall_slots: Annotated[int, says("issue slots lost that are held against it")]
    stall_share: Annotated[float, says("those over `slots`")]
    main_stall: Annotated[str | None, says("the reason of most of them; null where there are none")]
    stalls: Annotated[dict[str, int], says("lost issue slots held against it, by reason")]


class AnnotatedInstruction(AnnotatedPlace, SlotsOfCode):
    """An instruction and what was counted of it."""

    requests: Annotated[int, says("accesses to global memory")]
    sectors: Annotated[int, says("sectors that they touched")]
    sectors_per_request: Annotated[float | None, says("their quotient; null without requests")]
    shared_accesses: Annotated[int, says("accesses to shared memory")]
    shared_passes: Annotated[int, says("passes through its banks")]
    conflict_degree: Annotated[float | None, says("their quotient; null without accesses")]
    l1_hits: Annotated[int, says("lines found in L1")]
    l1_misses: Annotated[int, says("lines not found")]
    latencies: Annotated[
        int,
        says(
            "loads, atomics and texture fetches of which is known when all their data was there: not of those "
            "that memory had not answered when the grid ended"
        ),
    ]
    latency_average: Annotated[float | None, says("cycles from issue until all their data was there; null without any")]
    latency_max: Annotated[int | None, says("the most of them; null likewise")]


class SourceLine(TypedDict):
    """A source line of the code."""

    file: Annotated[str, says("source file; the list is empty where the binary names no lines")]
    line: Annotated[int, says("line in it")]
    text: Annotated[str | None, says("the line; null where the file was not found or is shorter")]
    instructions: Annotated[list[int], says("indexes of its instructions")]


class AnnotatedLine(SourceLine, SlotsOfCode):
    """A source line and the sums over its instructions."""


class AnnotatedFunction(TypedDict):
    """A function's instructions and source lines."""

    function: Annotated[str, says("the kernel, then the functions it can call")]
    instructions: Annotated[list[AnnotatedInstruction], says("instructions in the order of the code")]
    lines: Annotated[list[AnnotatedLine], says("source lines; empty where the binary names none")]


class SourceFile(TypedDict):
    """A source file."""

    file: Annotated[str, says("a source file that the binary names")]
    path: Annotated[str | None, says("where it was found; null if it was not")]


class AnnotationJson(TypedDict):
    """What single instructions did and waited for."""

    slots: Annotated[int, says("issue slots of the run: its cycles times schedulers, slots of each, and SMs")]
    unattributed_slots: Annotated[int, says("those lost with no warp there, which are held against no instruction")]
    all: Annotated[bool, says("false where a number was asked for: the text then shows the hottest alone")]
    functions: Annotated[list[AnnotatedFunction], says("the kernel, then the functions it can call")]
    sources: Annotated[list[SourceFile], says("source files that the binary names")]
