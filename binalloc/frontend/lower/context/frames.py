"""This module places variables in local memory: in static frames along the deepest chain of calls, and on a stack.

A function that is not recursive is active at most once in a thread, so its frame has a fixed place. A recursive
function has a frame on the stack, behind the static frames, each time it is active. Its variables have fixed offsets
from its frame pointer. A frame on the stack begins with the words in which callers leave arguments and find results
(`allocate.recursion`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from binalloc.errors import UsageError
from binalloc.frontend.ir import Stack
from binalloc.frontend.lower.context.reached import ReachedFunctions
from binalloc.frontend.ptx import ast
from binalloc.frontend.unsupported import BY_KEY, NotSupported
from binalloc.isa.instruction import WORD

LOCAL_LIMIT = 1 << 24  # most bytes of local memory per thread: Loom's local window has as many (WINDOW_SIZE)
FRAME_LIMIT = 1 << 22
"""Most bytes of a frame on the stack: the offsets of instructions, signed numbers of 24 bits, must be able to address
it."""
DYNAMIC_ALIGN = 16
"""Alignment in bytes of dynamic shared memory, and of the copy of a kernel's parameters: that of the widest access."""

Place = tuple[str, int]
"""The place of a variable: (space, byte address in it). Spaces are global, const, shared, local, frame (local memory;
the address counts from the frame pointer), param (bank 0), texref and surfref (address of the handle in bank 0)."""
HANDLED = ("texref", "surfref")
"""Variables of these types become parameters that hold a handle."""


def align_up(value: int, align: int) -> int:
    """Return the least multiple of `align` that is not less than `value`."""
    return -(-value // align) * align


def too_large(v: ast.Variable, message: str, expected: str) -> NotSupported:
    """Return the refusal of a variable for which there is no room."""
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
    """Frames say where in local memory the variables of functions are."""

    places: dict[tuple[str, str], Place] = field(default_factory=dict)  #: (function, variable) -> place
    #: function -> (base, bytes) of its frame; base 0 for a frame on the stack
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: kernel -> local address of the copy of its parameters, if it needs one
    copies: dict[str, int] = field(default_factory=dict)
    stack: Stack | None = None  #: None where no function is recursive


def place_frames(
    module: ast.PtxModule, reached: ReachedFunctions, in_memory: Callable[[str, ast.Variable], bool], stack_bytes: int
) -> Frames:
    """Place the frames of all functions.

    in_memory: whether a function's parameter has a copy in its frame. stack_bytes: stack per thread. Raises
    NotSupported where a frame is too large. Raises UsageError where the stack does not fit.
    """
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


def _groups(reached: ReachedFunctions) -> Iterator[tuple[str, ...]]:
    """Yield the cycles of the call graph and the single functions, callers before callees."""
    done: set[str] = set()
    for name in reversed(reached.order):
        if name not in done:
            names = reached.components.get(name, (name,))
            done.update(names)
            yield names


def _passed(function: ast.PtxFunction) -> int:
    """Return the bytes at a frame's start for arguments and results."""
    given, returned = (
        sum(align_up(v.size, WORD) for v in side) for side in (function.parameters, function.results)
    )
    return max(given, returned)


def _place(out: Frames, name: str, variables: list[ast.Variable], space: str, base: int, size: int) -> int:
    """Place variables from `base` on, behind `size` bytes that are taken. Return the bytes of the frame."""
    for v in variables:
        size = align_up(size, v.align if v.space == "local" else max(WORD, v.align))
        out.places[name, v.name] = space, base + size
        size += v.size if v.space == "local" else align_up(v.size, WORD)
    return align_up(size, WORD) if space == "frame" else size
