"""Two small kernels written as one: the original, and what was made of it."""

from __future__ import annotations

from binalloc.verify.report import CheckReport


def both_kernels(text: str) -> tuple[list[str], list[str]]:
    """The lines of the original, and those of the new kernel with the original's words in front.

    Lines begin with `-|` where they were inserted, with `o|` where they are only in the original, and `o| x => y` is
    the original's x and the new kernel's y.
    """
    old_lines: list[str] = []
    new_lines: list[str] = []
    number = 0
    for line in filter(None, map(str.strip, text.split("\n"))):
        old, arrow, other = line.removeprefix("o| ").partition(" => ")
        if line.endswith(":"):
            old_lines.append(line)
            new_lines.append(line)
        elif line.startswith("-| "):
            new_lines.append(line)
        else:
            old_lines.append(old)
            if arrow or not line.startswith("o| "):
                new_lines.append(f"{number}| {other or old}")
            number += 1
    return old_lines, new_lines


def kinds(report: CheckReport) -> set[str]:
    """The kinds of findings; an internal one is a defect of the checker."""
    assert "internal" not in {error.kind for error in report.errors}, str(report)
    return {error.kind for error in report.errors}
