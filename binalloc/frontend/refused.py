"""This module describes the kernels of a PTX module that cannot be imported, with every reason found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.errors import BinallocError, MalformedInput


@dataclass(frozen=True)
class Refusal:
    """A refusal is one reason why a kernel cannot be imported."""

    function: str  #: the .entry or .func in which the reason was found
    error: BinallocError


@dataclass(frozen=True)
class NotImported:
    """A kernel is left out if it cannot be imported. It has at least one refusal."""

    kernel: str
    refusals: tuple[Refusal, ...]  #: all reasons found in the kernel and in the functions of its call graph


class NotImportable(MalformedInput):
    """`NotImportable` is raised where some kernels cannot be imported.

    Its message is the first reason. The remedy says how many further reasons there are.
    """

    def __init__(self, left_out: Sequence[NotImported], importable: Sequence[str]) -> None:
        first = left_out[0].refusals[0].error
        super().__init__(
            first.message, file=first.file, place=first.place, found=first.found, expected=first.expected,
            remedy=first.remedy,
        )  # fmt: skip
        self.left_out = list(left_out)  #: all kernels that cannot be imported, with all reasons
        self.importable = list(importable)  #: names of the other kernels that were wanted
        found = {id(r.error): r.error for left in left_out for r in left.refusals}
        others = [error for error in found.values() if error is not first]
        if others:
            places = ", ".join(dict.fromkeys(_where(error, first.file) for error in others[:_NAMED]))
            further = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            reasons = "One further reason" if len(others) == 1 else f"{len(others)} further reasons"
            self.also(f"{reasons}: {places}{further}.")

    def also(self, sentence: str) -> None:
        """Add a sentence to the remedy."""
        self.remedy = f"{self.remedy} {sentence}" if self.remedy else sentence


def _where(error: BinallocError, file: str | None) -> str:
    """Return the place of an error, with its file where that is not `file`."""
    place = error.place or error.message
    return place if error.file == file else f"{error.file}: {place}"


_NAMED = 3
"""Further reasons whose places the message names at most, so that it stays a sentence. Chosen by hand."""
