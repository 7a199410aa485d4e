"""This module finds the variables that lie in some bytes of shared memory.

Needs a `ProgramAnalysis`; leaves it untouched. Variables of different functions may share bytes.
"""

from __future__ import annotations

from binalloc.analysis.program import ProgramAnalysis
from binalloc.isa.instruction import SharedVar


def variables(program: ProgramAnalysis) -> list[tuple[str, SharedVar]]:
    """Return the shared variables with the functions that have them, callers first and by address."""
    return [(name, v) for name, f in program.functions.items() for v in sorted(f.fn.shared, key=lambda v: v.offset)]


def bytes_of(variable: SharedVar) -> int:
    """Return the bytes of a variable as a bitset."""
    return (1 << variable.size) - 1 << variable.offset


def container(among: list[SharedVar], touched: int) -> SharedVar | None:
    """Return the only variable that contains some bytes, if there are any."""
    found = {v.name: v for v in among if touched and not touched & ~bytes_of(v)}
    return next(iter(found.values())) if len(found) == 1 else None


def overlapping(among: list[SharedVar], touched: int) -> list[SharedVar]:
    """Return the variables that have one of some bytes, by address."""
    found = {v.name: v for v in among if touched & bytes_of(v)}
    return sorted(found.values(), key=lambda v: (v.offset, v.name))
