"""A policy chooses the number of blocks per SM for a kernel.

The command line's help loads all policies for their names. So a policy imports what its search needs inside functions.
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
    """A choice is the result of a policy's search."""

    tried: list[Tried]  #: levels looked at
    best: Version | None  #: the version chosen; None to keep the original, in its faster order
    reason: str  #: one sentence
    base: Version | None = None  #: the order of the original that versions were compared with, if nothing was run


class Policy(Protocol):
    """A policy chooses registers, slots and the number of blocks. `table` has one object of each."""

    @property
    def name(self) -> str:
        """Return the name on the command line."""

    @property
    def summary(self) -> str:
        """Return a summary for the command line's help."""

    @property
    def measures(self) -> bool:
        """Return whether levels are run in the emulator, so that a launch is needed; otherwise nothing is run."""

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the level to take.

        It has to be better than `original.base`, which was run if the policy measures. Raises Refused.
        """
