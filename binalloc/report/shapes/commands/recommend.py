"""These are the shapes of `recommend`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import MachineFrom, Versioned
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, OccupancyJson, VersionJson
from binalloc.report.shapes.says import says


class InstructionKind(TypedDict):
    """Instructions of a kind."""

    kind: Annotated[str, says("the space of a memory access, `control`, or the unit that executes it")]
    static: Annotated[int, says("instructions of the kind, callees included")]
    executed_percent: Annotated[
        float,
        says("their share of what a thread executes, by loops and calls or as a profile has it"),
    ]


class KernelCharacter(TypedDict):
    """A kernel in figures."""

    dispatch_interval: Annotated[float, says("mean static dispatch interval of the original, in cycles")]
    concurrency_bound: Annotated[bool, says("whether more warps can fill idle issue cycles: the interval is above 1")]
    register_demand: Annotated[int, says("registers per thread of the input")]
    user_shared_bytes_per_thread: Annotated[float, says("the user's shared memory over the block's threads")]
    instruction_change: Annotated[float, says("static instructions of the recommended version over the original's")]
    mix: Annotated[list[InstructionKind], says("instructions by kind")]


class MeasuredSide(TypedDict):
    """Where the issue slots of a run went."""

    achieved_occupancy: Annotated[float, says("resident warps over the most there can be, on average over the run")]
    issued_percent: Annotated[float, says("issue slots in which an instruction issued")]
    stall_percent: Annotated[
        dict[str, float],
        says("issue slots that stayed empty, by reason; with the issued ones they are all"),
    ]


class SpreadSide(TypedDict):
    """A level of a spread."""

    speedup: Annotated[float, says("its speedup")]
    blocks: Annotated[int, says("its resident blocks")]


class SpreadJson(TypedDict):
    """The chosen level beside the best and the worst, the original among them."""

    emulated: Annotated[bool, says("whether the levels were run; else their figures are policy `model`'s estimates")]
    auto: Annotated[SpreadSide, says("the chosen one")]
    best: Annotated[SpreadSide, says("the fastest")]
    worst: Annotated[SpreadSide, says("the slowest")]


class CertificateJson(TypedDict):
    """How good the spill code is."""

    cost: Annotated[
        float,
        says(
            "what the spill code of the recommended version costs by what allocators go by: accesses to a slot, "
            "per run of the kernel, by loops and calls; `certificate` is null where the input is kept"
        ),
    ]
    bound: Annotated[
        float | None,
        says("no allocation of as many registers and slots costs less; null where that is not known"),
    ]
    gap: Annotated[float | None, says("what at most a better one may save, as a share of the cost; null likewise")]
    by: Annotated[str | None, says("what says so; null likewise")]


class RecommendedFunction(TypedDict):
    """A function of the recommended version."""

    function: Annotated[str, says("a function of the recommended version")]
    instructions: Annotated[int, says("how many it has")]
    registers: Annotated[int, says("registers that its code names, up to the highest")]
    slot_accesses: Annotated[int, says("its instructions that access slots")]
    local_accesses: Annotated[int, says("those that access spilled words in local memory")]


class WhatIfStep(TypedDict):
    """A stretch of a resource with one number of resident blocks."""

    at: Annotated[
        int,
        says(
            "from so many `registers` per thread, `shared_bytes` per block or `threads` per block on, until the "
            "next entry,"
        ),
    ]
    blocks: Annotated[int, says("so many blocks of the original would be resident, all else being equal")]


class NextSteps(TypedDict):
    """What to do now."""

    rewrite: Annotated[
        str,
        says(
            "the command that writes it; `next` is null where the original is kept, or another order gains next "
            "to nothing (below 1 %)"
        ),
    ]
    already_bound: Annotated[bool, says("whether the kernel has those launch bounds already")]
    launch_bounds: Annotated[str, says("what to write into CUDA source for as many blocks")]
    maxrregcount: Annotated[int, says("or the vendor's compiler's limit of registers")]
    unused_shared_bytes: Annotated[
        int | None,
        says(
            "dynamic shared memory per block that a CUDA launch has to ask for, and nobody uses, so that no more "
            "blocks are resident; null where nothing has to hold them down"
        ),
    ]


class NoteJson(TypedDict):
    """Something to be known."""

    weight: Annotated[
        int,
        says("of all that is to be known, `warnings` among them, sorted by it: the greater, the more it matters"),
    ]
    beware: Annotated[bool, says("whether it may make the advice wrong, or cost more than it gains")]
    text: Annotated[str, says("a sentence without its end")]


class BoundJson(TypedDict):
    """What binds the original."""

    kind: Annotated[
        str,
        says(
            "what binds the original, by its run or by policy `model`: `issue`, `unit`, `banks`, `arrivals` (at "
            "barriers), `dram`, `link` (a resource is at its limit), or `latency`, `barrier`, `dependence`, "
            "`tail`, `fetch` (what warps wait for); `bound` is null where nothing of the kernel can be followed"
        ),
    ]
    what: Annotated[str, says("the same in words")]
    by_throughput: Annotated[
        bool,
        says("whether it is a resource at its limit, which more resident warps cannot change"),
    ]
    percent: Annotated[
        float | None,
        says(
            "of the cycles that the resource is busy, or of issue slots that are lost; null where the model tells "
            "of no share"
        ),
    ]
    measured: Annotated[bool, says("whether a run says so")]
    text: Annotated[str, says("`what` with its figure")]
    busy_percent: Annotated[
        dict[str, float],
        says(
            "share of the cycles that each resource is busy: `issue` slots, port groups of units as the machine "
            "file names them, `dram`, `requests` and `answers` (links to and from L2)"
        ),
    ]


class GridJson(TypedDict):
    """The grid on the whole GPU."""

    blocks: Annotated[int, says("blocks of the grid; `grid` is null without a launch")]
    sms: Annotated[int, says("SMs of the GPU")]
    blocks_of_an_sm: Annotated[
        int,
        says("blocks that the SM with most gets, if they are spread evenly; levels that hold more are not looked at"),
    ]
    resident: Annotated[int, says("of these resident at once, of the recommended version")]


class HotLineJson(TypedDict):
    """A source line of which much is executed."""

    file: Annotated[
        str,
        says("a source file as the binary names it; of the eight lines of which most is executed, the first first"),
    ]
    line: Annotated[int, says("the line")]
    function: Annotated[str, says("the function that it is in")]
    percent: Annotated[
        float,
        says(
            "its share of all instructions that are executed: as the emulator counted them where the original was "
            "run, else as expected by loops and calls, or as a profile has it"
        ),
    ]
    measured: Annotated[bool, says("whether the emulator counted them")]
    text: Annotated[str | None, says("the line itself; null where the source is not at hand")]


class AdviceJson(TypedDict):
    """The fields of the answer for a machine."""

    refused: Annotated[None, says("null: there is an answer")]
    kernel: Annotated[str, says("the kernel")]
    machine: Annotated[str, says("a machine's name, one entry for each of `--machine`")]
    allocator: Annotated[str, says("as in [rewrite](#rewrite), like those up to `levels[]`")]
    policy: Annotated[str | None, says("how the level was chosen")]
    reading: Annotated[
        list[str] | None,
        says("where the unified paper was read otherwise than printed; null for other policies"),
    ]
    inline: Annotated[str, says("which calls were to be inlined")]
    kept_original: Annotated[bool, says("nothing better than the input was found, not even another order of it")]
    reason: Annotated[str, says("why this version")]
    speedup: Annotated[
        float | None,
        says(
            "emulated cycles of `ordered`, or where that is null of `original`, over those of the recommended "
            "version; null without runs"
        ),
    ]
    speedup_error: Annotated[float | None, says("as there")]
    ordering: Annotated[float | None, says("what order alone gains, which `speedup` does not count")]
    original: Annotated[VersionJson, says("a [version](#version): the input under our control codes")]
    ordered: Annotated[
        VersionJson | None,
        says("a [version](#version): the original in another order, where speedups are over that; null elsewhere"),
    ]
    recommended: Annotated[VersionJson, says("a [version](#version): what was chosen")]
    levels: Annotated[list[LevelJson], says("a [level](#level) looked at")]
    directives: Annotated[
        DirectivesJson | None,
        says("[directives](#directives), the kernel's own; null where it says nothing"),
    ]
    character: Annotated[KernelCharacter, says("the kernel in figures")]
    measured: Annotated[
        dict[str, MeasuredSide | None],
        says("figures of both runs: `original`, over which speedups are, and `recommended`; each null without runs"),
    ]
    occupancy: Annotated[dict[str, OccupancyJson], says("occupancy of `original`, the input, and of `recommended`")]
    spread: Annotated[
        SpreadJson | None,
        says("the best and the worst level beside the chosen one; null where none was run or estimated"),
    ]
    certificate: Annotated[CertificateJson | None, says("how good the spill code is; null where the input is kept")]
    pressure: Annotated[PressureJson, says("a [pressure](#pressure), of the input")]
    expected_speedup: Annotated[
        float | None,
        says(
            "where nothing was run, how many times as fast as the original, in the order in which it should be "
            "faster, the recommended version is expected to be, by what policy `model` goes by; null where it was "
            "run, and where the original is kept"
        ),
    ]
    functions: Annotated[list[RecommendedFunction], says("functions of the recommended version")]
    waves: Annotated[
        float | None,
        says("the grid over the blocks that the machine holds of the recommended version; null without a launch"),
    ]
    what_if: Annotated[
        dict[str, list[WhatIfStep]],
        says("resident blocks of the original against `registers`, `shared_bytes` and `threads`, all else being equal"),
    ]
    what_if_most: Annotated[dict[str, int], says("where the last entry of each ends: more of it a block cannot have")]
    next: Annotated[
        NextSteps | None,
        says("what to do now; null where the original is kept, or another order gains next to nothing (below 1 %)"),
    ]
    warnings: Annotated[list[str], says("what to beware of, in sentences, the weightiest first")]
    notes: Annotated[list[NoteJson], says("all that is to be known, `warnings` among it, the weightiest first")]
    name: Annotated[str, says("the kernel's name for tables: demangled and shortened")]
    bound: Annotated[
        BoundJson | None,
        says("what binds the original; null where nothing of the kernel can be followed"),
    ]
    grid: Annotated[GridJson | None, says("the grid on the whole GPU; null without a launch")]
    hot_lines: Annotated[list[HotLineJson], says("the eight source lines of which most is executed, the first first")]


class RecommendationJson(AdviceJson, MachineFrom):
    """The answer for a machine."""


class RefusedJson(TypedDict):
    """What there is of a machine that has no answer, where several are asked about."""

    refused: Annotated[str, says("why there is no answer")]
    machine: Annotated[str, says("the machine's name")]


class RecommendJson(Versioned):
    """What `recommend` prints."""

    recommendations: Annotated[list[RecommendationJson | RefusedJson], says("one for each machine of `--machine`")]
