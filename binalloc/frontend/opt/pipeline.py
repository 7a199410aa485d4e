"""The passes over a routine, in order."""

from __future__ import annotations

from binalloc.frontend.ir import Routine


def optimise(routine: Routine) -> None:
    """Improve `routine` in place."""
