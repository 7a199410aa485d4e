"""This module reports contradictions between files that are linked: all of them in one error."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import PtxFunction, Variable

_NAMED = 8
"""Further problems that the message quotes at most, so that it stays readable; the others are counted. Chosen by
hand."""


class NotLinkable(MalformedInput):
    """`NotLinkable` is raised where files contradict one another. Its message is the first problem, with the others
    behind it."""

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
        self.problems = list(problems)  #: all problems


def _short(error: MalformedInput) -> str:
    """Return a problem in one line, for the list behind the first one."""
    return ": ".join(part for part in (error.file, error.place, error.message) if part)


def problem(item: PtxFunction | Variable, message: str, found: object, expected: object, remedy: str) -> MalformedInput:
    """Return one problem, located at a declaration."""
    return MalformedInput(
        message, file=item.path or None, place=place_of(item), found=found, expected=expected,
        remedy=remedy or None,
    )  # fmt: skip


def place_of(item: PtxFunction | Variable) -> str:
    return f"line {item.place.line}, column {item.place.column}"


def where(item: PtxFunction | Variable) -> str:
    """Return file and place of a declaration, for a message about another one."""
    return f"{item.path}, {place_of(item)}" if item.path else place_of(item)
