"""This module finds the units of a kernel's shared memory: variables that can be moved, each with all that touches it.

Needs a `SharedMemory`; leaves it untouched. Variables that one access may both touch keep their distance, and so do
those that share bytes: they make one unit. An access of unknown address may touch all variables; `attribution` says
what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.reach import Reached
from binalloc.analysis.shared.variables import variables
from binalloc.analysis.sharing.attribution import Attributed, attributed
from binalloc.isa.instruction import SharedVar

ACCESS_BYTES = 16
"""Bytes of the widest access: bytes without a variable keep their address modulo this."""


@dataclass(frozen=True)
class Extent:
    """An extent is a unit: the bytes from its first variable's begin to its last one's end."""

    variables: tuple[SharedVar, ...]  #: by address
    first: int  #: address of its first byte
    size: int  #: bytes
    align: int  #: its address has to stay a multiple of this

    @property
    def names(self) -> list[str]:
        """Return the names of its variables, by address; where it has none, which bytes it is."""
        return [v.name for v in self.variables] or [f"bytes {self.first} to {self.first + self.size - 1}"]


@dataclass(frozen=True)
class Units:
    """The units of a kernel come by address, with the accesses to each."""

    extents: list[Extent]
    accesses: Mapping[str, Mapping[int, int]]  #: by function and word the units that it may touch, as a bitset
    loose: int  #: accesses that may touch bytes of no variable, or beyond the block's
    reached: list[Attributed]  #: all accesses, each with its evidence


def units_of(memory: SharedMemory) -> Units:
    """Return the units of a kernel's shared memory."""
    spans = sorted({(v.offset, v.offset + v.size) for _, v in variables(memory.program) if v.size})
    known = attributed(memory)
    reached = [each.reached for each in known]
    spans = sorted([*spans, *_unnamed(memory, reached, spans)])
    for each in reached:
        touched = [(start, end) for start, end in spans if each.may >> start & (1 << end - start) - 1]
        if touched:
            spans = _joined([*spans, (touched[0][0], max(end for _, end in touched))])
    spans = _joined(spans)
    masks = [(1 << end) - (1 << start) for start, end in spans]
    named = sum(masks)
    accesses: dict[str, dict[int, int]] = {}
    loose = 0
    for each in reached:
        loose += bool(each.may & ~named)
        touching = sum(1 << k for k, mask in enumerate(masks) if each.may & mask)
        accesses.setdefault(each.place.function, {})[each.place.word] = touching
    return Units([_extent(memory, *span) for span in spans], accesses, loose, known)


def _unnamed(
    memory: SharedMemory, reached: list[Reached], named: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the stretches of a block's bytes that lie in no variable, and that an access may touch."""
    found, at = [], 0
    for start, end in [*_joined(named), (memory.reach.size, memory.reach.size)]:
        if at < start and any(each.may >> at & (1 << start - at) - 1 for each in reached):
            found.append((at, start))
        at = max(at, end)
    return found


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of bytes with those together that share bytes, in ascending order."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _extent(memory: SharedMemory, start: int, end: int) -> Extent:
    inside = {(v.offset, v.name): v for _, v in variables(memory.program) if v.size and start <= v.offset < end}
    among = tuple(v for _, v in sorted(inside.items()))
    return Extent(among, start, end - start, max((v.align for v in among), default=ACCESS_BYTES))
