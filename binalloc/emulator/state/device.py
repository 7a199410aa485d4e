"""This module marks the functions that run on the emulated machine. One source serves both engines.

`@device` returns the function unchanged, and the `python` engine calls it as it is. The `numba` engine rebuilds the
marked functions: their globals are rebound to compiled versions of one another (see `engine.py`). `define` makes a
device function from a text that is written from the rows of a table.
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
"""Names of the device functions that are compiled into their callers."""

APART: set[str] = set()
"""Names of the device functions that are never compiled into their callers."""

GENERATED: dict[str, str] = {}
"""Source texts of the device functions that `define` has made, by module and name."""


@overload
def device(function: F, /) -> F: ...


@overload
def device(*, inline: bool = False, apart: bool = False) -> Callable[[F], F]: ...


def device(function: F | None = None, /, *, inline: bool = False, apart: bool = False) -> F | Callable[[F], F]:
    """Mark a function as device code. Its module must import other device functions by name.

    inline: for small functions on every instruction's path, where a call costs more than the function does. apart: for
    long or rarely called functions, which would make the path of every instruction larger. The compiler decides about
    the rest.
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
    """Define the device function `name` from `text`, in the namespace `space`.

    space: the globals of the module that has the table. uses: the device functions called in `text`, by their names in
    it.
    """
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
