"""Control codes are written for these timing parameters: unit latencies, and the results that need a scoreboard.

They are the terms of ISA.md, Control codes, for all code that schedules, checks or emulates; the figures come from a
machine model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.isa.table import fields

UNIT_CLASSES = ("alu", "imad", "fma", "conv", "sfu", "dp", "lsu", "tex", "bru", "bar", "sys")
"""Execution unit classes: an opcode names one as its `unit`, and a machine gives each its latency."""
SCOREBOARDS = fields.SCOREBOARDS  # scoreboards of a warp
NO_SCOREBOARD = fields.NO_BARRIER  # number of no scoreboard
LONGEST_STALL = 15  # cycles: the greatest stall count of 4 bits; a slower result is variable


@dataclass(frozen=True)
class UnitLatencies:
    """A machine's unit latencies are the cycles from issue to result for each class of execution units."""

    machine: str  #: name of the machine
    cycles: Mapping[str, int]  #: by unit class: cycles from issue to result


def by_scoreboard(variable: bool, cycles: int) -> bool:
    """Return whether a result is *variable*: its operation is marked so, or its unit is slower than the longest
    stall."""
    return variable or cycles > LONGEST_STALL
