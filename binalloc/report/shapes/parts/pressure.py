"""This module has the shapes of register pressure: how many registers are live where."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class PressurePlace(TypedDict):
    """This object describes a place on the call chain that leads to the peak of register pressure."""

    function: Annotated[str, says("a function on the call chain")]
    index: Annotated[
        int,
        says(
            "number of the function's call on the chain, and in the last function of the instruction at the peak; -1 "
            "for the entry of the function"
        ),
    ]
    file: Annotated[str | None, says("source file of that instruction; null where the binary names none")]
    line: Annotated[int | None, says("source line of that instruction; null where the binary names none")]


class PeakValueJson(TypedDict):
    """This object describes a value that takes a register at the peak of register pressure."""

    function: Annotated[str, says("function of the value")]
    index: Annotated[
        int,
        says("instruction of the function at which the value is live, on the call chain of the peak; -1 for the entry"),
    ]
    across: Annotated[bool, says("whether the value stays live across the call at that instruction")]
    web: Annotated[int, says("number of the value's live range, as in `webs`")]
    place: Annotated[str, says("register of the value in the binary")]
    defs: Annotated[list[int], says("instructions that define the value, -1 for the entry of the function")]
    uses: Annotated[list[int], says("instructions that read the value")]
    lines: Annotated[
        list[str | None],
        says("source line of each definition, as file:line; null where the binary names none"),
    ]
    cost: Annotated[float, says("accesses to the value, weighted by loops")]
    remat: Annotated[int | None, says("instruction that can recompute the value; null where none can")]


class PressureLine(TypedDict):
    """This object gives the largest register pressure of a source line."""

    file: Annotated[str, says("source file, as the binary names it")]
    line: Annotated[int, says("number of the line in the file")]
    registers: Annotated[int, says("most registers live at an instruction of the line")]


class PlaceInFunction(TypedDict):
    """This object describes a place on a call chain."""

    function: Annotated[str, says("a function on the call chain")]
    index: Annotated[
        int,
        says(
            "number of the function's call on the chain, and in the last function of the instruction; -1 for the entry"
        ),
    ]


class PressureOfFile(TypedDict):
    """This object describes the pressure on one register file in a function."""

    function: Annotated[str, says("name of the function")]
    file: Annotated[str, says("register file of `pressure`: `R`, general registers")]
    pressure: Annotated[list[int], says("registers live at each instruction, in the order of the code")]
    blocks: Annotated[list[int], says("most registers live at an instruction of each basic block, by number of block")]
    histogram: Annotated[
        list[list[int]],
        says("pairs [registers live, instructions at which that number of registers is live], ascending"),
    ]
    max_live: Annotated[int, says("most registers live at once in the function, without its callees")]
    max_live_with_callees: Annotated[int, says("most registers live at once in the function and its callees")]
    at: Annotated[
        list[PlaceInFunction],
        says("call chain from the function to the point at which `max_live_with_callees` registers are live"),
    ]


class FunctionPressure(PressureOfFile):
    """This object describes the register pressure in a function."""

    predicates: Annotated[list[int], says("predicates live at each instruction, in the order of the code")]
    lines: Annotated[
        list[PressureLine],
        says("source lines of the function, by file and number; empty where the binary names none"),
    ]


class PressureJson(TypedDict):
    """This object describes the register pressure in a kernel and its callees."""

    max_live: Annotated[int, says("most registers live at once in the kernel, callees included")]
    max_live_at: Annotated[
        list[PressurePlace],
        says("call chain from the kernel to the point at which `max_live` registers are live, one entry per function"),
    ]
    peak: Annotated[list[PeakValueJson], says("values that take a register at the point of `max_live`")]
    max_live_predicates: Annotated[int, says("most predicates live at once in the kernel, callees included")]
    demand: Annotated[int, says("registers per thread that the binary reserves")]
    functions: Annotated[list[FunctionPressure], says("register pressure in the kernel and each of its callees")]
