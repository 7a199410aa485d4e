"""Single values of a launch file: each checked and returned, or refused with its place, what was found and expected.

Needs `types` for the dtypes. Leaves true: what a function returns has the type and range it was asked for.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from binalloc.errors import MalformedInput
from binalloc.isa.validate import NAME
from binalloc.launch.types import DTYPES
from binalloc.printable import quoted

_F32_LIMIT = 2.0**128 - 2.0**103  # from here on a number rounds to infinity in f32
_SPELLING_LIMIT = 4096
HUGE = 2.0**1023  # bounds whose difference is still a finite f64


@dataclass(frozen=True)
class At:
    """A place in the file, for messages."""

    file: str
    place: str

    def sub(self, key: str) -> At:
        return At(self.file, f"{self.place}.{key}" if self.place else key)

    def fail(self, message: str, found: object = None, expected: object = None, remedy: str | None = None) -> NoReturn:
        raise MalformedInput(
            message, file=self.file or None, place=self.place, found=found, expected=expected, remedy=remedy
        )


def as_table(value: object, at: At) -> dict[str, Any]:
    if not isinstance(value, dict):
        at.fail("not a table", quoted(value), "a table of keys and values")
    return value


def only_keys(table: dict[str, Any], keys: tuple[str, ...], at: At) -> None:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, 1)
            at.sub(str(key)).fail(
                "unknown key",
                quoted(key),
                ", ".join(keys) if keys else "no keys",
                f"Did you mean {near[0]!r}?" if near else None,
            )


def required(table: dict[str, Any], key: str, at: At) -> Any:
    if key not in table:
        at.fail(f"missing key {key!r}", ", ".join(table) or "no keys", quoted(key))
    return table[key]


def one_of(value: object, choices: tuple[str, ...], at: At) -> str:
    if not isinstance(value, str) or value not in choices:
        near = difflib.get_close_matches(value, choices, 1) if isinstance(value, str) else []
        at.fail("not a known value", quoted(value), ", ".join(choices), f"Did you mean {near[0]!r}?" if near else None)
    return value


def an_integer(value: object, at: At, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        at.fail("not an integer", quoted(value), f"an integer from {low} to {high}")
    if not low <= value <= high:
        at.fail("out of range", quoted(value), f"an integer from {low} to {high}")
    return value


def a_number(value: object, at: At) -> float:
    if not is_number(value) or not abs(value) < HUGE:
        at.fail("not a finite number", quoted(value), "a number")
    return float(value)


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def a_name(value: object, at: At) -> str:
    """A name as binaries have them, of parameters, kernels and variables: it may become a file's name."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        at.fail("not a name", quoted(value), "letters, digits, _ $ . and no digit first, at most 1024 characters")
    return value


def a_spelling(value: object, at: At) -> str:
    """A name as sources may write it, `ns::scale<float>(float *)`: one line, and no file's name."""
    if not isinstance(value, str) or not 1 <= len(value) <= _SPELLING_LIMIT or not value.isprintable():
        at.fail("not a name", quoted(value), f"one line of text, at most {_SPELLING_LIMIT} characters")
    return value


def a_path(value: object, at: At) -> Path:
    """The path of a file beside the launch file, or an absolute one."""
    if not isinstance(value, str) or not value or "\0" in value:
        at.fail("not a file name", quoted(value), "a path relative to the launch file")
    return Path(at.file).parent / value


def a_value(value: object, dtype: str, at: At) -> int | float:
    kind, bits = DTYPES[dtype].kind, DTYPES[dtype].itemsize * 8
    if kind == "f":
        if not is_number(value):
            at.fail("not a number", quoted(value), f"an {dtype}")
        limit = _F32_LIMIT if bits == 32 else HUGE
        if (isinstance(value, int) and abs(value) >= limit) or limit <= abs(value) < math.inf:
            at.fail("does not fit its type", quoted(value), f"an {dtype}")
        return float(value)
    return an_integer(value, at, -(1 << bits - 1) if kind == "i" else 0, (1 << bits - (kind == "i")) - 1)
