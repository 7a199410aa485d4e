"""This module finds registers and predicates that an edited kernel may write.

Needs a `ProgramAnalysis`; leaves it untouched.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.analysis.locations import location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.errors import Refused
from binalloc.isa.interface.places import PRED, PREDICATES


def unused_register(program: ProgramAnalysis) -> int:
    """Return the first register behind those that a program names."""
    return program.isa.highest_register(i for f in program.functions.values() for i in f.fn.instrs) + 1


def allowed(register: int, program: ProgramAnalysis, what: str) -> int:
    """Return a new register. what: what new registers are for. Raises Refused if no thread may have so many."""
    if register >= program.isa.limits.zero:
        raise Refused("the kernel has too many registers", place=program.graph.kernel,
                      found=f"{register} registers without those for {what}", expected=f"fewer than {register}",
                      remedy="Rewrite it for fewer registers first.")  # fmt: skip
    return register


def free_predicates(live: Iterable[int]) -> list[int]:
    """Return the predicates that hold nothing at some places. live: by place the live locations, as bitsets."""
    held = 0
    for each in live:
        held |= each
    return [p for p in range(PREDICATES) if not held >> location(PRED, p) & 1]
