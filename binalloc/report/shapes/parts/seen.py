"""These are the shapes of what is seen of a run beside its counters: a trace, watched memory, a break."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.annotation import AnnotationJson
from binalloc.report.shapes.says import says


class WrittenTraceJson(TypedDict):
    """A trace that was written."""

    file: Annotated[str, says("the trace's path; this and the next are left out without `--trace`")]
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

    buffer: Annotated[
        str,
        says(
            "buffer or variable that is watched, pieces that overlap as one; this and the next are left out "
            "without `--watch`"
        ),
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

    space: Annotated[str, says("space of a memory instruction; `access` is null for another")]
    lanes: Annotated[list[LaneAccess], says("lanes that execute it")]


class OtherWarp(TypedDict):
    """Another warp of the block."""

    warp: Annotated[int, says("another warp of the block")]
    doing: Annotated[str, says("what it does or waits for")]
    at: Annotated[str, says("its next instruction, or its last one if it has ended")]


class BreakJson(TypedDict):
    """Where a run stopped."""

    why: Annotated[
        str,
        says(
            "`break`, or `watch` for an access to what is watched. `break` is null if the run came to none, and "
            "left out without `--break`. The counters of a run that stopped are those up to cycle `cycles`, and "
            "of that cycle what SMs and schedulers had done before the break"
        ),
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


Break = TypedDict(
    "Break",
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


class SeenJson(Break):
    """What was seen of a run, beside its counters."""

    trace: NotRequired[Annotated[WrittenTraceJson, says("the written trace; left out without `--trace`")]]
    watch: NotRequired[Annotated[WatchJson, says("accesses to watched memory; left out without `--watch`")]]
    annotation: NotRequired[
        Annotated[
            AnnotationJson,
            says("an [annotation](#annotation); left out without `--annotate`"),
        ]
    ]
    launch: NotRequired[
        Annotated[
            int,
            says("number of the launch in [a sequence](#run-of-a-sequence), with `--step`; left out otherwise"),
        ]
    ]
