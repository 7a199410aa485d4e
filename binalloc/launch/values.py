"""Single values of a launch file are checked here: each is returned, or refused with its place, what was found and
expected.

Needs the dtypes. Leaves true: a returned value has the type and range that was asked for.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from binalloc.isa.interface.names import NAME, NAME_LIMIT
from binalloc.launch.numbers.decimals import WrittenFloat, rounds_once
from binalloc.launch.numbers.dtypes import BF16, DTYPES, PART, Number, kind_of
from binalloc.printable import quoted
from binalloc.toml_values import TomlPlace

_LIMITS = {
    "f16": 2**16 - 2**4, BF16: 2**128 - 2**119, "f32": 2**128 - 2**103, "f64": 2**1024 - 2**970,
}  # fmt: skip
"""By float type: the least number that rounds to infinity."""
_SPELLING_LIMIT = 4096  # characters of a C++ name: the demangler reads no longer ones (`names.spelling.LONGEST`)
HUGE = 2.0**1023  # bounds whose difference is still a finite f64


class At(TomlPlace):
    """A place in a launch file makes errors that propose the nearest known key or value."""

    def unknown_key(self, unknown: list[str], allowed: Collection[str]) -> NoReturn:
        key = unknown[0]
        self.sub(key).fail("unknown key", quoted(key), ", ".join(allowed) or "no keys", _nearest(key, allowed))

    def missing_key(self, name: str, table: dict[str, Any]) -> NoReturn:
        self.fail(f"missing key {name!r}", ", ".join(table) or "no keys", quoted(name))

    def wrong_type(self, value: object, kind: type, bounds: str = "") -> NoReturn:
        message, expected = _KINDS[kind]
        self.fail(message, quoted(value), f"{expected} from {bounds}" if bounds else expected)

    def out_of_range(self, value: float, bounds: str) -> NoReturn:
        self.fail("out of range", quoted(value), f"an integer from {bounds}")

    def unknown_choice(self, value: object, choices: Collection[str]) -> NoReturn:
        near = _nearest(value, choices) if isinstance(value, str) else None
        self.fail("not a known value", quoted(value), ", ".join(choices), near)


_KINDS = {
    dict: ("not a table", "a table of keys and values"),
    int: ("not an integer", "an integer"),
    bool: ("not a truth value", "true or false"),
}
"""By type: the message for another one, and the expected type in words."""


def _nearest(word: str, known: Collection[str]) -> str | None:
    """Return a remedy that proposes the known word most like `word`, if one is like it."""
    near = difflib.get_close_matches(word, known, 1)
    return f"Did you mean {str(near[0])!r}?" if near else None


def a_number(value: object, at: At) -> float:
    """Return a finite number as a float."""
    if not is_number(value) or not abs(value) < HUGE:
        at.fail("not a finite number", quoted(value), "a number")
    return float(value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether it is an integer or a float; truth values are neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def a_name(value: object, at: At) -> str:
    """Return a name as binaries have them, of a parameter, kernel or variable. It may become a file's name."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        expected = f"letters, digits, _ $ . and no digit first, at most {NAME_LIMIT} characters"
        at.fail("not a name", quoted(value), expected)
    return value


def a_spelling(value: object, at: At) -> str:
    """Return a name as sources may write it, `ns::scale<float>(float *)`: one line of text. It never becomes a file's
    name."""
    if not isinstance(value, str) or not 1 <= len(value) <= _SPELLING_LIMIT or not value.isprintable():
        at.fail("not a name", quoted(value), f"one line of text, at most {_SPELLING_LIMIT} characters")
    return value


def a_path(value: object, at: At) -> Path:
    """Return the path of a file beside the launch file, or an absolute one."""
    if not isinstance(value, str) or not value or "\0" in value:
        at.fail("not a file name", quoted(value), "a path relative to the launch file")
    return Path(at.file).parent / value


def a_value(value: object, dtype: str, at: At) -> Number:
    """Return a number of a dtype. A complex one is given as a number, Python's complex too, or as a list of its two
    parts."""
    kind, bits = kind_of(dtype), DTYPES[dtype].itemsize * 8
    if kind == "c":
        if isinstance(value, complex):
            value = [value.real, value.imag]
        parts = value if isinstance(value, list) and len(value) == 2 else [value, 0]
        real, imaginary = (a_value(part, PART[dtype], at) for part in parts)
        return complex(real.real, imaginary.real)
    if kind == "b":
        return at.typed(value, bool)
    if kind == "f":
        if not is_number(value):
            at.fail("not a number", quoted(value), f"an {dtype}")
        limit = _LIMITS[dtype]
        beyond = value.beyond if isinstance(value, WrittenFloat) else isinstance(value, int) and abs(value) >= limit
        number = math.inf if beyond else rounds_once(value, dtype)
        if beyond or limit <= abs(number) < math.inf:
            found = value.text if beyond and isinstance(value, WrittenFloat) else quoted(value)
            at.fail("does not fit its type", found, f"an {dtype}")
        return number
    low, high = -(1 << bits - 1) if kind == "i" else 0, (1 << bits - (kind == "i")) - 1
    if isinstance(value, float):
        at.fail("not an integer", quoted(value), f"an integer from {low} to {high}, without point or exponent")
    return at.integer(value, low, high)
