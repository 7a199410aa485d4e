"""This module has the shapes of the stack of slots: its depth in three layouts, and its place in a rewritten binary."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class StackDepths(TypedDict):
    """This object has the depth of the stack by layout."""

    traditional: Annotated[int, says("depth in slots where each frame begins where its caller's ends")]
    register_stack: Annotated[int, says("depth in slots where a frame overlaps the dead end of its caller's")]
    moving_stack: Annotated[int, says("depth in slots where live slots are moved together at calls")]


class StackCallJson(TypedDict):
    """This object describes a call in a layout of the stack."""

    caller: Annotated[str, says("function that calls")]
    callee: Annotated[str, says("function that is called")]
    live: Annotated[list[int], says("slots of the caller that are live across the call")]
    shift: Annotated[int, says("slots by which the slot pointer moves")]
    moves: Annotated[list[list[int]], says("slots that are moved, as [from, to]")]


class StackLayoutJson(TypedDict):
    """This object is a layout of the stack."""

    name: Annotated[str, says("name of the layout")]
    depth: Annotated[int, says("depth of the stack in slots")]
    start: Annotated[dict[str, int], says("first slot of each function's frame from 0, by function")]
    calls: Annotated[list[StackCallJson], says("calls, and what they move")]


class SlotCall(TypedDict):
    """This object describes a call around which the slot pointer moves."""

    index: Annotated[int, says("number of the calling instruction in its function, from 0")]
    callee: Annotated[str, says("function that is called")]
    slots: Annotated[int, says("slots by which the slot pointer moves around the call")]


class SlotFunction(TypedDict):
    """This object describes the slot accesses of a function."""

    function: Annotated[str, says("name of the function")]
    rows: Annotated[list[int], says("slots that the function accesses, from its own slot pointer")]
    calls: Annotated[list[SlotCall], says("calls of the function, and how far the slot pointer moves around them")]


class SlotsJson(TypedDict):
    """This object describes the slots of a rewritten binary."""

    bytes_per_warp: Annotated[int, says("size of all slots of a warp, in bytes")]
    slots: Annotated[int, says("slots per thread")]
    pointer: Annotated[str | None, says("register that holds the slot pointer; null where none does")]
    functions: Annotated[list[SlotFunction], says("slot accesses of each function")]


class SpillFunction(TypedDict):
    """This object describes the accesses of a function to the spill area."""

    function: Annotated[str, says("name of the function")]
    offsets: Annotated[
        list[int], says("offsets of the words of the spill area that the function accesses, in bytes of local memory")
    ]


class SpillArea(TypedDict):
    """This object describes the spill area of a rewritten binary."""

    start: Annotated[int, says("offset of the spill area in local memory, in bytes")]
    bytes: Annotated[int, says("size of the spill area per thread, in bytes")]
    functions: Annotated[list[SpillFunction], says("accesses of each function to the spill area")]


class StackFacts(TypedDict):
    """This object describes the stack of a kernel and its callees."""

    depths: Annotated[StackDepths, says("depth of the stack by layout, in slots")]
    frames: Annotated[dict[str, list[str]], says("words of local memory of each function's frame, by function")]
    layouts: Annotated[list[StackLayoutJson], says("the three layouts")]
    not_lifted: Annotated[list[str], says("reasons why words of local memory have no slot")]
    slots: Annotated[SlotsJson | None, says("slots of the binary; null where it was not rewritten to slots")]
    spill_area: Annotated[SpillArea | None, says("spill area of the binary; null where it has none")]


class StackView(StackFacts):
    """This object is the view of `--stack`."""

    text: Annotated[str, says("the view as text")]
