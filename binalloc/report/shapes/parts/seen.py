"""This module has the shapes of what is seen of a run beside its counters: a trace, watched memory, a break."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.annotation import AnnotationJson
from binalloc.report.shapes.says import says


class WrittenTraceJson(TypedDict):
    """This object describes a trace that was written."""

    file: Annotated[str, says("path of the trace")]
    events: Annotated[
        int,
        says(
            "events in the trace, without events of phase `M`, which name processes and threads. "
            "`--trace-limit` counts the same events, without the events that close the tracks after the limit"
        ),
    ]
    instructions: Annotated[int, says("warp instructions in the trace")]
    left_out: Annotated[int, says("warp instructions that the trace lacks")]
    full_at_cycle: Annotated[
        int | None,
        says("cycle from which the trace has no more events, because it had too many; null where it has all"),
    ]
    bytes: Annotated[int, says("size of the trace in bytes, before any compression")]


class WatchedPiece(TypedDict):
    """This object describes a piece of watched memory."""

    buffer: Annotated[str, says("name of the buffer or variable")]
    offset: Annotated[int, says("offset of the first watched byte in the buffer or variable")]
    bytes: Annotated[int, says("number of watched bytes")]
    address: Annotated[int, says("address of the first watched byte")]


class WatchAccess(TypedDict):
    """This object describes an access of one lane to watched memory."""

    cycle: Annotated[int, says("cycle in which the instruction issued")]
    sm: Annotated[int, says("number of the SM")]
    block: Annotated[int, says("number of the block in the grid")]
    warp: Annotated[int, says("number of the warp in its block")]
    lane: Annotated[int, says("number of the lane in its warp")]
    thread: Annotated[int, says("number of the thread in its block")]
    function: Annotated[str, says("function of the instruction")]
    index: Annotated[int, says("number of the instruction in its function, from 0")]
    instruction: Annotated[str, says("the instruction as assembly")]
    source: Annotated[
        str | None,
        says("source file and line of the instruction; null where the binary names none"),
    ]
    kind: Annotated[str, says("`load`, `store` or `atomic`")]
    buffer: Annotated[str, says("name of the buffer or variable that is accessed")]
    offset: Annotated[int, says("offset of the first byte that is both watched and accessed")]
    bytes: Annotated[int, says("number of bytes that are both watched and accessed")]
    before: Annotated[
        str,
        says(
            "values of these bytes before the access: numbers of the buffer's type, or the word `bytes` and the values "
            "of the bytes"
        ),
    ]
    after: Annotated[str | None, says("values of these bytes after the access; null for a load")]


class WatchJson(TypedDict):
    """This object has all accesses to watched memory."""

    watched: Annotated[
        list[WatchedPiece],
        says("watched pieces of buffers and variables; pieces that overlap are joined into one"),
    ]
    total: Annotated[
        int,
        says("accesses by lanes to watched memory; an access to several pieces counts once for each of them"),
    ]
    left_out: Annotated[int, says("accesses that `accesses` does not list")]
    accesses: Annotated[list[WatchAccess], says("accesses in the order of time")]


class StackEntry(TypedDict):
    """This object describes an entry of the reconvergence stack."""

    kind: Annotated[str, says("kind of the entry: `plain` or `call`")]
    at: Annotated[str, says("instruction at which the lanes continue, as function+number")]
    reconverges: Annotated[
        str | None,
        says("instruction at which the entry ends, as function+number; null where it has none"),
    ]
    mask: Annotated[int, says("lanes of the entry, one bit each")]


class LaneAccess(TypedDict):
    """This object describes the access of one lane."""

    lane: Annotated[int, says("number of the lane")]
    address: Annotated[int, says("address that the lane accesses")]
    words: Annotated[
        list[int],
        says("32-bit words at that address; empty where the address lies outside the space"),
    ]


class BreakAccess(TypedDict):
    """This object describes the access of a memory instruction."""

    space: Annotated[str, says("memory space of the access")]
    lanes: Annotated[list[LaneAccess], says("access of each lane that executes the instruction")]


class OtherWarp(TypedDict):
    """This object describes another warp of the block."""

    warp: Annotated[int, says("number of the warp in its block")]
    doing: Annotated[str, says("what the warp does or waits for")]
    at: Annotated[
        str,
        says("next instruction of the warp, or the last one where the warp has ended, as function+number"),
    ]


class BreakJson(TypedDict):
    """This object has the state of the warp that stopped a run."""

    why: Annotated[str, says("why the run stopped: `break`, or `watch` for an access to watched memory")]
    function: Annotated[str, says("function of the instruction in front of which the run stopped")]
    index: Annotated[int, says("number of that instruction in its function, from 0")]
    instruction: Annotated[str, says("that instruction as assembly")]
    source: Annotated[
        str | None,
        says("source file and line of that instruction; null where the binary names none"),
    ]
    cycle: Annotated[int, says("cycle in which the run stopped")]
    sm: Annotated[int, says("number of the warp's SM")]
    warp_slot: Annotated[int, says("number of the warp's place in the SM")]
    block: Annotated[int, says("number of the warp's block in the grid")]
    warp: Annotated[int, says("number of the warp in its block")]
    active: Annotated[int, says("active lanes of the warp, one bit each")]
    mask: Annotated[int, says("active lanes that execute the instruction, one bit each")]
    touched: Annotated[
        int,
        says("lanes that access watched memory, one bit each; 0 where `why` is `break`"),
    ]
    registers: Annotated[
        dict[str, list[int]],
        says("values of each register in all lanes, as unsigned numbers, by the register's name"),
    ]
    predicates: Annotated[
        dict[str, int],
        says("lanes in which each predicate is true, one bit each, by the predicate's name"),
    ]
    busy_scoreboards: Annotated[list[int], says("numbers of the warp's scoreboards that are busy")]
    stack: Annotated[list[StackEntry], says("entries of the warp's reconvergence stack, the top first")]
    access: Annotated[
        BreakAccess | None,
        says("access of the instruction to memory; null where it is no memory instruction"),
    ]
    others: Annotated[list[OtherWarp], says("the other warps of the block")]


Break = TypedDict(
    "Break",
    {
        "break": NotRequired[
            Annotated[
                BreakJson | None,
                says(
                    "state of the warp that stopped the run; null where the run met no break, left out without "
                    "`--break`. The counters of a stopped run include what SMs and schedulers had done in its last "
                    "cycle before the stop"
                ),
            ]
        ],
    },
)


class SeenJson(Break):
    """These fields have what was seen of a run beside its counters."""

    trace: NotRequired[Annotated[WrittenTraceJson, says("the written trace; left out without `--trace`")]]
    watch: NotRequired[Annotated[WatchJson, says("accesses to watched memory; left out without `--watch`")]]
    annotation: NotRequired[
        Annotated[
            AnnotationJson,
            says("what single instructions did and waited for; left out without `--annotate`"),
        ]
    ]
    launch: NotRequired[
        Annotated[
            int,
            says("number of the launch in [a sequence of launches](#run-of-a-sequence); left out without `--step`"),
        ]
    ]
