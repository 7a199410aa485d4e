"""Lines of Loom assembly (`.lasm`) are split into tokens here, and errors point to a place in them.

One line is one statement; comments (`//`, `#`, `;`) end it. Needs nothing. `tokens` leaves a list that ends in an `end`
token, so that a parser never runs beyond it.
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
MAX_DIGITS = 100  # of an integer: more than any field needs, and far below the length that Python refuses to convert


class Token(NamedTuple):
    """A token is the smallest piece of a line that has a meaning, such as a name, a number or a punctuation mark."""

    kind: str  #: name, int, float, dot (`.name`), string, punct or end
    text: str
    column: int  #: from 1


class AssemblyPlace:
    """An assembly place is the file and line that an error in assembly points to."""

    __slots__ = ("line", "path")

    def __init__(self, path: str, line: int) -> None:
        self.path = path
        self.line = line

    def fail(
        self, column: int, message: str, *, found: object = None, expected: object = None, remedy: str | None = None
    ) -> NoReturn:
        """Raise MalformedInput for a column of this line. The other arguments are as in `BinallocError`."""
        raise MalformedInput(
            message,
            file=self.path or None,
            place=f"line {self.line}, column {column}",
            found=found,
            expected=expected,
            remedy=remedy,
        )


def tokens(text: str, place: AssemblyPlace) -> list[Token]:
    """Return the tokens of one line, the last of kind `end`. Raises MalformedInput at the first character that begins
    no token."""
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
