"""This module splits a PTX text into tokens, and raises errors that point into the text.

It needs the whole text in memory. `PtxSource` turns offsets into positions and raises every error of the parser.
`TokenCursor` is a cursor over the text with one token of lookahead. Whatever the input is, the only exception raised is
MalformedInput.

body.py reads the regular statements of a function body by itself, without this module.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from binalloc.errors import MalformedInput
from binalloc.frontend.ignored import FORMS, Ignored
from binalloc.frontend.ptx.ast import TextPosition
from binalloc.frontend.unsupported import BY_KEY, NotSupported

COMMENT = r"//[^\n]*+|/\*[^*]*+(?>(?:\*(?!/)[^*]*+)*)\*/|(?<![^\n])\#(?:line)?[ \t]++\d[^\n]*+"
"""This pattern matches comments. It also matches a preprocessor's line markers (`# 3 "a.cu"`, `#line 3`), which begin a
line of text."""

SKIP = rf"(?>(?:[ \t\r\n\f\v]++|{COMMENT}|@@DWARF[^\n]*+)*)"
"""This pattern matches white space and comments. It never backtracks, so its time is linear in the input. Groups are
atomic, `(?>...)`: `(...)*+` should mean the same, but is wrong for groups with alternatives before Python 3.11.5.
`@@DWARF` begins a line of debug data in PTX before 2.0."""

IDENTIFIER = r"(?:[A-Za-z][\w$]*+|[_$%][\w$]++)"
"""This pattern matches an identifier (PTX ISA, section 4.4)."""

SELECTOR = r"b[0-7]{4}|b(?=\d)3?2?1?0?|h[0-3]{1,2}"
"""This pattern matches the selector of register parts in a video instruction: `b3`, `b7610`, `h1`, `h32`. A destination
may also have `b20`."""

NAME = rf"(?:{IDENTIFIER}|_)(?>(?:\.(?:[xyzwrgba]|\d++|{SELECTOR})(?![\w$]))*)"
"""This pattern matches a name. It may have the component of a vector (`%tid.x`), the scope number in a flattened dump
(`p.1`), or a selector."""

_TOKEN = re.compile(
    rf"""{SKIP}(?:
      (?P<number>(?:0[fF][0-9A-Fa-f]{{8}} | 0[dD][0-9A-Fa-f]{{16}} | 0[xX][0-9A-Fa-f]++U? | 0[bB][01]++U?
        | (?:\d++\.\d*+ | \.\d++)(?:[eE][+-]?\d++)? | \d++[eE][+-]?\d++ | \d++U?)(?![\w$.]))
    | (?P<name>{NAME})
    | (?P<directive>\.[A-Za-z_][\w$]*+(?>(?:::\w++)*))
    | (?P<string>"[^"\n]*+")
    | (?P<punct><<|>>|<=|>=|==|!=|&&|\|\||[\[\](){{}}<>|@!,:;+\-*/%&^~?=])
    | (?P<end>\Z)
    | (?P<bad>.)
    )""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)

_WORD = re.compile(r"[\w$%.]+", re.ASCII)
_LINE_SHOWN = 100  # characters of the text line that an error quotes at most, so that it stays one line
_FOUND_SHOWN = 60  # characters of the found word that an error quotes at most, likewise


class PtxSource:
    """A source is a text with its path.

    Args:
        text: the whole PTX text.
        path: the file it came from, for messages; may be empty.
    """

    __slots__ = ("_starts", "ignored", "path", "text")

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self._starts: list[int] | None = None
        self.ignored: list[Ignored] = []

    @property
    def starts(self) -> list[int]:
        """Return the offsets at which lines begin."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        return self._starts

    def place(self, at: int) -> TextPosition:
        """Return the line and column of the offset `at`."""
        line = bisect_right(self.starts, at)
        return TextPosition(line, at - self.starts[line - 1] + 1)

    def line_at(self, at: int) -> str:
        """Return the text line around `at`, trimmed, at most 100 characters of it."""
        line = bisect_right(self.starts, at)
        begin = self.starts[line - 1]
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        if end - begin > _LINE_SHOWN:
            begin = max(begin, min(at - _LINE_SHOWN // 2, end - _LINE_SHOWN))
            end = begin + _LINE_SHOWN
        return " ".join(self.text[begin:end].split())

    def ignore(self, at: int, key: str, text: str) -> None:
        """Record that the directive at offset `at` is ignored. key: of `ignored.FORMS`. text: the directive for
        messages."""
        assert key in FORMS
        self.ignored.append(Ignored(key, " ".join(text.split()), self.place(at).line))

    def fail(
        self,
        at: int,
        message: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
        form: str = "",
    ) -> NoReturn:
        """Raise MalformedInput at offset `at`.

        found: text that the message quotes within its line; the word at the offset by default. form: a key of
        `unsupported.FORMS`, for valid PTX that is refused. With a form the error is NotSupported.
        """
        at = min(max(at, 0), len(self.text))
        if found is None:
            m = _WORD.match(self.text, at)
            found = m.group() if m else self.text[at : at + 1]
        shown = f"{found[:_FOUND_SHOWN]!r}" if found else "the end of the text"
        line = self.line_at(at)
        if line and line != found:
            shown += f" in {line!r}"
        place = f"line {self.place(at).line}, column {self.place(at).column}"
        if form:
            raise NotSupported(
                BY_KEY[form], message, file=self.path or None, place=place, found=shown, expected=expected
            )  # fmt: skip
        raise MalformedInput(
            message,
            file=self.path or None,
            place=place,
            found=shown,
            expected=expected,
            remedy=remedy,
        )


class TokenCursor:
    """A cursor reads the tokens of a source. `kind`, `value` and `at` (an offset) describe the next token, not yet
    taken.

    kind: number, name, directive (`.reg`), string (with its quotes), punct, end (of the text), bad (no token begins
    with this character).
    """

    __slots__ = ("_next", "at", "kind", "source", "value")

    def __init__(self, source: PtxSource, at: int) -> None:
        self.source = source
        self._next = at
        self.advance()

    def advance(self) -> None:
        """Take the token."""
        m = _TOKEN.match(self.source.text, self._next)
        assert m is not None
        assert m.lastgroup is not None
        kind = m.lastgroup
        self.kind = kind
        self.value = m.group(kind)
        self.at = m.start(kind)
        self._next = m.end()

    def jump(self, at: int) -> None:
        """Go on at the offset `at`."""
        self._next = at
        self.advance()

    def take(self) -> str:
        """Take the token and return its text."""
        value = self.value
        self.advance()
        return value

    def accept(self, value: str) -> bool:
        """Take the token if it reads `value`, and return whether it did."""
        if self.value == value:
            self.advance()
            return True
        return False

    def expect(self, value: str, after: str = "") -> None:
        """Take `value` or fail. after: what it should follow, for the message."""
        if self.value != value:
            self.unexpected(f"{value!r}" + (f" {after}" if after else ""))
        self.advance()

    def name(self, what: str) -> str:
        """Take a name or fail. what: the meaning of the name, for the message."""
        if self.kind != "name":
            self.unexpected(what)
        return self.take()

    def unexpected(self, expected: str) -> NoReturn:
        """Raise MalformedInput at the next token, which differs from the expected one."""
        found = self.value
        if self.source.text.startswith("/*", self.at):
            self.source.fail(self.at, "comment without end", found="/*", expected="'*/'")
        if self.kind == "bad" and found == '"':
            self.source.fail(self.at, "string without end", found='"', expected="'\"' on the same line")
        self.source.fail(
            self.at,
            "unexpected text" if self.kind != "end" else "unexpected end of the text",
            found=found if self.kind != "bad" else None,
            expected=expected,
        )
