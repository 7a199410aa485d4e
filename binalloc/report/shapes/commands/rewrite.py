"""These are the shapes of `rewrite`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import BothCounts, MachineFrom, Versioned, WeighingProfile
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, SpeedupParts, VersionJson
from binalloc.report.shapes.says import says


class SolverJson(TypedDict):
    """A function that CP-SAT placed."""

    function: Annotated[str, says("a function that CP-SAT placed; allocator `cpsat` only")]
    value: Annotated[float, says("loop-weighted cost of its placement")]
    bound: Annotated[float, says("lower bound of that")]
    gap: Annotated[float, says("distance between them over the value")]
    status: Annotated[str, says("the solver's own word")]
    source: Annotated[str, says("whose placement it is")]
    used: Annotated[bool, says("whether the program was built from the solver's placement")]


class SpilledStretch(TypedDict):
    """A stretch in which a value is in no register."""

    after: Annotated[int, says("the instruction behind which it is in no register, -1 for the entry")]
    until: Annotated[int, says("the instruction before which it is in one again, or which ends it")]


class InsteadJson(TypedDict):
    """Another value that could have left the registers."""

    value: Annotated[str, says("another value that lives there and stayed, the cheapest first")]
    cost: Annotated[float, says("what it would have cost")]
    relieves: Annotated[int, says("where it would have helped")]


class SpillReason(TypedDict):
    """Why a round of spilling chose a value."""

    at: Annotated[
        int,
        says(
            "of where it is away, the instruction at which most registers are missing; one entry per round of spilling"
        ),
    ]
    callee: Annotated[str | None, says("whose call that is inside of, if it is")]
    file: Annotated[str | None, says("source file of that instruction")]
    line: Annotated[int | None, says("source line of that instruction")]
    pressure: Annotated[int, says("registers wanted there")]
    capacity: Annotated[int, says("registers that there are")]
    excess: Annotated[int, says("their difference")]
    cost: Annotated[float, says("what it costs that the value leaves, in accesses to a slot by loops and calls")]
    relieves: Annotated[int, says("points before and behind instructions at which that helps")]
    instead: Annotated[list[InsteadJson], says("other values that live there and stayed, the cheapest first")]


class SpilledValue(TypedDict):
    """A value that left the registers."""

    function: Annotated[
        str,
        says("a function in which a value left the registers; with `--explain` alone, as all of these"),
    ]
    value: Annotated[
        str,
        says(
            "the value: place in the binary and number of its life range, as in `inspect --live`; a part of it "
            "that an earlier round had made has a `'` and a number behind that"
        ),
    ]
    defined: Annotated[list[int], says("instructions that define it, -1 for the entry")]
    accesses: Annotated[
        float,
        says("executions of what defines and uses it, by loops and calls, per run of the kernel"),
    ]
    away: Annotated[list[SpilledStretch], says("stretches in which the value is in no register")]
    whole: Annotated[bool, says("whether it is in a register at its accesses only")]
    slot: Annotated[int | None, says("the slot that holds it")]
    slots_around_calls: Annotated[list[int], says("other slots, to which moves at calls take it")]
    local_word: Annotated[int | None, says("the word of the spill area that holds it")]
    passed_in_memory: Annotated[
        bool,
        says("whether it is an argument that its callers store there; the stores are theirs then"),
    ]
    not_in_slot: Annotated[str | None, says("why that is no slot")]
    recomputed_by: Annotated[list[str], says("the instructions that make it again, as the input has them")]
    not_recomputed: Annotated[str | None, says("why it is not made again")]
    loads: Annotated[int, says("instructions that load it")]
    loads_weighted: Annotated[float, says("those by loops and calls, per run of the kernel")]
    stores: Annotated[int, says("instructions that store it")]
    stores_weighted: Annotated[float, says("those by loops and calls, per run of the kernel")]
    recomputations: Annotated[int, says("instructions that make it again")]
    recomputations_weighted: Annotated[float, says("those by loops and calls, per run of the kernel")]
    why: Annotated[list[SpillReason], says("why it left: one entry per round of spilling")]


class OutcomeJson(TypedDict):
    """The fields of what `rewrite` prints of one launch."""

    kernel: Annotated[str, says("the kernel")]
    machine: Annotated[str, says("the machine's name")]
    allocator: Annotated[str, says("`local`, `unified`, `ptxas-smem`, `regdem`, `best` or `cpsat`")]
    policy: Annotated[str | None, says("how the level was chosen; null where it was asked for")]
    reading: Annotated[
        list[str] | None,
        says(
            "where the unified paper was read otherwise than printed, as `--reading` names it; null for other policies"
        ),
    ]
    scheduler: Annotated[
        str | None,
        says("the warp scheduler of the runs, as `--scheduler` names it; null without runs"),
    ]
    inline: Annotated[str, says("which calls were to be inlined, as `--inline` names it")]
    inlined_calls: Annotated[int, says("how many calls of `rewritten` were")]
    profile: Annotated[
        WeighingProfile | None,
        says("the [profile](#profile-of-a-run) that weighs code; null where loops do"),
    ]
    verified: Annotated[bool, says("the checker passed and, where both ran, results are the same")]
    checked: Annotated[bool, says("the checker passed")]
    same_results: Annotated[bool | None, says("both runs left the same; null without runs")]
    kept_original: Annotated[bool, says("nothing better than the input was found, not even another order of it")]
    reason: Annotated[str, says("why this version")]
    speedup: Annotated[
        float | None,
        says("cycles of `ordered`, or where that is null of `original`, over those of `rewritten`; null without runs"),
    ]
    speedup_error: Annotated[
        float | None,
        says(
            "how far off the speedup may be, as a share of it, where cycles are estimated from parts of the grid; "
            "null elsewhere"
        ),
    ]
    speedup_range: Annotated[
        list[float] | None,
        says("the least and the greatest speedup of the runs with and without delays, `--skews`; null without"),
    ]
    speedup_parts: Annotated[
        SpeedupParts,
        says("factors of `speedup`; empty without runs, and where the original was kept"),
    ]
    ordering: Annotated[
        float | None,
        says(
            "what order alone gains, which `speedup` does not count: cycles of `original` over those of "
            "`ordered`; 1 where that is null; null without runs"
        ),
    ]
    rescheduling: Annotated[float | None, says("cycles of the input as it came over those of `original`")]
    original: Annotated[VersionJson, says("a [version](#version): the input under our control codes")]
    ordered: Annotated[
        VersionJson | None,
        says(
            "a [version](#version): the original in another order, what allocator `local` makes of it at its own "
            "number of blocks, where that is faster (without runs: where policy `model` expects it to be); null "
            "elsewhere"
        ),
    ]
    rewritten: Annotated[VersionJson, says("a [version](#version): what was chosen")]
    local: Annotated[
        VersionJson | None,
        says("a [version](#version): allocator `local` at the same number of blocks; null without runs"),
    ]
    directives: Annotated[
        DirectivesJson | None,
        says("[directives](#directives), the kernel's own; null where it says nothing"),
    ]
    levels: Annotated[list[LevelJson], says("a [level](#level) looked at")]
    solver: Annotated[list[SolverJson], says("functions that CP-SAT placed; allocator `cpsat` only")]


class ExplainedJson(TypedDict):
    """What `--explain` adds."""

    explanation: NotRequired[Annotated[list[SpilledValue], says("values that left the registers; with `--explain`")]]


class RewriteJson(Versioned, OutcomeJson, MachineFrom, ExplainedJson):
    """What `rewrite` prints of one launch."""


class ProgramKernel(TypedDict):
    """A kernel that was to be rewritten."""

    kernel: Annotated[str, says("a kernel that was to be rewritten, in the launch file's order")]
    name: Annotated[str, says("its C++ name without result and parameters, or its name")]
    kept_original: Annotated[bool, says("whether it stays as it is")]
    reason: Annotated[str, says("why these registers and slots")]
    original: Annotated[
        VersionJson,
        says("a [version](#version), of the launch with the largest block; without cycles"),
    ]
    rewritten: Annotated[VersionJson, says("a [version](#version), likewise")]
    launches: Annotated[BothCounts, says("its launches in both runs")]
    cycles: Annotated[BothCounts, says("cycles of its launches in both runs")]
    speedup: Annotated[float | None, says("the quotient; null where the rewritten binary launched it never")]


class KernelLeftOut(TypedDict):
    """A kernel that stays as it is."""

    kernel: Annotated[
        str,
        says("a kernel that stays as it is since it reaches recursion or an indirect call, which no rewrite can do"),
    ]
    name: Annotated[str, says("its C++ name without result and parameters, or its name")]
    reason: Annotated[str, says("the cycle or the call, and what to do")]


class ProgramOutcomeJson(TypedDict):
    """The fields of what `rewrite` prints of a sequence of launches."""

    program: Annotated[str, says("path of the launch file")]
    machine: Annotated[str, says("the machine's name")]
    allocator: Annotated[str, says("the allocator asked for")]
    scheduler: Annotated[str, says("the warp scheduler of the runs")]
    verified: Annotated[bool, says("every rewrite has been proven, and both runs left the same")]
    checked: Annotated[bool, says("the proofs alone")]
    same_results: Annotated[bool, says("whether both runs left the same")]
    differences: Annotated[list[str], says("one sentence for each buffer or variable that differs")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches")]
    speedup: Annotated[float | None, says("the quotient; null where nothing was launched")]
    launches: Annotated[BothCounts, says("how many launches")]
    kernels: Annotated[list[ProgramKernel], says("kernels that were to be rewritten, in the launch file's order")]
    left_out: Annotated[
        list[KernelLeftOut],
        says("kernels that stay as they are since no rewrite can do recursion or an indirect call"),
    ]


class ProgramRewriteJson(Versioned, ProgramOutcomeJson, MachineFrom):
    """What `rewrite` prints of a sequence of launches."""
