"""Foreign text is made fit for a terminal here: names, strings and paths of files and command lines that are not
trusted.

Needs nothing. Leaves text without control characters (escape sequences, newlines), without characters that reorder or
hide others (bidirectional marks, zero-width ones), without lone surrogates, and of bounded length. Everything that is
shown goes through here: error messages by way of `binalloc.errors`, tables by way of `binalloc.report.table`. The last
line of defence are the functions with which the command line writes text to stdout and stderr. JSON has its own
escapes.
"""

from __future__ import annotations

import re

TEXT_LIMIT = 4000  # characters of a message: some tens of lines of a terminal; chosen by hand
WORD_LIMIT = 400  # characters of a word: longer than a usual path or name, and still readable; chosen by hand
_SCAN_LIMIT = 1 << 20  # characters of a text that are searched for long words: bounds the time for hostile texts
_VALUE_LIMIT = 80  # characters of a quoted value: about one line of a terminal
_INTEGER_BITS = 128  # longer integers are not shown in digits (up to 39 here), but as their number of bits

_LONG_WORD = re.compile(rf"\S{{{WORD_LIMIT + 1},}}")  # a word to be cut
# Printable by Unicode's categories, yet without any width of their own.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def one_line(value: object, limit: int = TEXT_LIMIT) -> str:
    """Return `value` as one line of about `limit` characters at most: newlines are escaped, long words cut in the
    middle."""
    text = plain(value)
    if len(text) > WORD_LIMIT:
        text = _LONG_WORD.sub(_cut_word, text[:_SCAN_LIMIT])
    return _cut(_escape(text), limit)


def screen(text: str) -> str:
    """Return our own output of several lines with its newlines; every other character that is not printable is
    escaped."""
    return text if _harmless(text.replace("\n", "")) else "\n".join(_escape(line) for line in text.split("\n"))


def quoted(value: object, limit: int = _VALUE_LIMIT) -> str:
    """Return `value` as Python writes it, cut to about `limit` characters, for messages that show the content of a
    file. Never raises, whatever the value is."""
    try:
        text = plain(value) if isinstance(value, int) else repr(value)
    except Exception:
        text = _no_text(value)
    return _cut(_escape(text), limit)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things in words: "1 run", "8,192 runs". plural: for a noun that does not take an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def plain(value: object) -> str:
    """Return `str(value)`, without ever raising. Python refuses to print integers of thousands of digits, or deep
    nests."""
    if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        return f"an integer of {value.bit_length()} bits"
    try:
        return str(value)
    except Exception:
        return _no_text(value)


def _no_text(value: object) -> str:
    return f"a value of type {type(value).__name__} that has no short text"


def _harmless(text: str) -> bool:
    return text.isprintable() and (text.isascii() or not _INVISIBLE.search(text))


def _escape(text: str) -> str:
    if _harmless(text):
        return text
    return "".join(c if _harmless(c) else c.encode("unicode_escape").decode("ascii") for c in text)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit * 3 // 4]}...{text[-limit // 5 :]}"


def _cut_word(match: re.Match[str]) -> str:
    return _cut(match[0], WORD_LIMIT)
