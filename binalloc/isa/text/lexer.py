"""Tokens of Loom assembly (`.lasm`) and the errors that point into it.

One line is one statement; comments (`//`, `#`, `;`) end it. Needs nothing; `tokens` leaves a list that ends in an
`end` token, so that a parser never runs off it.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from binalloc.errors import MalformedInput

# The order matters: hexadecimal before decimal, floats before integers, `.name` before names.
_TOKEN = re.compile(
    r"""[ \t]*(?:
      (?P<name>[A-Za-z_$][\w$.]*)
    | (?P<int>0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+(?![\w.]))
    | (?P<float>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[fd]?(?![\w.]))
    | (?P<dot>\.[A-Za-z_$][\w$.]*)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<punct>[\[\](){}|@!,:+\-*&])
    | (?P<end>(?://|\#|;).*|$)
    )""",
    re.VERBOSE | re.ASCII,
)
MAX_DIGITS = 100  # of an integer: more than any field needs, and far from Python's limit on conversions


class Token(NamedTuple):
    """kind: name, int, float, dot (`.name`), string, punct, end. column counts from 1."""

    kind: str
    text: str
    column: int


class AssemblyPlace:
    """Where an assembler error points: file and line."""

    __slots__ = ("line", "path")

    def __init__(self, path: str, line: int) -> None:
        self.path = path
        self.line = line

    def fail(
        self, column: int, message: str, *, found: object = None, expected: object = None, remedy: str | None = None
    ) -> NoReturn:
        raise MalformedInput(
            message,
            file=self.path or None,
            place=f"line {self.line}, column {column}",
            found=found,
            expected=expected,
            remedy=remedy,
        )


def tokens(text: str, place: AssemblyPlace) -> list[Token]:
    """The tokens of one line, the last of kind `end`. Raises MalformedInput at the first character of no token."""
    out: list[Token] = []
    at = 0
    match = _TOKEN.match
    while True:
        m = match(text, at)
        if m is None:
            rest = text[at:].lstrip()
            column = len(text) - len(rest) + 1
            place.fail(column, "not a token", found=repr(rest[:12]), expected="a mnemonic, operand or directive")
        kind = m.lastgroup
        assert kind is not None
        start = m.start(kind)
        if kind == "int" and m.end(kind) - start > MAX_DIGITS:
            found, most = f"{m.end(kind) - start} digits", f"at most {MAX_DIGITS} digits"
            place.fail(start + 1, "number too long", found=found, expected=most)
        out.append(Token(kind, m.group(kind), start + 1))
        if kind == "end":
            return out
        at = m.end()
