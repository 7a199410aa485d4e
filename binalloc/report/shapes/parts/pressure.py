"""Shapes of how many registers live where."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class PressurePlace(TypedDict):
    """A call on the way to the point where most registers live."""

    function: Annotated[str, says("a function on the call chain of that point")]
    index: Annotated[int, says("where in it, -1 for its entry")]
    file: Annotated[str | None, says("source file of that instruction")]
    line: Annotated[int | None, says("source line of that instruction")]


class PeakValueJson(TypedDict):
    """A value that takes a register at that point."""

    function: Annotated[str, says("the function of a value that takes a register at that point")]
    index: Annotated[int, says("where in it")]
    across: Annotated[bool, says("whether it lives on across the call there")]
    web: Annotated[int, says("its life range, as in `webs`")]
    place: Annotated[str, says("its register")]
    defs: Annotated[list[int], says("instructions that define it, -1 for the entry")]
    uses: Annotated[list[int], says("instructions that read it")]
    lines: Annotated[
        list[str | None], says("source lines of its definitions as file:line, null where the binary names none")
    ]
    cost: Annotated[float, says("its accesses weighted by loops")]
    remat: Annotated[int | None, says("the instruction that can make it again")]


class PressureLine(TypedDict):
    """A source line and its largest pressure."""

    file: Annotated[str, says("a source file")]
    line: Annotated[int, says("a line of it")]
    registers: Annotated[int, says("largest pressure at an instruction of that line")]


class PlaceInFunction(TypedDict):
    """A function on a call chain, and where in it."""

    function: Annotated[str, says("a function on the chain of that point")]
    index: Annotated[int, says("where in it")]


class PressureOfFile(TypedDict):
    """The pressure in a function, of one register file."""

    function: Annotated[str, says("a function")]
    file: Annotated[str, says("`R`")]
    pressure: Annotated[list[int], says("registers live at each instruction")]
    blocks: Annotated[list[int], says("largest pressure of each block")]
    histogram: Annotated[list[list[int]], says("[registers live, instructions]")]
    max_live: Annotated[int, says("largest pressure in the function alone")]
    max_live_with_callees: Annotated[int, says("with what it calls")]
    at: Annotated[
        list[PlaceInFunction],
        says("the call chain of the point where most registers live with what it calls"),
    ]


class FunctionPressure(PressureOfFile):
    """The pressure in a function."""

    predicates: Annotated[list[int], says("predicates live at each instruction")]
    lines: Annotated[list[PressureLine], says("source lines")]


class PressureJson(TypedDict):
    """How many registers live where in a kernel and what it calls."""

    max_live: Annotated[int, says("most registers live at once, over calls")]
    max_live_at: Annotated[
        list[PressurePlace],
        says("the call chain of the point where most registers live, a function each"),
    ]
    peak: Annotated[list[PeakValueJson], says("values that take a register at that point")]
    max_live_predicates: Annotated[int, says("most predicates live at once")]
    demand: Annotated[int, says("what the binary reserves")]
    functions: Annotated[list[FunctionPressure], says("functions")]
