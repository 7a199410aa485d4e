"""This module finds registers and predicates that an edited kernel may write.

Needs a `ProgramAnalysis`; leaves it untouched.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.analysis.locations import location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.isa.interface.places import PRED, PREDICATES


def unused_register(program: ProgramAnalysis) -> int:
    """Return the first register behind those that a program names."""
    return program.isa.highest_register(i for f in program.functions.values() for i in f.fn.instrs) + 1


def free_predicates(live: Iterable[int]) -> list[int]:
    """Return the predicates that hold nothing at some places. live: by place the live locations, as bitsets."""
    held = 0
    for each in live:
        held |= each
    return [p for p in range(PREDICATES) if not held >> location(PRED, p) & 1]
