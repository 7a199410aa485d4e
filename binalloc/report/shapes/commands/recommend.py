"""This module has the shapes of `recommend`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.commands.multiplex import WithTurns
from binalloc.report.shapes.parts.common import MachineFrom, Versioned
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.parts.sharing.pairs import WithPairs
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, OccupancyJson, VersionJson
from binalloc.report.shapes.says import says


class InstructionKind(TypedDict):
    """This object counts the instructions of a kind."""

    kind: Annotated[
        str, says("kind of the instructions: the space of a memory access, `control`, or the unit that executes them")
    ]
    static: Annotated[int, says("instructions of this kind in the code of the kernel and its callees")]
    executed_percent: Annotated[
        float,
        says(
            "share of this kind in the instructions that a thread executes, in per cent, estimated from loops "
            "and calls or counted by a profile"
        ),
    ]


class KernelCharacter(TypedDict):
    """This object has a kernel's figures."""

    dispatch_interval: Annotated[float, says("mean static dispatch interval of the original, in cycles")]
    concurrency_bound: Annotated[
        bool, says("whether more warps would find idle issue cycles: `dispatch_interval` is above 1")
    ]
    register_demand: Annotated[int, says("registers per thread of the input")]
    user_shared_bytes_per_thread: Annotated[
        float, says("shared memory that the program itself uses per thread of a block, in bytes")
    ]
    instruction_change: Annotated[
        float, says("instructions in the code of the recommended version over the instructions of the original")
    ]
    mix: Annotated[list[InstructionKind], says("instructions by kind")]


class MeasuredSide(TypedDict):
    """This object says what became of the issue slots of a run."""

    achieved_occupancy: Annotated[
        float, says("resident warps, on average over the run, as a share of the most that an SM holds")
    ]
    issued_percent: Annotated[float, says("issue slots in which an instruction issued, in per cent of all")]
    stall_percent: Annotated[
        dict[str, float],
        says("issue slots that were lost, in per cent of all, by reason; with `issued_percent` they add up to 100"),
    ]


class SpreadSide(TypedDict):
    """This object is a level of the spread."""

    speedup: Annotated[float, says("speedup of the level over the original")]
    blocks: Annotated[int, says("resident blocks per SM of the level")]


class SpreadJson(TypedDict):
    """The spread compares the chosen level with the best and the worst, the original among them."""

    emulated: Annotated[bool, says("whether the speedups are emulated; else policy `model` estimates them")]
    auto: Annotated[SpreadSide, says("the chosen level")]
    best: Annotated[SpreadSide, says("the fastest level")]
    worst: Annotated[SpreadSide, says("the slowest level")]


class CertificateJson(TypedDict):
    """A certificate says how good the spill code is."""

    cost: Annotated[
        float,
        says(
            "cost of the spill code of the recommended version per run of the kernel, in accesses to a slot, "
            "estimated from loops and calls"
        ),
    ]
    bound: Annotated[
        float | None,
        says("lower bound of that cost for any allocation with the same registers and slots; null where none is known"),
    ]
    gap: Annotated[
        float | None, says("largest share of the cost that a better allocation may save; null without a bound")
    ]
    by: Annotated[str | None, says("what the bound follows from; null without a bound")]


class RecommendedFunction(TypedDict):
    """This object describes a function of the recommended version."""

    function: Annotated[str, says("name of the function")]
    instructions: Annotated[int, says("instructions of the function")]
    registers: Annotated[int, says("registers that the code of the function uses, counted up to the highest one")]
    slot_accesses: Annotated[int, says("instructions of the function that access slots")]
    local_accesses: Annotated[int, says("instructions of the function that access spilled values in local memory")]


class WhatIfStep(TypedDict):
    """A step is a range of a resource over which the number of resident blocks stays the same."""

    at: Annotated[
        int,
        says(
            "smallest amount of the resource in the step: `registers` per thread, `shared_bytes` per block or "
            "`threads` per block; the step ends where the next one begins"
        ),
    ]
    blocks: Annotated[
        int, says("resident blocks per SM of the original with so much of the resource, all else being equal")
    ]


class NextSteps(TypedDict):
    """This object says what to do now."""

    rewrite: Annotated[
        str,
        says("command that writes the recommended version"),
    ]
    already_bound: Annotated[bool, says("whether the kernel has the launch bounds of `launch_bounds` already")]
    launch_bounds: Annotated[
        str | None,
        says(
            "launch bounds for the CUDA source that ask for as many blocks; null where `turns` or `pairs` has a "
            "version that was taken: no directive makes it of the source"
        ),
    ]
    maxrregcount: Annotated[
        int | None,
        says(
            "limit of registers per thread for the vendor's compiler (`-maxrregcount`) that allows as many blocks; "
            "null as `launch_bounds`"
        ),
    ]
    unused_shared_bytes: Annotated[
        int | None,
        says(
            "dynamic shared memory per block, in bytes, that a CUDA launch has to ask for without using it, so "
            "that no more blocks become resident; null where that is not necessary"
        ),
    ]


class NoteJson(TypedDict):
    """A note is a sentence that the user should know."""

    weight: Annotated[
        int,
        says("importance of the note: notes and warnings are sorted by it, the largest first"),
    ]
    beware: Annotated[bool, says("whether the fact may make the advice wrong, or cost more than the advice gains")]
    text: Annotated[str, says("the note, a sentence without its full stop")]


class BoundJson(TypedDict):
    """This object says what bounds the speed of the original."""

    kind: Annotated[
        str,
        says(
            "what bounds the speed, by a run of the original or by policy `model`. At its limit is a resource: "
            "`issue`, `unit`, `banks`, `arrivals` (at barriers), `dram`, `link`. Or warps wait: `latency`, "
            "`barrier`, `dependence`, `tail`, `fetch`"
        ),
    ]
    what: Annotated[str, says("what bounds the speed, in words")]
    by_throughput: Annotated[
        bool,
        says("whether a resource is at its limit, which more resident warps cannot change"),
    ]
    percent: Annotated[
        float | None,
        says(
            "busy cycles of the resource in per cent of all cycles, or lost issue slots in per cent of all "
            "slots; null where the model gives no share"
        ),
    ]
    measured: Annotated[bool, says("whether a run gave the answer; else policy `model` did")]
    text: Annotated[str, says("`what` with its figure")]
    busy_percent: Annotated[
        dict[str, float],
        says(
            "busy cycles of each resource in per cent of all cycles: `issue` slots, port groups of execution "
            "units as the machine file names them, `dram`, and the links to L2 (`requests`) and from L2 "
            "(`answers`)"
        ),
    ]


class GridJson(TypedDict):
    """This object says how the grid fills the whole GPU."""

    blocks: Annotated[int, says("blocks of the grid")]
    sms: Annotated[int, says("SMs of the GPU")]
    blocks_of_an_sm: Annotated[
        int,
        says(
            "blocks on the SM with the most blocks, if the grid is spread evenly; levels with more blocks are "
            "not looked at"
        ),
    ]
    resident: Annotated[int, says("part of `blocks_of_an_sm` that is resident at once with the recommended version")]


class HotLineJson(TypedDict):
    """This object describes a source line of which much is executed."""

    file: Annotated[
        str,
        says("source file, as the binary names it"),
    ]
    line: Annotated[int, says("number of the line in the file")]
    function: Annotated[str, says("function that has the instructions of the line")]
    percent: Annotated[
        float,
        says(
            "share of the line in all executed instructions, in per cent: counted by the emulator where the "
            "original was run, else estimated from loops and calls or counted by a profile"
        ),
    ]
    measured: Annotated[bool, says("whether the emulator counted the instructions")]
    text: Annotated[str | None, says("text of the line; null where the source file was not found")]


class AdviceJson(WithTurns, WithPairs):
    """These fields are the answer for a machine."""

    refused: Annotated[None, says("always null: there is an answer")]
    kernel: Annotated[str, says("name of the kernel")]
    machine: Annotated[str, says("name of the machine")]
    allocator: Annotated[str, says("allocator that was asked for")]
    policy: Annotated[str | None, says("policy that chose the level; null where the level was asked for")]
    reading: Annotated[
        list[str] | None,
        says(
            "points at which the unified paper is read otherwise than printed, as `--reading` names them; null "
            "for other policies"
        ),
    ]
    inline: Annotated[str, says("calls that were to be inlined, as `--inline` names them")]
    kept_original: Annotated[
        bool, says("whether nothing better than the input was found, not even another order of its instructions")
    ]
    reason: Annotated[str, says("why this version was chosen")]
    speedup: Annotated[
        float | None,
        says(
            "emulated cycles of `ordered`, or of `original` where that is null, over the cycles of "
            "`recommended`; null without runs"
        ),
    ]
    speedup_error: Annotated[
        float | None,
        says(
            "largest error of `speedup`, as a share of it, where cycles are estimated from parts of the grid; "
            "null elsewhere"
        ),
    ]
    ordering: Annotated[
        float | None,
        says(
            "emulated cycles of `original` over the cycles of `ordered`, which `speedup` leaves out; 1 where "
            "`ordered` is null; null without runs"
        ),
    ]
    original: Annotated[VersionJson, says("the input with the control codes of this machine")]
    ordered: Annotated[
        VersionJson | None,
        says(
            "the original with its instructions in another order, over which speedups are; null where they are "
            "over `original`"
        ),
    ]
    recommended: Annotated[VersionJson, says("the version that was chosen")]
    levels: Annotated[list[LevelJson], says("levels that the search looked at")]
    directives: Annotated[
        DirectivesJson | None,
        says("directives of the kernel's author; null where there are none"),
    ]
    character: Annotated[KernelCharacter, says("figures of the kernel")]
    measured: Annotated[
        dict[str, MeasuredSide | None],
        says(
            "issue slots of the runs of `original`, or `ordered` where there is one, and of `recommended`; each "
            "null without runs"
        ),
    ]
    occupancy: Annotated[
        dict[str, OccupancyJson], says("occupancy of `original`, which is the input, and of `recommended`")
    ]
    spread: Annotated[
        SpreadJson | None,
        says("the chosen level beside the best and the worst; null where no level was run or estimated"),
    ]
    certificate: Annotated[CertificateJson | None, says("how good the spill code is; null where the input is kept")]
    pressure: Annotated[PressureJson, says("register pressure of the input")]
    expected_speedup: Annotated[
        float | None,
        says(
            "speedup of the recommended version over the original, in its faster order, that policy `model` "
            "expects; null where the version was run, and where the original is kept"
        ),
    ]
    functions: Annotated[list[RecommendedFunction], says("functions of the recommended version")]
    waves: Annotated[
        float | None,
        says(
            "blocks of the grid over the blocks of the recommended version that the GPU holds at once; null "
            "without a launch"
        ),
    ]
    what_if: Annotated[
        dict[str, list[WhatIfStep]],
        says(
            "resident blocks of the original over `registers`, `shared_bytes` and `threads`, all else being "
            "equal; the steps of each ascend"
        ),
    ]
    what_if_most: Annotated[
        dict[str, int],
        says("largest amount of each resource that a block can have: the end of the last step of `what_if`"),
    ]
    next: Annotated[
        NextSteps | None,
        says("what to do now; null where the original is kept, and where another order gains less than 1 %"),
    ]
    warnings: Annotated[list[str], says("texts of the notes with `beware`, the most important first")]
    notes: Annotated[
        list[NoteJson],
        says("all facts that the user should know, `warnings` included, the most important first"),
    ]
    name: Annotated[str, says("name of the kernel for tables: demangled and shortened")]
    bound: Annotated[
        BoundJson | None,
        says("what bounds the speed of the original; null where the code of the kernel cannot be followed"),
    ]
    grid: Annotated[GridJson | None, says("how the grid fills the GPU; null without a launch")]
    hot_lines: Annotated[
        list[HotLineJson],
        says(
            "the eight source lines of which most is executed, in descending order; empty where the binary "
            "names no lines"
        ),
    ]


class RecommendationJson(AdviceJson, MachineFrom):
    """This object is the answer for a machine."""


class RefusedJson(TypedDict):
    """This object stands for the answer for a machine where there is none, and several machines were asked about."""

    refused: Annotated[str, says("why there is no answer; the object then has only `refused` and `machine`")]
    machine: Annotated[str, says("name of the machine")]


class RecommendJson(Versioned):
    """`recommend` prints this object."""

    recommendations: Annotated[
        list[RecommendationJson | RefusedJson], says("an answer for each machine of `--machine`")
    ]
