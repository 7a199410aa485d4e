"""This module says which variables each access to shared memory may touch, and on what evidence.

Needs a `SharedMemory`; leaves it untouched. Ranges of values come first: an access that they keep within the variables
that its address was computed from is proved, and so is one within any variables whose address nobody attributes. Where
ranges fail, C's rule is taken: an address that was computed from the symbols of variables is one of theirs
(`Function.touches`). Proofs of the multiplex paper's transformations do not take it, so they use `Reach` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.place import Place
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.variables import bytes_of, overlapping, variables
from binalloc.isa.instruction import DYNAMIC, SharedVar
from binalloc.isa.kinds import Space


class Evidence(StrEnum):
    """The evidence for an access is what its bytes are known by."""

    PROVED = "proved"  #: ranges of values
    SYMBOL = "symbol"  #: C's rule
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Attributed:
    """An attributed access has its evidence."""

    reached: Reached  #: `may` has what both ranges and symbols allow
    evidence: Evidence
    touches: tuple[str, ...]  #: names of the variables, sorted by address, `DYNAMIC` last; none where it is unknown
    #: names of the variables in whose bytes it should be, where ranges prove that it never is
    contradicted: tuple[str, ...] = ()


def attributed(memory: SharedMemory) -> list[Attributed]:
    """Return the accesses of `memory.reach`, in order, each with its evidence."""
    program = memory.program
    among = [v for _, v in variables(program)]
    named = _union(among)
    end = 1 << memory.reach.size  # the bit of all addresses beyond the static bytes
    found = []
    for access in memory.reach.accesses:
        names = symbols_of(program, access.place)
        meant = named_variables(program, access.place, names)
        allowed = _union(meant) | (end if DYNAMIC in names else 0) if meant is not None else 0
        bounded = access.memory.space != Space.GENERIC
        contradicted = bool(allowed and access.may and not access.may & allowed)
        if bounded and not access.may & ~(allowed if allowed and not contradicted else named):
            evidence, reached = Evidence.PROVED, access
        elif allowed and not contradicted:
            evidence, reached = Evidence.SYMBOL, replace(access, may=access.may & allowed)
        else:
            evidence, reached = Evidence.UNKNOWN, access
        touches: tuple[str, ...] = ()
        if evidence != Evidence.UNKNOWN:
            touches = tuple(v.name for v in overlapping(among, reached.may)) + (DYNAMIC,) * bool(reached.may & end)
        found.append(Attributed(reached, evidence, touches, names if contradicted else ()))
    return found


def symbols_of(program: ProgramAnalysis, place: Place) -> tuple[str, ...]:
    """Return the names of the variables from whose symbols the address of an access was computed, if that is known."""
    return program[place.function].fn.touches.get(place.word, ())


def named_variables(program: ProgramAnalysis, place: Place, names: Sequence[str]) -> list[SharedVar] | None:
    """Return the variables that a function means by some names: its own, else the kernel's. Returns None where it means
    nothing by one of them, so that a kernel does not know what is meant."""
    known = {v.name: v for v in program.kernel.fn.shared} | {v.name: v for v in program[place.function].fn.shared}
    wanted = [name for name in names if name != DYNAMIC]
    return [known[name] for name in wanted] if all(name in known for name in wanted) else None


def _union(some: Sequence[SharedVar]) -> int:
    found = 0
    for v in some:
        found |= bytes_of(v)
    return found
