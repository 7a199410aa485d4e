"""What the checker says of a pair of programs in text."""

from __future__ import annotations

from binalloc.verify.checker import check
from tests.support.programs.builder import program


def verdict(original: str, rewritten: str, kernel: str = "k") -> set[str]:
    """Kinds of the findings."""
    return {e.kind for e in check(program(original), program(rewritten), kernel).errors}


def mapped(text: str) -> str:
    """The text with an identity map, in each function."""
    lines, number = [], 0
    for line in text.strip().splitlines():
        if line.startswith(".") or line.endswith(":"):
            lines.append(line)
            number = 0 if line.startswith((".kernel", ".func")) else number
            continue
        lines.append(f"{number}| {line}")
        number += 1
    return "\n".join(lines)
