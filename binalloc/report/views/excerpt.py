"""This module says which part of a kernel's call graph a view shows, and puts source lines beside instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.errors import Hint, UsageError

Ranges = Sequence[tuple[int, int]]
"""Ranges of numbers, as pairs of the first and the last."""
Place = tuple[str, int] | None
"""Source file and line; None where the binary names none."""


@dataclass(frozen=True)
class Excerpt:
    """An excerpt is the part of a kernel's call graph that a view shows."""

    function: str | None = None  #: name of the only function to show; None for all
    words: Ranges | None = None  #: instructions to show; None for all
    blocks: Ranges | None = None  #: basic blocks to show; None for all

    def functions(self, program: ProgramAnalysis) -> list[FunctionAnalysis]:
        """Return the functions to show. Raise UsageError if the kernel does not reach `function`."""
        known = program.functions
        if self.function is None:
            return list(known.values())
        if self.function not in known:
            raise UsageError(
                f"{program.graph.kernel} does not reach such a function",
                place=Hint("{function}"),
                found=self.function,
                expected=", ".join(known),
            )
        return [known[self.function]]

    def empty(self, program: ProgramAnalysis) -> UsageError:
        """Return the error for an excerpt that contains no instruction. It says which numbers there are."""
        known = self.functions(program)
        words, blocks = max(len(f.fn.instrs) for f in known), max(len(f.cfg.blocks) for f in known)
        return UsageError(
            "none of the kernel's functions has such instructions or blocks",
            found="; ".join(
                f"{what} {', '.join(f'{low}-{high}' if low < high else str(low) for low, high in asked)}"
                for what, asked in (("words", self.words), ("blocks", self.blocks))
                if asked is not None
            ),
            expected=f"words 0 to {words - 1}, blocks 0 to {blocks - 1}",
        )

    def shows(self, index: int, block: int) -> bool:
        """Return whether the excerpt contains instruction `index` of a block; -1 is the entry of the function."""
        return _within(self.words, index) and _within(self.blocks, block)


def _within(ranges: Ranges | None, number: int) -> bool:
    return ranges is None or any(low <= number <= high for low, high in ranges)


EVERYTHING = Excerpt()
"""The excerpt that contains all instructions."""


class SourceFiles:
    """The source files of a view are numbered, so that places in them fit a narrow column. With a single file a place
    is its line alone."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.names = sorted({place[0] for place in places if place is not None})

    def short(self, place: Place) -> str:
        """Return a place for the column: `12`, or `2:12` for line 12 of the second file; "" for None."""
        if place is None:
            return ""
        return str(place[1]) if len(self.names) == 1 else f"{self.names.index(place[0]) + 1}:{place[1]}"

    def legend(self) -> str:
        """Return a line for each file with its number; "" without files."""
        if len(self.names) < 2:
            return "".join(f"Lines are of {name}.\n" for name in self.names)
        return "".join(f"Lines {k}: are of {name}.\n" for k, name in enumerate(self.names, 1))
