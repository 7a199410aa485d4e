"""Python's stack of frames gets room for all calls of a long task at once.

CPython keeps the frames of Python functions in chunks of 16 KiB (`push_chunk` in `pystate.c`; seen in 3.11, 3.12 and
3.13). It maps the next chunk when a frame does not fit, and unmaps that chunk when the frame's function returns. A loop
whose calls cross the border of a chunk pays for both each time. How deep the caller stands decides whether this
happens, and it can double the time of a command.

A chunk has the size of its first frame, rounded up to a power of two. A frame of slightly more than half a chunk leaves
the rest to all calls below it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_WORDS = (1 << 18) + 1
"""Words of the large frame: slightly more than 2 MiB, so its chunk has 4 MiB. Recursion to Python's limit of a thousand
calls takes less than 0.5 MiB. Pages of the chunk that nothing uses are never in memory."""
P = ParamSpec("P")
T = TypeVar("T")


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function, with almost 2 MiB in one chunk for its frame and those of all calls below it."""

    def roomy(*args: P.args, **named: P.kwargs) -> T:
        return function(*args, **named)

    roomy.__code__ = roomy.__code__.replace(co_stacksize=_WORDS)
    return wraps(function)(roomy)
