"""These are the shapes of what kernels print and leave in the heap."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

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


class Left(TypedDict):
    """What a kernel printed, and what it left in the heap."""

    printed: NotRequired[
        Annotated[
            PrintedJson,
            says("what it printed; left out where the binary has no [device runtime](../isa/ISA.md#device-runtime)"),
        ]
    ]
    heap: NotRequired[Annotated[HeapJson, says("the heap at the end; left out likewise")]]


class ProgramText(PrintedText):
    """What one thread of a launch printed."""

    launch: Annotated[int, says("number of the launch")]


class ProgramPrinted(TypedDict):
    """What a program printed."""

    texts: Annotated[list[ProgramText], says("what printf wrote, in the order of launches, blocks and threads")]
    lost: Annotated[int, says("calls of printf that found no room")]


class ProgramLeft(TypedDict):
    """What a program printed, and what it left in the heap."""

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
