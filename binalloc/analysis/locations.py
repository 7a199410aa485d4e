"""This module numbers the locations in which a thread's values lie, so that sets of locations are Python ints (bit n =
location n).

Needs nothing; leaves pure functions. Three files share the numbering of `isa.interface.places`: registers, predicates,
and 32-bit local-memory words lifted to values ("L"), word k of the thread's local memory at LOCAL_BASE + k. A register
that is always zero and a predicate that always holds are constants, not locations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NewType, cast

from binalloc.bitset import bits
from binalloc.isa.interface.places import ALL_PREDICATES, LOCAL, LOCAL_BASE, MOST_REGISTERS, PRED, PRED_BASE, REG, WORD
from binalloc.isa.kinds import File

Location = NewType("Location", int)
"""Number of a location: bit n of a set stands for location n."""

REG_MASK = (1 << MOST_REGISTERS) - 1  # the set of all registers
PRED_MASK = ALL_PREDICATES << PRED_BASE  # the set of all predicates


locations_in = cast(Callable[[int], list[Location]], bits)
"""The locations in a set, ascending: `bits` with the type that it has here."""

span = cast(Callable[[int, int], Sequence[Location]], range)
"""Consecutive locations, the first included, the second not: `range` with the type that it has here."""


def location(file: File, index: int) -> Location:
    """Return the location of register, predicate or local word `index` of `file` ("R", "P", "L")."""
    if file == REG:
        return Location(index)
    return Location((PRED_BASE if file == PRED else LOCAL_BASE) + index)


def file_of(loc: Location) -> File:
    """Return the file of a location: "R", "P" or "L"."""
    return REG if loc < PRED_BASE else PRED if loc < LOCAL_BASE else LOCAL


def index_of(loc: Location) -> int:
    """Return the architectural number of a location within its file."""
    return loc if loc < PRED_BASE else loc - PRED_BASE if loc < LOCAL_BASE else loc - LOCAL_BASE


def name_of(loc: Location) -> str:
    """Return "R5", "P0", or "L[0x10]" (byte offset of a local word)."""
    file = file_of(loc)
    return f"L[{WORD * index_of(loc):#x}]" if file == LOCAL else f"{file}{index_of(loc)}"


def names(mask: int) -> list[str]:
    """Return the names of the locations in a set, in numbering order (registers, predicates, local words)."""
    return [name_of(loc) for loc in locations_in(mask)]


def words(mask: int) -> int:
    """Return how many of the locations in the set hold a 32-bit word, that is all but predicates."""
    return (mask & ~PRED_MASK).bit_count()
