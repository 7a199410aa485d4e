"""This module finds the accesses to the part of shared memory that two blocks share, after variables have been moved.

Needs a `SharedMemory` and its units; leaves both untouched. An access touches the shared part if any byte that it may
reach lies behind the private ones. So accesses to the private end of a variable that lies across the border do not (the
sharing paper leaves that to future work).
"""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.sharing.access_ranges import Accesses
from binalloc.analysis.sharing.units import Units
from binalloc.isa.kinds import Space


def unit_of(units: Units, access: Reached) -> int | None:
    """Return the unit that an access may touch, None where it touches none. It touches no two, or they were one."""
    touched = units.accesses.get(access.place.function, {}).get(access.place.word, 0)
    return touched.bit_length() - 1 if touched else None


def staying(memory: SharedMemory, units: Units) -> int:
    """Return the units that have to keep their addresses, as a bitset.

    They are those of bytes without a name, and those to which an access goes that may go elsewhere, too.
    """
    found = sum(1 << k for k, extent in enumerate(units.extents) if not extent.variables)
    for access in (each.reached for each in units.reached):
        unit = unit_of(units, access)
        beyond = access.may >> memory.reach.size & 1
        if unit is not None and (beyond or access.memory.space == Space.GENERIC):
            found |= 1 << unit
    return found


def aligned(memory: SharedMemory, units: Units) -> list[int]:
    """Return for each unit the number that its distance has to be a multiple of: the alignment of its variables, or the
    bytes of the widest access to it. Code may know more of an address than the variable's alignment says."""
    found = [extent.align for extent in units.extents]
    for access in (each.reached for each in units.reached):
        unit = unit_of(units, access)
        if unit is not None:
            found[unit] = max(found[unit], access.memory.size)
    return found


def touching(memory: SharedMemory, units: Units, distances: Sequence[int], private: int) -> Accesses:
    """Return by function and word 1 where an access may touch the shared part.

    distances: bytes by which each unit is moved. private: bytes in front of the shared part.
    """
    found: dict[str, dict[int, int]] = {}
    for access in (each.reached for each in units.reached):
        unit = unit_of(units, access)
        distance = 0 if unit is None else distances[unit]
        border = private - distance
        if access.may >> max(border, 0):
            found.setdefault(access.place.function, {})[access.place.word] = 1
    return found
