"""Numbers of text files are read here, line by line. One that does not fit is refused with its line.

Needs the checks of single values. Leaves true: a number fits the argument's type, and no more of a file is read than
the argument takes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from binalloc.errors import MalformedInput
from binalloc.launch.numbers.decimals import WrittenFloat
from binalloc.launch.numbers.dtypes import Array, Number, kind_of, rounded
from binalloc.launch.values import At, a_value
from binalloc.printable import quoted

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]+", re.ASCII)
_REAL = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)
"""Decimal floats, infinities and NaN, as Python reads them without underlines."""
_TRUTHS = {"0": False, "1": True, "false": False, "true": True}  # truth values by their text in lower case
_ESCAPED = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as Python's error handler surrogateescape reads them."""
_LINE = 1 << 20  # characters of a line: bounds the memory for a file without newlines; chosen by hand
_DIGITS = 400  # characters of a number: no value of 64 bits needs as many, and longer ones take time to convert


def read_text(path: Path, delimiter: str, skip: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return the numbers of a text file in C order, in each line separated by a delimiter. Where the array has more
    than one axis, each line has as many numbers as the last axis. Empty lines, and those that begin with #, are
    skipped."""
    count, width = math.prod(shape), shape[-1] if len(shape) > 1 else None
    numbers: list[Number] = []
    for line, text in _lines(path, skip):
        items = text.split(delimiter)
        if width is not None and len(items) != width:
            expected = f"{width}, apart by {quoted(delimiter)}"
            raise MalformedInput(f"line {line} has another number of values", found=len(items), expected=expected)
        if len(numbers) + len(items) > count:
            raise MalformedInput(f"more values than the argument has, from line {line} on", expected=f"{count} in all")
        numbers += [_number(item.strip(), dtype, line, k) for k, item in enumerate(items, 1)]
    if len(numbers) != count:
        raise MalformedInput("fewer values than the argument has", found=len(numbers), expected=f"{count}")
    return rounded(numbers, dtype).reshape(shape)


def _lines(path: Path, skip: int) -> Iterator[tuple[int, str]]:
    """Yield numbers of lines, from 1, and their text."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline=None) as stream:
        line = 0
        while text := stream.readline(_LINE):
            line += 1
            if len(text) == _LINE:
                raise MalformedInput(f"line {line} is too long", expected=f"fewer than {_LINE} characters")
            if not text.isascii() and _ESCAPED.search(text):
                raise MalformedInput(f"line {line} is not text", expected="UTF-8", remedy="Save the file as UTF-8.")
            text = text.strip()
            if line > skip and text and not text.startswith("#"):
                yield line, text


def _number(text: str, dtype: str, line: int, column: int) -> Number:
    """Return the number in a text, of the argument's type."""
    kind = kind_of(dtype)
    value: Number | list[float] | None = None
    if len(text) <= _DIGITS:
        if kind == "b":
            value = _TRUTHS.get(text.lower())
        elif kind == "c":
            value = _complex(text)
        elif kind == "f" and _REAL.fullmatch(text):
            value = WrittenFloat(text)
        elif kind in "iu" and _INTEGER.fullmatch(text):
            value = int(text)
        elif kind in "iu" and _HEXADECIMAL.fullmatch(text):
            value = int(text, 16)
        elif kind in "iu" and _REAL.fullmatch(text):
            value = float(text)  # refused later, with a message for floats
    if value is None:
        raise MalformedInput(
            f"line {line}, value {column}: not a number", found=quoted(text), expected=f"one of type {dtype}"
        )
    try:
        return a_value(value, dtype, At("", f"line {line}, value {column}"))
    except MalformedInput as error:
        error.message = f"{error.place}: {error.message}"
        raise


def _complex(text: str) -> list[float] | None:
    """Return the two parts of a complex number as Python writes it, `1+2j` or `(1+2j)`, in plain digits."""
    if not text.isascii() or "_" in text:
        return None
    try:
        complex(text)
    except ValueError:
        return None
    plain = text.strip("() \t")
    if plain[-1] not in "jJ":
        return [WrittenFloat(plain), 0.0]
    plain = plain[:-1]
    between = [k for k, c in enumerate(plain) if c in "+-" and k > 0 and plain[k - 1] not in "eE"]
    split = between[-1] if between else 0
    real, imaginary = plain[:split], plain[split:]
    return [WrittenFloat(real or "0"), WrittenFloat(f"{imaginary}1" if imaginary in ("", "+", "-") else imaginary)]
