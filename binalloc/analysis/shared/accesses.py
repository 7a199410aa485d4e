"""This module lists a kernel's accesses to shared memory, and the variables that they are known to reach.

Needs a `ProgramAnalysis`; leaves it untouched. Addresses in code are bare numbers: only the table of variables says
what lies where. So an access has a variable only if its address is a known number. An address that is computed from a
variable's may leave the variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.residues import WORD_BITS
from binalloc.analysis.shared.place import Place
from binalloc.isa.instruction import SharedVar
from binalloc.isa.interface.view import Memory
from binalloc.isa.kinds import Space


@dataclass(frozen=True)
class SharedAccess:
    """A shared access may go to the shared memory of its block."""

    place: Place
    memory: Memory  #: the access; a generic one may go elsewhere
    address: int | None  #: address of its first byte in all threads; None where that is not known
    variable: SharedVar | None  #: the variable that contains all of its bytes; None where none is known to


def shared_accesses(program: ProgramAnalysis) -> list[SharedAccess]:
    """Return the accesses in reachable code, without those to slots, callers first and in order of words."""
    found, declared = [], [v for _, v in variables(program)]
    for name, f in program.functions.items():
        for word, seen in enumerate(f.cfg.views):
            memory = seen.memory
            if memory is None or memory.spill or not f.cfg.reachable(word):
                continue
            if memory.space in (Space.SHARED, Space.GENERIC):
                address = _address(f, word) if memory.space == Space.SHARED else None
                variable = None if address is None else _variable(declared, address, memory.size)
                found.append(SharedAccess(Place(name, word), memory, address, variable))
    return found


def _address(f: FunctionAnalysis, word: int) -> int | None:
    """Return the address of an access if it is a number."""
    residue = f.addresses[word]
    return residue.constant if residue.bits == WORD_BITS and not residue.terms else None


def variables(program: ProgramAnalysis) -> list[tuple[str, SharedVar]]:
    """Return the shared variables with the functions that have them, callers first and by address."""
    return [(name, v) for name, f in program.functions.items() for v in sorted(f.fn.shared, key=lambda v: v.offset)]


def _variable(declared: Sequence[SharedVar], address: int, size: int) -> SharedVar | None:
    """Return the only variable that contains the bytes. Variables of different functions may share bytes."""
    found = {v.name: v for v in declared if v.offset <= address and address + size <= v.offset + v.size}
    return next(iter(found.values())) if len(found) == 1 else None
