"""PTX text as tokens."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<string>"[^"]*")
      | (?P<hexfloat>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b)
      | (?P<decimal>\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<int>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
      | (?P<dot>\.\d?[A-Za-z_]\w*(?:::\w+)*)
      | (?P<word>[%$_A-Za-z][\w$]*)
      | (?P<punct>[{}()\[\],;:@!|+\-<>=*&])""",
    re.VERBOSE | re.DOTALL,
)
LINE_DIRECTIVES = re.compile(r"^\s*\.(?:loc|file)\b[^\n]*$|^#(?:line)?[ \t]+\d[^\n]*$", re.MULTILINE)


class PtxSyntaxError(Exception):
    """The text is not PTX as this reader knows it."""


def tokenize(text: str) -> list[tuple[str, str]]:
    text = LINE_DIRECTIVES.sub("", text)
    tokens, position = [], 0
    while position < len(text):
        found = TOKEN.match(text, position)
        if found is None:
            raise PtxSyntaxError(f"at {text[position : position + 40]!r}")
        if found.lastgroup != "skip":
            tokens.append((str(found.lastgroup), found.group()))
        position = found.end()
    tokens.append(("end", ""))
    return tokens


def integer(text: str) -> int:
    text = text.rstrip("U")
    if len(text) > 1 and text[0] == "0" and text[1].isdigit():
        return int(text, 8)
    return int(text, 0)
