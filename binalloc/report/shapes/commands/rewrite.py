"""This module has the shapes of `rewrite`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.commands.multiplex import WithTurns
from binalloc.report.shapes.parts.block_order import WithBlockOrder
from binalloc.report.shapes.parts.common import BothCounts, MachineFrom, Versioned, WeighingProfile
from binalloc.report.shapes.parts.sharing.pairs import WithPairs
from binalloc.report.shapes.parts.versions import DirectivesJson, LevelJson, SpeedupParts, VersionJson
from binalloc.report.shapes.says import says


class SolverJson(TypedDict):
    """This object is the answer of the exact solver (CP-SAT) for a function."""

    function: Annotated[str, says("name of the function")]
    value: Annotated[float, says("cost of the placement, weighted by loops")]
    bound: Annotated[float, says("lower bound of the cost of any placement")]
    gap: Annotated[float, says("(`value` - `bound`) / `value`")]
    status: Annotated[str, says("answer of the solver: `optimal`, `feasible` or `unknown`")]
    source: Annotated[str, says("where the placement comes from: `solver` or `heuristic`")]
    used: Annotated[bool, says("whether the binary has the placement of the solver")]


class SpilledStretch(TypedDict):
    """A stretch is a part of the code in which a value is in no register."""

    after: Annotated[
        int, says("instruction after which the value leaves its register, -1 for the entry of the function")
    ]
    until: Annotated[int, says("instruction before which the value is in a register again, or at which it ends")]


class InsteadJson(TypedDict):
    """This object is another value that could have been spilled."""

    value: Annotated[str, says("the other value, which stayed in its register")]
    cost: Annotated[
        float, says("what spilling it would have cost, in accesses to a slot, estimated from loops and calls")
    ]
    relieves: Annotated[int, says("points before and after instructions at which spilling it would have helped")]


class SpillReason(TypedDict):
    """This object says why a round of spilling chose the value."""

    at: Annotated[
        int,
        says("instruction that lacks the most registers, of all at which the value is in no register"),
    ]
    callee: Annotated[
        str | None,
        says(
            "callee of that instruction in which the registers are missing; null where they are missing in the "
            "function itself"
        ),
    ]
    file: Annotated[str | None, says("source file of that instruction; null where the binary names none")]
    line: Annotated[int | None, says("source line of that instruction; null where the binary names none")]
    pressure: Annotated[int, says("registers needed there")]
    capacity: Annotated[int, says("registers available there")]
    excess: Annotated[int, says("`pressure` - `capacity`: registers missing there")]
    cost: Annotated[float, says("what spilling the value costs, in accesses to a slot, estimated from loops and calls")]
    relieves: Annotated[int, says("points before and after instructions at which spilling the value helps")]
    instead: Annotated[list[InsteadJson], says("values that are live there and stayed, the cheapest first")]


class SpilledValue(TypedDict):
    """This object describes a value that was spilled or is recomputed."""

    function: Annotated[
        str,
        says("function of the value"),
    ]
    value: Annotated[
        str,
        says(
            "the value, as `inspect --live` names it: its place in the binary and the number of its live range. "
            "A part of it that an earlier round made has a `'` and a number at the end"
        ),
    ]
    defined: Annotated[list[int], says("instructions that define the value, -1 for the entry of the function")]
    accesses: Annotated[
        float,
        says(
            "executions of the instructions that define or use the value per run of the kernel, estimated from "
            "loops and calls"
        ),
    ]
    away: Annotated[list[SpilledStretch], says("stretches of the code in which the value is in no register")]
    whole: Annotated[bool, says("whether the value is in a register only at its accesses")]
    slot: Annotated[int | None, says("slot that holds the value; null where none does")]
    slots_around_calls: Annotated[list[int], says("other slots to which the value is moved around calls")]
    local_word: Annotated[
        int | None, says("word of the spill area in local memory that holds the value; null where none does")
    ]
    passed_in_memory: Annotated[
        bool,
        says("whether the value is an argument that arrives in memory; its stores are then in the callers"),
    ]
    not_in_slot: Annotated[str | None, says("why no slot holds the value; null where one does")]
    recomputed_by: Annotated[list[str], says("instructions of the input that recompute the value")]
    not_recomputed: Annotated[str | None, says("why the value is not recomputed; null where it is")]
    loads: Annotated[int, says("instructions that load the value")]
    loads_weighted: Annotated[
        float, says("executions of `loads` per run of the kernel, estimated from loops and calls")
    ]
    stores: Annotated[int, says("instructions that store the value")]
    stores_weighted: Annotated[
        float, says("executions of `stores` per run of the kernel, estimated from loops and calls")
    ]
    recomputations: Annotated[int, says("instructions that recompute the value")]
    recomputations_weighted: Annotated[
        float, says("executions of `recomputations` per run of the kernel, estimated from loops and calls")
    ]
    why: Annotated[list[SpillReason], says("why the value was chosen, one entry for each round of spilling")]


class OutcomeJson(WithTurns, WithPairs, WithBlockOrder):
    """These fields describe the rewrite of one launch."""

    kernel: Annotated[str, says("name of the kernel")]
    machine: Annotated[str, says("name of the machine")]
    allocator: Annotated[
        str, says("allocator that was asked for: `local`, `unified`, `ptxas-smem`, `regdem`, `best` or `cpsat`")
    ]
    policy: Annotated[str | None, says("policy that chose the level; null where the level was asked for")]
    reading: Annotated[
        list[str] | None,
        says(
            "points at which the unified paper is read otherwise than printed, as `--reading` names them; null "
            "for other policies"
        ),
    ]
    scheduler: Annotated[
        str | None,
        says("warp scheduler of the runs, as `--scheduler` names it; null without runs"),
    ]
    inline: Annotated[str, says("calls that were to be inlined, as `--inline` names them")]
    inlined_calls: Annotated[int, says("number of calls that were inlined in `rewritten`")]
    profile: Annotated[
        WeighingProfile | None,
        says("[profile](#profile-of-a-run) that weights the code; null where loops and calls do"),
    ]
    verified: Annotated[
        bool, says("whether the checker passed, and both runs, where there are any, have the same results")
    ]
    checked: Annotated[bool, says("whether the checker passed")]
    same_results: Annotated[
        bool | None,
        says("whether both runs have the same results; null without runs, and where only parts of the grid were run"),
    ]
    kept_original: Annotated[
        bool, says("whether nothing better than the input was found, not even another order of its instructions")
    ]
    reason: Annotated[str, says("why this version was chosen")]
    speedup: Annotated[
        float | None,
        says(
            "emulated cycles of `ordered`, or of `original` where that is null, over the cycles of `rewritten`; "
            "null without runs"
        ),
    ]
    speedup_error: Annotated[
        float | None,
        says(
            "largest error of `speedup`, as a share of it, where cycles are estimated from parts of the grid; "
            "null elsewhere"
        ),
    ]
    speedup_range: Annotated[
        list[float] | None,
        says(
            "least and greatest speedup of the runs with and without delays of blocks (`--skews`); null without "
            "`--skews`"
        ),
    ]
    speedup_parts: Annotated[
        SpeedupParts,
        says("factors of `speedup`"),
    ]
    ordering: Annotated[
        float | None,
        says(
            "emulated cycles of `original` over the cycles of `ordered`, which `speedup` leaves out; 1 where "
            "`ordered` is null; null without runs"
        ),
    ]
    rescheduling: Annotated[
        float | None,
        says(
            "emulated cycles of the input with its own control codes over the cycles of `original`; null "
            "without runs, and where the input does not fit the machine"
        ),
    ]
    original: Annotated[VersionJson, says("the input with the control codes of this machine")]
    ordered: Annotated[
        VersionJson | None,
        says(
            "the original with its instructions in another order, as allocator `local` puts them at the same "
            "number of blocks, where that is faster or, without runs, policy `model` expects it to be; null "
            "elsewhere"
        ),
    ]
    rewritten: Annotated[VersionJson, says("the version that was chosen")]
    local: Annotated[
        VersionJson | None,
        says(
            "the version of allocator `local`, with spills to local memory alone, at the same number of blocks; "
            "null without runs, and where that allocator finds no allocation"
        ),
    ]
    directives: Annotated[
        DirectivesJson | None,
        says("directives of the kernel's author; null where there are none"),
    ]
    levels: Annotated[list[LevelJson], says("levels that the search looked at")]
    solver: Annotated[
        list[SolverJson], says("answers of the exact solver, one entry per function; empty without allocator `cpsat`")
    ]


class ExplainedJson(TypedDict):
    """This field is what `--explain` adds."""

    explanation: NotRequired[
        Annotated[list[SpilledValue], says("values that were spilled or are recomputed; left out without `--explain`")]
    ]


class RewriteJson(Versioned, OutcomeJson, MachineFrom, ExplainedJson):
    """`rewrite` prints this object for one launch."""


class ProgramKernel(TypedDict):
    """This object describes a kernel that was to be rewritten."""

    kernel: Annotated[str, says("name of the kernel in the binary")]
    name: Annotated[str, says("C++ name of the kernel without result and parameters, or its name in the binary")]
    kept_original: Annotated[bool, says("whether the kernel stays as it is")]
    reason: Annotated[str, says("why the kernel has these registers and slots")]
    original: Annotated[
        VersionJson,
        says("the input, for the launch with the largest block; without cycles"),
    ]
    rewritten: Annotated[VersionJson, says("the rewrite, for the launch with the largest block; without cycles")]
    launches: Annotated[BothCounts, says("launches of the kernel in both runs")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches of the kernel in both runs")]
    speedup: Annotated[
        float | None,
        says("quotient of `cycles`; null where the run of the rewritten binary does not launch the kernel"),
    ]


class KernelLeftOut(TypedDict):
    """This object describes a kernel that no rewrite can handle."""

    kernel: Annotated[
        str,
        says("name of the kernel in the binary"),
    ]
    name: Annotated[str, says("C++ name of the kernel without result and parameters, or its name in the binary")]
    reason: Annotated[
        str,
        says("the recursion or the call of a computed address that no rewrite can handle, and what the user can do"),
    ]


class ProgramOutcomeJson(TypedDict):
    """These fields describe the rewrite of a sequence of launches."""

    program: Annotated[str, says("path of the launch file")]
    machine: Annotated[str, says("name of the machine")]
    allocator: Annotated[str, says("allocator that was asked for")]
    scheduler: Annotated[str, says("warp scheduler of the runs, as `--scheduler` names it")]
    verified: Annotated[bool, says("whether all rewrites are proven, and both runs have the same results")]
    checked: Annotated[bool, says("whether all rewrites are proven")]
    same_results: Annotated[bool, says("whether both runs have the same results")]
    differences: Annotated[list[str], says("a sentence for each buffer or variable that differs between the runs")]
    cycles: Annotated[BothCounts, says("emulated cycles of all launches in both runs")]
    speedup: Annotated[float | None, says("quotient of `cycles`; null where nothing was launched")]
    launches: Annotated[BothCounts, says("number of launches in both runs")]
    kernels: Annotated[list[ProgramKernel], says("kernels that were to be rewritten, in the order of the launch file")]
    left_out: Annotated[
        list[KernelLeftOut],
        says("kernels that stay as they are because no rewrite can handle recursion or calls of computed addresses"),
    ]


class ProgramRewriteJson(Versioned, ProgramOutcomeJson, MachineFrom):
    """`rewrite` prints this object for a sequence of launches."""
