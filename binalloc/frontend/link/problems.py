"""What is wrong between files that are linked: all of it in one error."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import Function, Variable

_NAMED = 8
"""Further problems that the message tells; the others it counts."""


class NotLinkable(MalformedInput):
    """Files that contradict one another. Reads as the first problem does, with the others behind it; problems has them
    all."""

    def __init__(self, problems: Sequence[MalformedInput]) -> None:
        first = problems[0]
        further = [_short(p) for p in problems[1 : _NAMED + 1]]
        if len(problems) > _NAMED + 1:
            further.append(f"and {len(problems) - _NAMED - 1} more")
        remedy = first.remedy or ""
        if further:
            remedy = f"{remedy} Further: {'; '.join(further)}.".strip()
        super().__init__(
            first.message, file=first.file, place=first.place, found=first.found, expected=first.expected,
            remedy=remedy or None,
        )  # fmt: skip
        self.problems = list(problems)


def _short(error: MalformedInput) -> str:
    """A problem behind another one."""
    return ": ".join(part for part in (error.file, error.place, error.message) if part)


def problem(item: Function | Variable, message: str, found: object, expected: object, remedy: str) -> MalformedInput:
    """One problem, at a declaration."""
    return MalformedInput(
        message, file=item.path or None, place=place_of(item), found=found, expected=expected,
        remedy=remedy or None,
    )  # fmt: skip


def place_of(item: Function | Variable) -> str:
    return f"line {item.place.line}, column {item.place.column}"


def where(item: Function | Variable) -> str:
    """File and place of a declaration, for a message about another one."""
    return f"{item.path}, {place_of(item)}" if item.path else place_of(item)
