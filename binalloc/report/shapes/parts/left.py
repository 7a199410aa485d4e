"""This module has the shapes of what kernels print and leave in the heap."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says

_NO_RUNTIME = "left out where the binary has no [device runtime](../isa/ISA.md#device-runtime)"


class PrintedText(TypedDict):
    """This is the text that one thread printed."""

    block: Annotated[int, says("number of the thread's block in the grid")]
    thread: Annotated[int, says("number of the thread in its block")]
    text: Annotated[str, says("all text that the thread wrote with printf")]


class PrintedJson(TypedDict):
    """This object has the text that a kernel printed."""

    texts: Annotated[list[PrintedText], says("text of each thread that called printf, in order of blocks and threads")]
    lost: Annotated[int, says("calls of printf whose text was lost because the buffer was full")]


class LeakJson(TypedDict):
    """A leak is an allocation in the heap that no thread has freed."""

    address: Annotated[int, says("address of the allocation")]
    bytes: Annotated[int, says("size of the allocation in bytes")]
    block: Annotated[int, says("number of the block whose thread allocated it")]
    thread: Annotated[int, says("number of this thread in its block")]


class HeapJson(TypedDict):
    """This object describes the heap at the end of a run."""

    bytes: Annotated[int, says("size of the heap in bytes")]
    used: Annotated[int, says("bytes from the start of the heap to the end of the highest allocation there ever was")]
    leaks: Annotated[int, says("allocations that no thread has freed")]
    leaked_bytes: Annotated[int, says("sum of the sizes that were asked for in these allocations, in bytes")]
    first_leaks: Annotated[list[LeakJson], says("the first ten of these allocations, in order of blocks and threads")]


class Left(TypedDict):
    """These fields have what a kernel printed, and what it left in the heap."""

    printed: NotRequired[Annotated[PrintedJson, says(f"text that the kernel printed; {_NO_RUNTIME}")]]
    heap: NotRequired[Annotated[HeapJson, says(f"the heap at the end of the run; {_NO_RUNTIME}")]]


class ProgramText(PrintedText):
    """This is the text that one thread of one launch printed."""

    launch: Annotated[int, says("number of the launch, from 0")]


class ProgramPrinted(TypedDict):
    """This object has the text that all launches of a sequence printed."""

    texts: Annotated[
        list[ProgramText],
        says("text of each thread that called printf, in order of launches, blocks and threads"),
    ]
    lost: Annotated[int, says("calls of printf whose text was lost because the buffer was full")]


class ProgramLeft(TypedDict):
    """These fields have what a sequence of launches printed, and what it left in the heap."""

    printed: NotRequired[Annotated[ProgramPrinted, says(f"text that the launches printed; {_NO_RUNTIME}")]]
    heap: NotRequired[Annotated[HeapJson, says(f"the heap after the last launch; {_NO_RUNTIME}")]]
