"""This module reads the TOML of launch and machine files. Size and shape are bounded before the parser sees the text.

Leaves a plain dict, or one error that names the file. The schema of each format checks the values in the dict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from binalloc.errors import MalformedInput, UsageError
from binalloc.files import text_of
from binalloc.printable import plain

MAX_BYTES = 1 << 17  # bytes of a file: 28 times the longest sample's, and the parser is done at once; chosen by hand
KEY_PARTS = 32  # parts of a dotted key: no format of ours nests as deep; see below for why there is a limit
# A key `a.b.c` of many parts: Python's parser takes time quadratic in their number.
_LONG_KEY = re.compile(rf"""(?<![\w"'.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{KEY_PARTS}}}""")


def read_toml(path: str | Path, kind: str, number: Callable[[str], float] = float) -> dict[str, Any]:
    """Return the table in the file.

    kind: "launch file" or "machine file", for messages. number: makes the value of a float from its text in the file.

    Raises UsageError where the file cannot be read, MalformedInput where it is not TOML or too long.
    """
    name = plain(path)
    if name == "-":
        raise UsageError(
            f"a {kind} is not read from standard input", found="-", expected="a file's name",
            remedy="Give its path; /dev/stdin is one.",
        )  # fmt: skip
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot read the {kind}", file=name, found=reason, remedy="Check path and permissions."
        ) from error
    if len(data) > MAX_BYTES:
        raise MalformedInput(f"the {kind} is too long", file=name, expected=f"at most {MAX_BYTES} bytes")
    try:
        text = text_of(data)
        if (key := _LONG_KEY.search(text)) is not None:
            place = f"line {text.count(chr(10), 0, key.start()) + 1}"
            raise MalformedInput(
                f"a key of the {kind} has too many parts", file=name, place=place, expected=f"at most {KEY_PARTS}"
            )
        return tomllib.loads(text, parse_float=number)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, bad UTF-8, an integer of thousands of digits
        raise MalformedInput(
            f"the {kind} is not TOML", file=name, found=plain(error) or type(error).__name__,
            remedy="Mend the syntax at the place named.",
        ) from error
