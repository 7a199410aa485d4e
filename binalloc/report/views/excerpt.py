"""Which part of a kernel's call graph a view shows, and source lines beside instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.errors import Hint, UsageError

Ranges = Sequence[tuple[int, int]]
Place = tuple[str, int] | None
"""Source file and line, None where the binary names none."""


@dataclass(frozen=True)
class Excerpt:
    """function: only this one. words, blocks: only these instructions and basic blocks, as pairs of the first and the
    last. None: all."""

    function: str | None = None
    words: Ranges | None = None
    blocks: Ranges | None = None

    def functions(self, program: ProgramAnalysis) -> list[FunctionAnalysis]:
        """Those to show. Raises UsageError where the kernel does not reach `function`."""
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
        """That nothing is there, and what is."""
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
        """Whether it has that instruction of that block; -1 is the entry."""
        return _within(self.words, index) and _within(self.blocks, block)


def _within(ranges: Ranges | None, number: int) -> bool:
    return ranges is None or any(low <= number <= high for low, high in ranges)


EVERYTHING = Excerpt()


class SourceFiles:
    """Source lines in a narrow column: the line alone where there is one file, else the file's number before it."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.names = sorted({place[0] for place in places if place is not None})

    def short(self, place: Place) -> str:
        if place is None:
            return ""
        return str(place[1]) if len(self.names) == 1 else f"{self.names.index(place[0]) + 1}:{place[1]}"

    def legend(self) -> str:
        """Which files they are; "" for none."""
        if len(self.names) < 2:
            return "".join(f"Lines are of {name}.\n" for name in self.names)
        return "".join(f"Lines {k}: are of {name}.\n" for k, name in enumerate(self.names, 1))
