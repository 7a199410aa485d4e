"""Where local memory's variables lie: static frames along the deepest chain of calls, and behind them the stack of
functions that may come back to themselves.

A function outside of cycles is active at most once in a thread, so its frame has a place of its own. One in a cycle has
a frame for each time it is active, on the stack: its variables lie so many bytes behind its frame pointer. A frame
begins with the words in which callers leave arguments and find results (`allocate.recursion`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from binalloc.errors import UsageError
from binalloc.frontend.ir import Stack
from binalloc.frontend.lower.context.reached import Reached
from binalloc.frontend.ptx import ast
from binalloc.frontend.unsupported import BY_KEY, NotSupported
from binalloc.isa.instruction import WORD

LOCAL_LIMIT = 1 << 24
FRAME_LIMIT = 1 << 22
"""Bytes of a frame on the stack, which offsets of instructions must reach."""
DYNAMIC_ALIGN = 16
"""Of dynamic shared memory, and of the copy of a kernel's parameters."""

Place = tuple[str, int]
"""(space, byte address in it): global, const, shared, local, frame (local, behind the frame pointer), param (bank 0),
texref and surfref (bank 0, of the handle)."""
HANDLED = ("texref", "surfref")
"""Types of variables that are parameters with a handle."""


def align_up(value: int, align: int) -> int:
    """The least multiple of `align` that is not below `value`."""
    return -(-value // align) * align


def too_large(v: ast.Variable, message: str, expected: str) -> NotSupported:
    """The refusal of a variable for which there is no room."""
    return NotSupported(
        BY_KEY["too-large"],
        message,
        file=v.path or None,
        place=f"line {v.place.line}, column {v.place.column}",
        found=f"{v.name} of {v.size} bytes",
        expected=expected,
    )


@dataclass
class Frames:
    """places: (function, variable) -> where it lies. spans: function -> (base, bytes) of its frame, base 0 of one on
    the stack. copies: kernel -> local address of the copy of its parameters, if it needs one. stack: None where no
    function is in a cycle."""

    places: dict[tuple[str, str], Place] = field(default_factory=dict)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    copies: dict[str, int] = field(default_factory=dict)
    stack: Stack | None = None


def place_frames(
    module: ast.Module, reached: Reached, in_memory: Callable[[str, ast.Variable], bool], stack_bytes: int
) -> Frames:
    """Frames of all functions reached. in_memory: whether a function's parameter lies in its frame, too. stack_bytes:
    of a thread. Raises NotSupported where they do not fit."""
    out = Frames()
    base = dict.fromkeys(reached.order, 0)
    end, align = 0, WORD
    for names in _groups(reached):
        recursive = names[0] in reached.components
        start = max(base[name] for name in names)
        behind = start
        for name in names:
            function = module.functions[name]
            variables = [v for v in function.variables.values() if v.space == "local"]
            if not function.is_entry:
                variables += [v for v in function.parameters if in_memory(name, v)]
            strictest = max([WORD, *(v.align for v in variables)])
            if recursive:
                align = max(align, strictest)
                size = _place(out, name, variables, "frame", 0, _passed(function))
                out.spans[name] = 0, size
                if size > FRAME_LIMIT:
                    largest = max((*variables, *function.parameters, *function.results), key=lambda v: v.size)
                    raise too_large(largest, f"the frame of {name} is too large", f"at most {FRAME_LIMIT} bytes")
                continue
            start = align_up(start, strictest)
            size = _place(out, name, variables, "local", start, 0)
            if function.is_entry and "param" in reached.scans[name].generic:
                size = align_up(size, DYNAMIC_ALIGN)
                out.copies[name] = start + size
                size += sum(align_up(v.size, max(v.align, WORD)) + v.align for v in function.parameters)
            size = align_up(size, WORD)
            out.spans[name] = start, size
            behind = start + size
            if behind > LOCAL_LIMIT:
                raise too_large(variables[-1], ".local variables are too large", f"at most {LOCAL_LIMIT} bytes")
        end = max(end, behind)
        for name in names:
            for callee in reached.scans[name].callees:
                base[callee] = max(base[callee], behind)
    if reached.components:
        first, stack_bytes = align_up(end + WORD, align), align_up(stack_bytes, WORD)
        room = max(_passed(module.functions[name]) for name in reached.components)
        if first + stack_bytes + room > LOCAL_LIMIT:
            found = f"{stack_bytes} bytes behind {end} of frames"
            expected = f"{LOCAL_LIMIT} in all"
            raise UsageError("no room for the stack", file=module.path or None, found=found, expected=expected)
        out.stack = Stack(end, first, first + stack_bytes, align, room)
    return out


def _groups(reached: Reached) -> Iterator[tuple[str, ...]]:
    """Components and single functions, callers before callees."""
    done: set[str] = set()
    for name in reversed(reached.order):
        if name not in done:
            names = reached.components.get(name, (name,))
            done.update(names)
            yield names


def _passed(function: ast.Function) -> int:
    """Bytes at a frame's start for what callers hand over and take back."""
    given, returned = (
        sum(align_up(v.size, WORD) for v in side) for side in (function.parameters, function.results)
    )
    return max(given, returned)


def _place(out: Frames, name: str, variables: list[ast.Variable], space: str, base: int, size: int) -> int:
    """Places from `base` on, behind the `size` bytes that are taken; answers the bytes of the frame."""
    for v in variables:
        size = align_up(size, v.align if v.space == "local" else max(WORD, v.align))
        out.places[name, v.name] = space, base + size
        size += v.size if v.space == "local" else align_up(v.size, WORD)
    return align_up(size, WORD) if space == "frame" else size
