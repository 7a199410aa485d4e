"""The timing parameters that control codes are written for: unit latencies, and which results need a scoreboard.

These are the contract's words ("Control codes" in ISA.md) for whoever schedules, checks or emulates; the figures come
from a machine model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.isa.table import fields

UNIT_CLASSES = ("alu", "imad", "fma", "conv", "sfu", "dp", "lsu", "tex", "bru", "bar", "sys")
"""Execution unit classes: where an opcode says `unit`, and where a machine says what it has."""
SCOREBOARDS = fields.SCOREBOARDS
NO_SCOREBOARD = fields.NO_BARRIER
LONGEST_STALL = 15
"""Cycles one stall count can say; a slower result is variable."""


@dataclass(frozen=True)
class UnitLatencies:
    """Cycles from issue to result by execution unit class, of the machine called `machine`."""

    machine: str
    cycles: Mapping[str, int]


def by_scoreboard(variable: bool, cycles: int) -> bool:
    """Whether a result is *variable*: its operation is marked so, or its unit is slower than a stall count can say."""
    return variable or cycles > LONGEST_STALL
