"""This module plans which variables of a kernel lie over one another in shared memory.

Needs a `SharedMemory`; nothing is changed. Dynamic memory stays behind all static variables, and begins lower where no
access to it may go to a static one, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.place import Place
from binalloc.analysis.sharing.arrivals import Arrivals
from binalloc.analysis.sharing.overlay import Meeting, Meetings, meetings
from binalloc.analysis.sharing.touching import aligned, staying
from binalloc.analysis.sharing.units import ACCESS_BYTES, Extent, Units, units_of
from binalloc.bitset import bits
from binalloc.errors import Refused
from binalloc.isa.kinds import Space
from binalloc.models.sharing.layout import Unit
from binalloc.models.sharing.overlay import overlaid

REMEDY = "Leave shared memory as it is."


@dataclass(frozen=True)
class OverlayPlan:
    """A plan of an overlay says where each variable goes."""

    memory: SharedMemory
    units: Units
    distances: tuple[int, ...]  #: bytes by which each unit is moved
    bytes: int  #: static bytes of a block with it
    exact: bool  #: whether fewer bytes are known to be impossible for these units

    @property
    def before(self) -> int:
        """Return the static bytes of a block without it."""
        return self.memory.reach.size

    @property
    def over(self) -> list[tuple[int, int]]:
        """Return the pairs of units that have bytes in common, in ascending order."""
        at = [e.first + d for e, d in zip(self.units.extents, self.distances, strict=True)]
        ends = [first + e.size for first, e in zip(at, self.units.extents, strict=True)]
        count = len(at)
        return [(j, k) for j in range(count) for k in range(j + 1, count) if at[j] < ends[k] and at[k] < ends[j]]


def overlay_plan(memory: SharedMemory, dynamic: int) -> OverlayPlan:
    """Return the plan with the fewest bytes. dynamic: bytes of dynamic shared memory of the launch.

    Raises Refused where a block needs no byte less: where accesses cannot be attributed to variables, barriers do not
    let all threads wait for one another, or all variables meet.
    """
    units = units_of(memory)
    _require_divided(memory)
    stays = staying(memory, units)
    _require_several(memory, units, stays)
    loose = _loose(memory, units)
    if dynamic and loose is not None:
        raise _refused(memory, loose, "dynamic memory has to stay where it is", "an access that may go there, and to "
                       "static variables", "accesses of known variables")  # fmt: skip
    met = meetings(memory, units)
    sizes = [
        Unit(extent.size, align, extent.first if stays >> k & 1 else None, extent.first % align)
        for k, (extent, align) in enumerate(zip(units.extents, aligned(memory, units), strict=True))
    ]
    found = overlaid(sizes, met.masks)
    saved = memory.reach.size - found.bytes
    saved -= saved % ACCESS_BYTES if dynamic else 0  # dynamic memory stays as aligned as it was
    if saved <= 0:
        raise _nothing_over(memory, units, stays, met)
    distances = tuple(at - extent.first for at, extent in zip(found.places, units.extents, strict=True))
    return OverlayPlan(memory, units, distances, memory.reach.size - saved, found.exact)


def plan_again(memory: SharedMemory, distances: tuple[int, ...], size: int) -> OverlayPlan:
    """Return the plan that a record has. distances: by unit. size: static bytes. Raises Refused where the record is one
    of other variables, or has them outside of the block's memory."""
    units = units_of(memory)
    if len(units.extents) != len(distances):
        raise Refused(
            "the record of an overlay is one of other variables", place=memory.program.graph.kernel,
            found=f"{len(distances)} distances", expected=f"{len(units.extents)}, one for each unit of variables",
            remedy="Give the binary of which it was made.",
        )  # fmt: skip
    ends = [(e.first + by, e.first + by + e.size) for e, by in zip(units.extents, distances, strict=True)]
    if any(first < 0 or end > size for first, end in ends) or size > memory.reach.size:
        raise Refused(
            "the record of an overlay does not fit the kernel", place=memory.program.graph.kernel,
            found=f"distances {list(distances)}, {size} bytes"[:80],
            expected=f"variables that stay in at most {memory.reach.size} bytes",
            remedy="Give the binary of which it was made.",
        )  # fmt: skip
    return OverlayPlan(memory, units, distances, size, False)


def _refused(memory: SharedMemory, place: Place | None, what: str, found: str, expected: str) -> Refused:
    kernel = memory.program.graph.kernel
    where = kernel if place is None else f"{place.function}+{place.word}"
    return Refused(f"no variable can lie over another: {what}", place=where, found=found, expected=expected,
                   remedy=REMEDY)  # fmt: skip


def _require_divided(memory: SharedMemory) -> None:
    """Raise Refused for a barrier that not all threads of the block meet."""
    kept = Arrivals(memory).keeping()
    if kept is not None:
        site, branch = kept
        parted = "" if branch is None else f", as threads part at {branch.function}+{branch.word}"
        raise _refused(memory, site.place, "not all threads of the block meet at a barrier",
                       f"a barrier for some of them{parted}", "barriers of the whole block")  # fmt: skip


def _require_several(memory: SharedMemory, units: Units, stays: int) -> None:
    """Raise Refused for a kernel without two units of which one can be moved."""
    if not units.extents:
        raise _refused(memory, None, "it uses no shared memory", "no variable", "two variables at least")
    movable = [k for k in range(len(units.extents)) if not stays >> k & 1]
    if len(units.extents) > 1 and movable:
        return
    wide = widest(units)
    if len(units.extents) == 1 and (wide is None or len(units.extents[0].variables) < 2):
        found = f"{', '.join(units.extents[0].names)} alone"
        raise _refused(memory, None, "it has only one", found, "two variables at least")
    found = "an access that may go to " + ", ".join(units.extents[0].names if len(units.extents) == 1 else ["any"])
    raise _refused(memory, wide, "accesses cannot be attributed to variables", found, "accesses of known variables")


def widest(units: Units) -> Place | None:
    """Return the access that may go to the most bytes, the first of equal ones; None if there is none."""
    found = max(units.reached, key=lambda each: each.reached.may.bit_count(), default=None)
    return None if found is None else found.reached.place


def _loose(memory: SharedMemory, units: Units) -> Place | None:
    """Return an access that may go to dynamic memory and to static variables; None if there is none."""
    size = memory.reach.size
    for access in (each.reached for each in units.reached):
        static = access.may & (1 << size) - 1
        if access.may >> size and (static or access.memory.space == Space.GENERIC):
            return access.place
    return None


def _nothing_over(memory: SharedMemory, units: Units, stays: int, met: Meetings) -> Refused:
    """Return the error for variables that save no byte, with the reason of the pair that would save the most."""
    extents = units.extents
    count = len(extents)
    pairs = [(j, k) for j in range(count) for k in range(j + 1, count) if not stays >> j & stays >> k & 1]
    best = max(pairs, key=lambda pair: (min(extents[k].size for k in pair), -pair[0], -pair[1]))
    why = met.reasons.get(best)
    if why is None:
        kept = ", ".join(name for k in bits(stays) for name in extents[k].names)
        found = f"accesses that keep {kept} in place" if kept else "other variables that meet both"
        return _refused(memory, None, "no byte would be saved", found, "variables that never meet")
    return _refused(memory, why.second, "they meet", reason_text(why, extents), "a barrier between them")


def reason_text(why: Meeting, extents: list[Extent]) -> str:
    """Return in words why two units meet."""
    one, other = (", ".join(extents[k].names) for k in (why.one, why.other))
    first, second = (f"{place.function}+{place.word}" for place in (why.first, why.second))
    if why.held:
        return f"{other} is written at {second}, while {one} holds what {first} may read afterwards"
    return f"{one} is accessed at {first} and {other} at {second}, with no barrier between them"
