"""Marks the functions that run on the emulated machine, so that one source serves both engines.

`@device` returns the function unchanged: the `python` engine calls it as it stands. The `numba` engine rebuilds the
marked functions with their globals rebound to compiled versions of one another (see `engine.py`). A function that
follows from a table is made by `define` from a text that is written from the table's rows.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TypeVar, overload

F = TypeVar("F", bound=Callable[..., object])

REGISTRY: dict[str, FunctionType] = {}
"""Device functions by module and name."""

INLINED: set[str] = set()
"""Those of them that are compiled into their callers."""

APART: set[str] = set()
"""Those that are never compiled into their callers."""

GENERATED: dict[str, str] = {}
"""Texts of those that `define` made."""


@overload
def device(function: F, /) -> F: ...


@overload
def device(*, inline: bool = False, apart: bool = False) -> Callable[[F], F]: ...


def device(function: F | None = None, /, *, inline: bool = False, apart: bool = False) -> F | Callable[[F], F]:
    """Mark a function as device code; its module must import other device functions by name.

    inline: for small functions on every instruction's path, where a call costs more than they do. apart: for long or
    rare ones, which would swell the path of every instruction. For the rest the compiler decides.
    """

    def mark(function: F) -> F:
        assert isinstance(function, FunctionType)
        key = f"{function.__module__}.{function.__qualname__}"
        REGISTRY[key] = function
        if inline:
            INLINED.add(key)
        if apart:
            APART.add(key)
        return function

    return mark if function is None else mark(function)


def define(
    space: dict[str, object],
    name: str,
    text: str,
    uses: Mapping[str, Callable[..., object]],
    *,
    inline: bool = False,
    apart: bool = False,
) -> None:
    """Make the device function `name` that `text` defines, in `space`, the globals of the module whose table it follows
    from. uses: the device functions that it calls, by the names by which it does."""
    key = f"{space['__name__']}.{name}"
    file = f"<{key}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
    for used in uses.values():
        made = f"{used.__module__}.{used.__qualname__}"
        assert made in REGISTRY, f"{made} stands in a table of device functions, but is not marked @device"
    space.update(uses)
    exec(compile(text, file, "exec"), space)
    function = space[name]
    assert isinstance(function, FunctionType)
    device(inline=inline, apart=apart)(function)
    GENERATED[key] = text
