"""The three stacks of the unified paper's Fig. 3, and of general call graphs."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.models.allocation.stack.stack_layout import StackCall, moving_moves, stack_layouts

FRAMES = {"A": 4, "B": 4, "C": 4}
CALLS = [StackCall("A", "B", (0, 2)), StackCall("B", "C", (1, 2))]


def test_fig_3_depths_are_12_10_8() -> None:
    layouts = stack_layouts(FRAMES, CALLS)
    assert layouts.traditional.depth == 12
    assert layouts.register_stack.depth == 10
    assert layouts.moving_stack.depth == 8


def test_fig_3_starts_and_single_moves() -> None:
    layouts = stack_layouts(FRAMES, CALLS)
    assert layouts.traditional.start == {"A": 0, "B": 4, "C": 8}
    assert layouts.register_stack.start == {"A": 0, "B": 3, "C": 6}
    moving = layouts.moving_stack
    assert moving.start == {"A": 0, "B": 2, "C": 4}  # slots 3 and 5 counted from 1
    assert [planned.moves for planned in moving.calls] == [((2, 1),), ((2, 0),)]  # La3 -> slot 2, Lb3 -> Lb1
    assert [planned.shift for planned in moving.calls] == [2, 2]


def test_fig_3_text_counts_from_one() -> None:
    assert stack_layouts(FRAMES, CALLS).text() == (
        "procedure  frame     traditional  register stack    moving stack\n"
        "A              4     from slot 1     from slot 1     from slot 1\n"
        "B              4     from slot 5     from slot 4     from slot 3\n"
        "C              4     from slot 9     from slot 7     from slot 5\n"
        "depth                         12              10               8\n"
        "A calls B: live slots 1, 3; moves slot 3 -> slot 2; shift 2\n"
        "B calls C: live slots 2, 3; moves slot 3 -> slot 1; shift 2\n"
    )


def test_depth_is_the_maximum_over_call_paths() -> None:
    frames = {"main": 2, "left": 5, "right": 1, "leaf": 3}
    calls = [
        StackCall("main", "left", ()),
        StackCall("main", "right", (0, 1)),
        StackCall("left", "leaf", (4,)),
        StackCall("right", "leaf", (0,)),
    ]
    layouts = stack_layouts(frames, calls)
    assert layouts.traditional.start["leaf"] == 7
    assert layouts.traditional.depth == 10
    assert layouts.register_stack.start["leaf"] == 5
    assert layouts.register_stack.depth == 8
    assert layouts.moving_stack.start["leaf"] == 3  # through right: 2 + 1; through left: 0 + 1
    assert layouts.moving_stack.depth == 6


def test_procedures_are_ordered_by_calls_not_by_name() -> None:
    layouts = stack_layouts({"a": 1, "z": 1}, [StackCall("z", "a", (0,))])
    assert list(layouts.moving_stack.start) == ["z", "a"]
    assert layouts.moving_stack.depth == 2


@pytest.mark.parametrize(
    ("live", "moves"),
    [
        ((), ()),
        ((0, 1), ()),
        ((3,), ((3, 0),)),
        ((1, 2), ((2, 0),)),
        ((2, 3, 4), ((3, 0), (4, 1))),
        ((0, 4, 7), ((4, 1), (7, 2))),
    ],
)
def test_only_live_slots_above_their_number_move(live: tuple[int, ...], moves: tuple[tuple[int, int], ...]) -> None:
    assert moving_moves(live) == moves


def test_recursion_and_wrong_slots_are_refused() -> None:
    with pytest.raises(Refused, match="recursion"):
        stack_layouts({"a": 1, "b": 1}, [StackCall("a", "b", ()), StackCall("b", "a", ())])
    with pytest.raises(ValueError, match="live slots"):
        stack_layouts({"a": 1, "b": 1}, [StackCall("a", "b", (1,))])
    with pytest.raises(ValueError, match="without a frame"):
        stack_layouts({"a": 1}, [StackCall("a", "b", ())])
