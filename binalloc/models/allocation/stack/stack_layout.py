"""This module lays out the slot stack of a call graph in three ways: the unified paper's Fig. 3 (section 3.2.1).

Needs: for each procedure the size of its frame in slots, and for each call the caller's slots that are live through it;
the call graph must be acyclic. Leaves: for each layout the depth and every procedure's deepest start, and for the
moving stack the moves at each call. For calls A -> B -> C with four slots each and {1, 3}, {2, 3} live: 12, 10 and 8
slots.

- Traditional: a callee starts above the caller's whole frame.
- Register stack: it starts above the caller's highest live slot.
- Moving stack: the k live slots are first brought to slots 1..k, then it starts at k + 1.

Slots count from 0 in code and from 1 in text, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from binalloc.errors import Refused


@dataclass(frozen=True, slots=True)
class StackCall:
    """A stack call has the caller's frame slots that are live through it."""

    caller: str  #: name of the caller
    callee: str  #: name of the callee
    live: tuple[int, ...]  #: the caller's frame slots (from 0) whose values are needed after the call


@dataclass(frozen=True, slots=True)
class CallMoves:
    """The moves of a call pack the caller's live slots before it, and are undone after it."""

    call: StackCall  #: the call
    shift: int  #: where the callee starts, from the caller's own start
    moves: tuple[tuple[int, int], ...] = ()  #: (from slot, to slot) pairs


@dataclass(frozen=True)
class Layout:
    """A layout of a call graph's slot stack says where each procedure starts."""

    name: str  #: name of the layout
    depth: int  #: slots from the bottom of the stack to the highest one that any call path uses
    start: dict[str, int]  #: deepest start of each procedure
    calls: tuple[CallMoves, ...]  #: calls in input order


@dataclass(frozen=True)
class StackLayouts:
    """The stack of one call graph is laid out in three ways, so that their depths can be compared."""

    frames: dict[str, int]  #: slots of each procedure
    traditional: Layout
    register_stack: Layout
    moving_stack: Layout

    def text(self) -> str:
        """Return a readable text: depths, starts and moves, with slots counted from 1."""
        layouts = (self.traditional, self.register_stack, self.moving_stack)
        width = max(len(name) for name in ("procedure", *self.frames))
        lines = [f"{'procedure':<{width}}  frame" + "".join(f"  {layout.name:>14}" for layout in layouts)]
        for name in self.traditional.start:
            places = [f"from slot {layout.start[name] + 1}" if self.frames[name] else "-" for layout in layouts]
            starts = "".join(f"  {place:>14}" for place in places)
            lines.append(f"{name:<{width}}  {self.frames[name]:>5}{starts}")
        lines.append(f"{'depth':<{width}}  {'':>5}" + "".join(f"  {layout.depth:>14}" for layout in layouts))
        for planned in self.moving_stack.calls:
            call = planned.call
            live = ", ".join(str(slot + 1) for slot in call.live) or "none"
            moves = ", ".join(f"slot {source + 1} -> slot {target + 1}" for source, target in planned.moves) or "none"
            lines.append(f"{call.caller} calls {call.callee}: live slots {live}; moves {moves}; shift {planned.shift}")
        return "\n".join(lines) + "\n"


def moving_moves(live: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the moves (from, to) that bring the k `live` slots to 0..k-1.

    Slots already below k stay. No target is a source.
    """
    k = len(live)
    occupied = set(live)
    free = [slot for slot in range(k) if slot not in occupied]
    return tuple(zip((slot for slot in sorted(occupied) if slot >= k), free, strict=True))


def stack_layouts(frames: Mapping[str, int], live_at_calls: Sequence[StackCall]) -> StackLayouts:
    """Return the three layouts. frames: slots of each procedure.

    Raises ValueError when a call names an unknown procedure, or a live slot twice or outside its frame; Refused on
    recursion.
    """
    for call in live_at_calls:
        if call.caller not in frames or call.callee not in frames:
            raise ValueError(f"call {call.caller} -> {call.callee} names a procedure without a frame")
        if len(set(call.live)) < len(call.live) or any(not 0 <= s < frames[call.caller] for s in call.live):
            raise ValueError(f"call {call.caller} -> {call.callee}: live slots {call.live} of {frames[call.caller]}")
    order = _callers_first(frames, live_at_calls)
    traditional = [CallMoves(call, frames[call.caller]) for call in live_at_calls]
    register_stack = [CallMoves(call, max(call.live, default=-1) + 1) for call in live_at_calls]
    moving = [CallMoves(call, len(call.live), moving_moves(call.live)) for call in live_at_calls]
    return StackLayouts(
        dict(frames),
        _stack("traditional", frames, order, traditional),
        _stack("register stack", frames, order, register_stack),
        _stack("moving stack", frames, order, moving),
    )


def _stack(name: str, frames: Mapping[str, int], order: Sequence[str], calls: Sequence[CallMoves]) -> Layout:
    """Return the layout that follows from the shifts of `calls`. order: procedures, callers first."""
    start = dict.fromkeys(order, 0)
    for caller in order:
        for planned in calls:
            if planned.call.caller == caller:
                callee = planned.call.callee
                start[callee] = max(start[callee], start[caller] + planned.shift)
    depth = max((start[procedure] + frames[procedure] for procedure in order), default=0)
    return Layout(name, depth, start, tuple(calls))


def _callers_first(frames: Mapping[str, int], calls: Sequence[StackCall]) -> list[str]:
    """Return the call graph in topological order, otherwise in the order of `frames`."""
    waiting = dict.fromkeys(frames, 0)
    for call in calls:
        waiting[call.callee] += 1
    order: list[str] = []
    while len(order) < len(waiting):
        ready = next((name for name, callers in waiting.items() if not callers and name not in order), None)
        if ready is None:
            raise Refused("recursion: a stack layout needs an acyclic call graph")
        order.append(ready)
        for call in calls:
            if call.caller == ready:
                waiting[call.callee] -= 1
    return order
