"""This module finds which variables of a block's shared memory never hold anything at the same time.

Needs a `SharedMemory` whose barriers all running threads meet (`arrivals`), and its units; leaves both untouched. Two
units *meet*, and may share no byte, in either of two cases:

- Both are accessed in one interval between two barriers: there nothing keeps one thread's access behind another's.
- One holds something across an interval in which the other is written: it may have been written before, and may be read
  afterwards, where not all threads together have surely overwritten it before (`holding`).

What a thread reads that no thread has written is undefined before as after (ISA.md, State and memory).
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.shared.holding import held_bytes
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.overwritten import set_kills
from binalloc.analysis.shared.pieces import Pieces, pieces
from binalloc.analysis.shared.place import Place
from binalloc.analysis.sharing.arrivals import Arrivals
from binalloc.analysis.sharing.intervals import Interval, divided, intervals
from binalloc.analysis.sharing.units import Units
from binalloc.bitset import bits


@dataclass(frozen=True)
class Meeting:
    """A meeting is a reason why two units share no byte."""

    one: int  #: the unit that holds something, or the lower one
    other: int  #: the unit that is accessed meanwhile
    first: Place  #: an access to one: of both between two barriers, or a read of what is held
    second: Place  #: an access to the other
    held: bool  #: whether one holds something across the interval in which the other is written


@dataclass(frozen=True)
class Meetings:
    """The meetings of a kernel's units."""

    masks: list[int]  #: by unit those that it meets, as a bitset
    reasons: dict[tuple[int, int], Meeting]  #: by two units, the lower number first, why they meet


def meetings(memory: SharedMemory, units: Units) -> Meetings:
    """Return which units meet."""
    found = pieces(divided(memory, [each.reached for each in units.reached]))
    held = held_bytes(found, set_kills(found))
    extents = [((1 << e.size) - 1) << e.first for e in units.extents]
    reads, writes = ([_units(extents, getattr(p, name)) for p in found.all] for name in ("reads", "writes"))
    touched = [a | b for a, b in zip(reads, writes, strict=True)]
    readers = {k: _place(found, n) for n in reversed(range(len(found.all))) for k in bits(reads[n])}
    out = Meetings([0] * len(extents), {})
    for each in intervals(found, Arrivals(memory)):
        _beside(found, each, touched, out)
        if each.begin is not None and each.end is not None:
            through = _units(extents, held[each.begin] & held[each.end])
            _across(found, each, through, writes, readers, out)
    return out


def _units(extents: list[int], bytes_: int) -> int:
    """Return the units that have some of these bytes, as a bitset."""
    return sum(1 << k for k, mask in enumerate(extents) if bytes_ & mask)


def _place(found: Pieces, n: int) -> Place:
    return Place(found.memory.program.graph.kernel, found.all[n].start)


def _note(out: Meetings, meeting: Meeting) -> None:
    one, other = meeting.one, meeting.other
    out.masks[one] |= 1 << other
    out.masks[other] |= 1 << one
    out.reasons.setdefault((min(one, other), max(one, other)), meeting)


def _beside(found: Pieces, each: Interval, touched: list[int], out: Meetings) -> None:
    """Note the units that are accessed in one interval."""
    at: dict[int, int] = {}
    for n in sorted(each.pieces):
        for k in bits(touched[n]):
            at.setdefault(k, n)
    for k in sorted(at):
        for j in sorted(at):
            if j < k and not out.masks[j] >> k & 1:
                _note(out, Meeting(j, k, _place(found, at[j]), _place(found, at[k]), held=False))


def _across(
    found: Pieces, each: Interval, through: int, written: list[int], readers: dict[int, Place], out: Meetings
) -> None:
    """Note the units that hold something across an interval in which others are written. through: the former."""
    for n in sorted(each.pieces):
        for k in bits(written[n]):
            for j in bits(through & ~(1 << k)):
                if not out.masks[j] >> k & 1:
                    _note(out, Meeting(j, k, readers[j], _place(found, n), held=True))
