"""What a policy is.

The rows of the table are asked for their names by the command line's help: what searches is imported where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried, Version


@dataclass(frozen=True)
class Choice:
    """tried: the levels looked at. best: the version chosen, None to keep the original (its faster
    order). reason: one sentence. base: which order of the original it was judged against, where nothing was run."""

    tried: list[Tried]
    best: Version | None
    reason: str
    base: Version | None = None


class Policy(Protocol):
    """Chooses registers, slots and the number of blocks. One object of each is in `table`."""

    @property
    def name(self) -> str:
        """As on the command line."""

    @property
    def summary(self) -> str:
        """For the command line's help."""

    @property
    def measures(self) -> bool:
        """Whether levels are run in the emulator, so that a launch is needed; otherwise they are judged by static
        counts."""

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The level to take; it has to be better than `original.base`, which was run if the policy measures. Raises
        Refused."""
