"""This module has the shapes of what single instructions of a run did and waited for."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.dram_shares import DramCauseJson, DramOfJson
from binalloc.report.shapes.says import says


class AnnotatedPlace(TypedDict):
    """These fields say which instruction it is, and where it comes from."""

    index: Annotated[int, says("number of the instruction in its function, from 0")]
    text: Annotated[str, says("the instruction as assembly")]
    spill: Annotated[bool, says("whether the instruction is an access by spill code")]
    original: Annotated[
        int | None,
        says(
            "number of the instruction of the original function that this one stands for; null where a rewrite "
            "inserted this one"
        ),
    ]
    file: Annotated[
        str | None,
        says("source file of the instruction, as the binary names it; null where the binary names none"),
    ]
    line: Annotated[int | None, says("source line of the instruction; null where the binary names none")]
    hot: Annotated[
        bool,
        says(
            "whether the instruction is among the hottest, which have the most issue slots, issued and lost: ten of "
            "them, or as many as `--annotate` asks for"
        ),
    ]


class SlotsOfCode(TypedDict):
    """These fields count the issues of an instruction or a source line, and the issue slots lost to it."""

    issues: Annotated[int, says("issues by warps; of a source line, summed over its instructions")]
    thread_instructions: Annotated[
        int,
        says("issues, each counted once for every active lane; of a source line, summed over its instructions"),
    ]
    average_lanes: Annotated[float | None, says("active lanes per issue; null without an issue")]
    stall_slots: Annotated[
        int,
        says("lost issue slots that are charged to the instruction; of a source line, summed over its instructions"),
    ]
    stall_share: Annotated[float, says("`stall_slots` as a share of all issue slots of the run, from 0 to 1")]
    main_stall: Annotated[
        str | None,
        says("reason for which most of `stall_slots` were lost; null where none were lost"),
    ]
    stalls: Annotated[dict[str, int], says("lost issue slots by reason; they add up to `stall_slots`")]


class AnnotatedInstruction(AnnotatedPlace, SlotsOfCode, DramOfJson):
    """This object describes an instruction, with its counts from the run. Those of DRAM are for its requests, and for
    write-backs of the lines that it changed last."""

    requests: Annotated[int, says("issues that accessed global memory")]
    sectors: Annotated[int, says("sectors of global memory that these accesses touched")]
    sectors_per_request: Annotated[float | None, says("`sectors` over `requests`; null without requests")]
    shared_accesses: Annotated[int, says("issues that accessed shared memory")]
    shared_passes: Annotated[int, says("passes through the banks of shared memory that these accesses took")]
    conflict_degree: Annotated[
        float | None,
        says("`shared_passes` over `shared_accesses`, the degree of bank conflicts; null without accesses"),
    ]
    l1_hits: Annotated[int, says("lines that its accesses found in L1")]
    l1_misses: Annotated[int, says("lines that its accesses did not find in L1")]
    latencies: Annotated[
        int,
        says(
            "loads, atomics and texture fetches with a known latency: all but those that memory had not answered when "
            "the grid ended"
        ),
    ]
    latency_average: Annotated[
        float | None,
        says("cycles from issue to the arrival of all data, averaged over `latencies`; null where that is 0"),
    ]
    latency_max: Annotated[
        int | None,
        says("cycles from issue to the arrival of all data, at most; null where `latencies` is 0"),
    ]


class SourceLine(TypedDict):
    """These fields name a source line and its instructions."""

    file: Annotated[str, says("source file, as the binary names it")]
    line: Annotated[int, says("number of the line in the file")]
    text: Annotated[str | None, says("text of the line; null where the file was not found or has fewer lines")]
    instructions: Annotated[list[int], says("numbers of the instructions in the function that come from the line")]


class AnnotatedLine(SourceLine, SlotsOfCode, DramOfJson):
    """This object describes a source line, with sums over its instructions."""


class AnnotatedFunction(TypedDict):
    """This object describes the instructions and the source lines of a function."""

    function: Annotated[str, says("name of the function")]
    instructions: Annotated[list[AnnotatedInstruction], says("its instructions, in the order of the code")]
    lines: Annotated[
        list[AnnotatedLine],
        says("its source lines, by file and number; empty where the binary names no lines"),
    ]


class SourceFile(TypedDict):
    """This object describes a source file that the binary names."""

    file: Annotated[str, says("name of the source file, as in the binary")]
    path: Annotated[str | None, says("path at which the file was found; null where it was not found")]


class AnnotationJson(TypedDict):
    """An annotation says what single instructions did and waited for."""

    slots: Annotated[
        int,
        says("issue slots of the run: its cycles times SMs, schedulers per SM and slots per scheduler and cycle"),
    ]
    unattributed_slots: Annotated[
        int,
        says("issue slots lost because no warp was there; they are charged to no instruction"),
    ]
    all: Annotated[
        bool,
        says("false where `--annotate` asked for a number of instructions; the text then shows only the hottest"),
    ]
    functions: Annotated[list[AnnotatedFunction], says("the kernel first, then the functions that it can call")]
    dram_of_no_instruction: Annotated[
        list[DramCauseJson],
        says("what DRAM did for no instruction; with all instructions it adds up to the run"),
    ]
    sources: Annotated[list[SourceFile], says("source files that the binary names")]
