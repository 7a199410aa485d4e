"""These are the shapes of `run`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import ErrorDetails, MachineFrom, Versioned
from binalloc.report.shapes.parts.counters import CountersJson
from binalloc.report.shapes.says import says


class PrintedText(TypedDict):
    """What one thread printed."""

    block: Annotated[int, says("what printf wrote, in the order of blocks and threads: the block")]
    thread: Annotated[int, says("the thread of the block")]
    text: Annotated[str, says("all that it wrote")]


class PrintedJson(TypedDict):
    """What a kernel printed."""

    texts: Annotated[list[PrintedText], says("what printf wrote, in the order of blocks and threads")]
    lost: Annotated[int, says("calls of printf that found no room")]


class LeakJson(TypedDict):
    """A block of the heap that nobody has freed."""

    address: Annotated[int, says("the first ten of them, by block and thread: its address")]
    bytes: Annotated[int, says("its bytes")]
    block: Annotated[int, says("the block that allocated it")]
    thread: Annotated[int, says("the thread of that block")]


class HeapJson(TypedDict):
    """The heap at the end of a run."""

    bytes: Annotated[int, says("size of the heap")]
    used: Annotated[int, says("bytes from its start on which blocks have ever lain")]
    leaks: Annotated[int, says("blocks that nobody has freed")]
    leaked_bytes: Annotated[int, says("their bytes, as they were asked for")]
    first_leaks: Annotated[list[LeakJson], says("the first ten of them, by block and thread")]


class AnnotatedInstruction(TypedDict):
    """An instruction and what was counted of it."""

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
    issues: Annotated[int, says("times that warps issued it")]
    thread_instructions: Annotated[int, says("the same by active lane")]
    average_lanes: Annotated[float | None, says("lanes that executed it, per issue; null if it never was issued")]
    stall_slots: Annotated[int, says("issue slots lost that are held against it")]
    stall_share: Annotated[float, says("those over `slots`")]
    main_stall: Annotated[str | None, says("the reason of most of them; null where there are none")]
    stalls: Annotated[dict[str, int], says("lost issue slots held against it, by reason")]
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


class AnnotatedLine(TypedDict):
    """A source line and the sums over its instructions."""

    file: Annotated[str, says("source file; the list is empty where the binary names no lines")]
    line: Annotated[int, says("line in it")]
    text: Annotated[str | None, says("the line; null where the file was not found or is shorter")]
    instructions: Annotated[list[int], says("indexes of its instructions")]
    issues: Annotated[int, says("sum over them; the next six likewise")]
    thread_instructions: Annotated[int, says("see above")]
    average_lanes: Annotated[float, says("see above")]
    stall_slots: Annotated[int, says("see above")]
    stall_share: Annotated[float, says("see above")]
    main_stall: Annotated[str, says("see above")]
    stalls: Annotated[dict[str, int], says("lost issue slots, by reason")]


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


class WrittenProfileJson(TypedDict):
    """A profile that was written."""

    file: NotRequired[
        Annotated[
            str,
            says("path of the [profile](#profile-of-a-run); this and the next are left out without `--profile`"),
        ]
    ]
    warps: Annotated[int, says("how many warps began the kernel")]


class WrittenSeriesJson(TypedDict):
    """A series that was written."""

    file: NotRequired[
        Annotated[
            str,
            says("path of the [series](#series); this and the next three are left out without `--series`"),
        ]
    ]
    every: Annotated[int, says("cycles of an interval")]
    intervals: Annotated[int, says("how many there are")]
    full_at_cycle: Annotated[
        int | None,
        says(
            "where there would be more than 10,000: all cycles from this one on are one interval more, the last; "
            "else null"
        ),
    ]


class WrittenTraceJson(TypedDict):
    """A trace that was written."""

    file: NotRequired[Annotated[str, says("the trace's path; this and the next are left out without `--trace`")]]
    events: Annotated[
        int,
        says(
            "events in it, but for those of phase `M` that name processes and threads; `--trace-limit` counts the "
            "same, but not those that then close the tracks"
        ),
    ]
    instructions: Annotated[int, says("warp instructions drawn")]
    left_out: Annotated[int, says("warp instructions not drawn")]
    full_at_cycle: Annotated[
        int | None,
        says("from then on nothing is drawn, as there were too many events; null if it never came to that"),
    ]
    bytes: Annotated[int, says("bytes of the trace, before any compression")]


class WatchedPiece(TypedDict):
    """A watched piece of memory."""

    buffer: NotRequired[
        Annotated[
            str,
            says(
                "buffer or variable that is watched, pieces that overlap as one; this and the next are left out "
                "without `--watch`"
            ),
        ]
    ]
    offset: Annotated[int, says("first byte of it")]
    bytes: Annotated[int, says("how many")]
    address: Annotated[int, says("the first one's address")]


class WatchAccess(TypedDict):
    """An access to watched memory."""

    cycle: Annotated[int, says("an access, in the order in which they happen: when its instruction issued")]
    sm: Annotated[int, says("SM")]
    block: Annotated[int, says("block of the grid")]
    warp: Annotated[int, says("warp of the block")]
    lane: Annotated[int, says("lane of the warp")]
    thread: Annotated[int, says("thread of the block")]
    function: Annotated[str, says("function of the instruction")]
    index: Annotated[int, says("the instruction")]
    instruction: Annotated[str, says("its text")]
    source: Annotated[str | None, says("its file and line; null where the binary has none")]
    kind: Annotated[str, says("`load`, `store` or `atomic`")]
    buffer: Annotated[str, says("buffer or variable")]
    offset: Annotated[int, says("first byte of it that is watched and accessed")]
    bytes: Annotated[int, says("how many are")]
    before: Annotated[str, says("what they held: numbers of the buffer's type, or `bytes` and what they are")]
    after: Annotated[str | None, says("what they held afterwards; null for a load")]


class WatchJson(TypedDict):
    """All accesses to watched memory."""

    watched: Annotated[list[WatchedPiece], says("watched pieces of buffers and variables; pieces that overlap are one")]
    total: Annotated[
        int,
        says("accesses of lanes to what is watched; one that touches several of the pieces above counts for each"),
    ]
    left_out: Annotated[int, says("how many of them are not listed")]
    accesses: Annotated[list[WatchAccess], says("accesses in the order in which they happen")]


class StackEntry(TypedDict):
    """An entry of the reconvergence stack."""

    kind: Annotated[str, says("entry of the reconvergence stack, top first: `plain` or `call`")]
    at: Annotated[str, says("where it goes on, function and index")]
    reconverges: Annotated[str | None, says("where it ends, or null")]
    mask: Annotated[int, says("its lanes")]


class LaneAccess(TypedDict):
    """A lane's access."""

    lane: Annotated[int, says("a lane that executes it")]
    address: Annotated[int, says("its address")]
    words: Annotated[list[int], says("the words there, none if they are outside of the space")]


class BreakAccess(TypedDict):
    """The access of a memory instruction."""

    space: Annotated[str | None, says("space of a memory instruction; `access` is null for another")]
    lanes: Annotated[list[LaneAccess], says("lanes that execute it")]


class OtherWarp(TypedDict):
    """Another warp of the block."""

    warp: Annotated[int, says("another warp of the block")]
    doing: Annotated[str, says("what it does or waits for")]
    at: Annotated[str, says("its next instruction, or its last one if it has ended")]


class BreakJson(TypedDict):
    """Where a run stopped."""

    why: NotRequired[
        Annotated[
            str | None,
            says(
                "`break`, or `watch` for an access to what is watched. `break` is null if the run came to none, and "
                "left out without `--break`. The counters of a run that stopped are those up to cycle `cycles`, and "
                "of that cycle what SMs and schedulers had done before the break"
            ),
        ]
    ]
    function: Annotated[str, says("function of the instruction in front of which the run stopped")]
    index: Annotated[int, says("the instruction")]
    instruction: Annotated[str, says("its text")]
    source: Annotated[str | None, says("its file and line; null where the binary has none")]
    cycle: Annotated[int, says("when it stopped")]
    sm: Annotated[int, says("SM")]
    warp_slot: Annotated[int, says("the warp's slot in the SM")]
    block: Annotated[int, says("block of the grid")]
    warp: Annotated[int, says("warp of the block")]
    active: Annotated[int, says("lanes that are active, a bit each")]
    mask: Annotated[int, says("those of them that execute the instruction")]
    touched: Annotated[int, says("those that access what is watched, 0 for a `break`")]
    registers: Annotated[dict[str, list[int]], says("each register, unsigned, of all lanes")]
    predicates: Annotated[dict[str, int], says("lanes in which each predicate is true, a bit each")]
    busy_scoreboards: Annotated[list[int], says("numbers of the warp's scoreboards that are busy")]
    stack: Annotated[list[StackEntry], says("the reconvergence stack, top first")]
    access: Annotated[BreakAccess | None, says("the access of a memory instruction; null for another one")]
    others: Annotated[list[OtherWarp], says("other warps of the block")]


class ResultJson(TypedDict):
    """What an emulated run of one launch did."""

    kernel: Annotated[str, says("the kernel")]
    machine: Annotated[str, says("the machine's name")]
    engine: Annotated[str, says("`numba` or `python`")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    sms: Annotated[int, says("SMs emulated")]
    partial: Annotated[
        bool,
        says("whether the run was stopped before its end, at a `--break` too: all figures are then those up to there"),
    ]
    cycles: Annotated[int, says("from first dispatch to last retirement")]
    cycles_range: Annotated[
        list[int] | None,
        says("the fewest and the most cycles of this run and of those that `--skews` asks for; null without"),
    ]
    blocks: Annotated[int, says("blocks of the grid")]
    blocks_ended: Annotated[int, says("blocks that ended")]
    blocks_per_sm: Annotated[int, says("resident blocks allowed")]
    occupancy: Annotated[float, says("resident warps allowed over the most an SM holds")]
    achieved_occupancy: Annotated[float, says("resident warps on average over the most an SM holds")]
    stats: Annotated[CountersJson, says("the run's counters")]
    printed: NotRequired[
        Annotated[
            PrintedJson,
            says("what it printed; left out where the binary has no [device runtime](../isa/ISA.md#device-runtime)"),
        ]
    ]
    heap: NotRequired[Annotated[HeapJson, says("the heap at the end; left out likewise")]]


class StoppedJson(ResultJson):
    """What any command prints of an emulated run that was stopped."""

    schema_version: Annotated[int, says("1")]
    version: NotRequired[
        Annotated[str, says("which version of the kernel ran, in words, of a command that runs several")]
    ]
    error: Annotated[ErrorDetails, says("what stopped it")]


_Break = TypedDict(
    "_Break",
    {
        "break": NotRequired[
            Annotated[
                BreakJson | None,
                says(
                    "where the run stopped; null where it came to no break, left out without `--break`. The "
                    "counters of a run that stopped are those up to cycle `cycles`, and of that cycle what SMs "
                    "and schedulers had done before the break "
                ),
            ]
        ],
    },
)


class RunFields(ResultJson, _Break):
    """The fields of what `run` prints of one launch."""

    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("[details](#details), of a run that was stopped; left out otherwise"),
        ]
    ]
    reference: NotRequired[
        Annotated[
            str,
            says(
                "`same` or `differs`; this and the next are left out without `--reference`, and these two and the "
                "next two of a run that was stopped"
            ),
        ]
    ]
    differences: NotRequired[Annotated[list[str], says("one sentence for each buffer that differs")]]
    accelsim_trace: NotRequired[
        Annotated[
            str,
            says("folder of the trace for Accel-Sim; left out without `--accelsim-trace`"),
        ]
    ]
    saved: NotRequired[Annotated[list[str], says("paths of the buffers' files; left out without `--save`")]]
    annotation: NotRequired[
        Annotated[
            AnnotationJson,
            says("an [annotation](#annotation); left out without `--annotate`"),
        ]
    ]
    profile: NotRequired[
        Annotated[
            WrittenProfileJson,
            says("the written [profile](#profile-of-a-run); left out without `--profile`"),
        ]
    ]
    series: NotRequired[
        Annotated[
            WrittenSeriesJson,
            says("the written [series](#series); left out without `--series`"),
        ]
    ]
    trace: NotRequired[Annotated[WrittenTraceJson, says("the written trace; left out without `--trace`")]]
    watch: NotRequired[Annotated[WatchJson, says("accesses to watched memory; left out without `--watch`")]]
    launch: NotRequired[
        Annotated[
            int,
            says("number of the launch in [a sequence](#run-of-a-sequence), with `--step`; left out otherwise"),
        ]
    ]


class RunJson(Versioned, RunFields, MachineFrom):
    """What `run` prints of one launch."""


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
    ipc: Annotated[float | None, says("its counter")]
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
    dram_utilisation: Annotated[float | None, says("its counter")]
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
        dict[str, Any],
        says("sums of those of its [counters](#counters) that add up: all but quotients and `queues`"),
    ]


class ProgramText(PrintedText):
    """What one thread of a launch printed."""

    launch: Annotated[int, says("number of the launch")]


class ProgramPrinted(TypedDict):
    """What a program printed."""

    texts: Annotated[list[ProgramText], says("what printf wrote, in the order of launches, blocks and threads")]
    lost: Annotated[int, says("calls of printf that found no room")]


class ProgramRunFields(TypedDict):
    """The fields of what `run` prints of a sequence of launches."""

    program: Annotated[str, says("path of the launch file")]
    machine: Annotated[str, says("the machine's name")]
    engine: Annotated[str, says("`numba` or `python`")]
    scheduler: Annotated[str, says("the warp scheduler, as `--scheduler` names it")]
    sms: Annotated[int, says("SMs emulated")]
    partial: Annotated[
        bool,
        says("whether it was stopped before its end: all of this is then what the launches did that had ended"),
    ]
    error: NotRequired[
        Annotated[
            ErrorDetails,
            says("[details](#details), of a run that was stopped; left out otherwise"),
        ]
    ]
    cycles: Annotated[int, says("of all launches, which follow each other without a gap")]
    launches: Annotated[list[LaunchedJson], says("launches in the order of time")]
    kernels: Annotated[list[KernelTotal], says("kernels in the order of first launches")]
    printed: NotRequired[
        Annotated[
            ProgramPrinted,
            says(
                "[printed](#printed); this and the next two are left out where the binary has no [device "
                "runtime](../isa/ISA.md#device-runtime)"
            ),
        ]
    ]
    heap: NotRequired[Annotated[HeapJson, says("[heap](#heap), at the end of the program")]]
    scalars: NotRequired[
        Annotated[
            dict[str, Any],
            says(
                "values of scalars in the end by name: infinities and NaN as text, complex numbers as lists of two; "
                "this and the next three are left out of a run that was stopped"
            ),
        ]
    ]
    reference: NotRequired[
        Annotated[
            str,
            says("`same` or `differs`; this and the next are left out without `--reference`"),
        ]
    ]
    differences: NotRequired[Annotated[list[str], says("one sentence for each buffer that differs")]]
    saved: NotRequired[Annotated[list[str], says("paths of the buffers' files; left out without `--save`")]]


class ProgramRunJson(Versioned, ProgramRunFields, MachineFrom):
    """What `run` prints of a sequence of launches."""
