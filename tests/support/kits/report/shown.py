"""What a page shows of a command, against what the command prints."""

from __future__ import annotations

import re


def shows(expected: str, text: str) -> bool:
    """Whether `expected` describes `text`. A line of three dots stands for any number of lines, blanks at the ends of
    lines for nothing."""
    shown = [line.rstrip() for line in expected.splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in shown)
    lines = "".join(line.rstrip() + "\n" for line in text.splitlines())
    return re.fullmatch(pattern, lines) is not None
