"""Lanes of a warp that reach each other's words: in global and shared memory, and in both by generic addresses.

Each warp has a region of its own in either memory, in which a lane's place is its number times a stride. Under the
model `loom` every access may go to any lane's place at any time: what it finds the order of instructions says. Under
`ptx` a lane writes its own place alone (atomics apart), and accesses to others' stand between WARPSYNCs or barriers
that all lanes come to, so that nothing races.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.support.generator.memory import CONST, IMM, RZ, SR, WIDTHS, Kind
from tests.support.generator.options import REGION, Options
from tests.support.programs.builder import ALWAYS

if TYPE_CHECKING:
    from tests.support.generator.ops import Ops

_MIDDLE = 256
"""Where lane 0's place lies in the region: a lane's accesses go up to so many bytes below its own place, and above."""
_CLEARED = REGION // 32
"""Bytes of a region for each lane."""
_SPACES = {"global": ("LDG", "STG", "ATOMG"), "shared": ("LDS", "STS", "ATOMS"), "generic": ("LD", "ST", "ATOM")}


@dataclass(frozen=True)
class _Place:
    """base: the register, or the first of a pair, that holds the address of the lane's own place. moff: what every
    offset is counted from. stride: between two lanes' places."""

    space: str
    base: int
    moff: int
    stride: int


def neighbour_kinds(ops: Ops, o: Options) -> list[Kind]:
    """(weight, idiom) of what the options ask for."""
    return [(8, partial(neighbours, ops))] if o.neighbours else []


def neighbours(ops: Ops) -> None:
    """Some accesses, one behind the other, in one space."""
    r, o = ops.rng, ops.options
    place = _place(ops)
    if place is None:
        return
    if o.neighbours == "loom":
        for _ in range(r.randrange(2, 7)):
            _between(ops, place)
            _access(ops, place, r.choice(["load", "store"]), own=False)
        return
    together = ops.uniform and not ops.apart
    if not together:
        for _ in range(r.randrange(1, 4)):
            _between(ops, place)
            _access(ops, place, r.choice(["load", "store"]), own=True)
        return
    _meet(ops)
    for kind, own in r.choice([(("store", True), ("load", False)), (("atomic", False), ("load", False))]):
        for _ in range(r.randrange(1, 4)):
            _between(ops, place)
            _access(ops, place, kind, own=own)
        _meet(ops)


def clear_regions(ops: Ops) -> None:
    """At a kernel's start: the warp's region of shared memory is zero, so that nothing is read that nobody wrote."""
    if not ops.options.neighbours:
        return
    place = ops.rng.choice(ops.groups(1)[:-1])
    ops.put("S2R", rd=place, sreg=SR["SR_TID.X"])
    ops.put("LEA", rd=place, ra=place, rb=RZ, shift=_CLEARED.bit_length() - 1)
    for offset in range(0, _CLEARED, 4):
        ops.put("STS", ALWAYS, ra=place, rb=RZ, moff=ops.params.lanes_shared + offset, width=4)
    ops.put("WARPSYNC", ALWAYS, form=IMM, imm=0xFFFFFFFF)


def _place(ops: Ops) -> _Place | None:
    """A lane's own place, its address made anew; None where registers are missing."""
    r, o = ops.rng, ops.options
    space, stride = r.choice(list(_SPACES)), r.choice([4, 4, 8, 16])
    window = "" if space == "global" else "shared" if space == "shared" else r.choice(["global", "shared"])
    base = ops.dst() if space == "shared" else ops.dst(2)
    free = [x for x in ops.groups(1) if not base <= x < base + 2]
    if base == RZ or not free:
        return None
    number = r.choice(free)
    warps = o.block // 32
    ops.put("S2R", rd=number, sreg=SR["SR_WARPID"])
    if space == "shared":
        ops.put("IMAD", rd=base, ra=number, form=IMM, imm=REGION, rc=RZ)
    else:
        if window == "shared":
            ops.put("S2R", rd=base, sreg=SR["SR_SHARED_WINDOW"])
            ops.put("MOV", rd=base + 1, form=IMM, imm=0)
        else:
            for word in (0, 1):
                ops.put("MOV", rd=base + word, form=CONST, cbank=0, coff=ops.params.lanes + 4 * word)
        ops.put("IMAD.WIDE", units=2, rd=base, ra=number, form=IMM, imm=REGION, rc=base)
        if window != "shared":
            ops.put("S2R", rd=number, sreg=SR["SR_CTAID.X"])
            ops.put("IMAD.WIDE", units=2, rd=base, ra=number, form=IMM, imm=warps * REGION, rc=base)
    _own_lane(ops, number)
    if space == "shared":
        ops.put("LEA", rd=base, ra=number, rb=base, shift=stride.bit_length() - 1)
    else:
        ops.put("IMAD.WIDE", units=2, rd=base, ra=number, form=IMM, imm=stride, rc=base)
    return _Place(space, base, _MIDDLE + (ops.params.lanes_shared if window == "shared" else 0), stride)


def _own_lane(ops: Ops, at: int) -> None:
    """Into `at` the lane's number."""
    if ops.rng.random() < 0.7:
        ops.put("S2R", rd=at, sreg=SR["SR_LANEID"])
        return
    ops.put("S2R", rd=at, sreg=SR["SR_TID.X"])
    ops.put("LOP3", rd=at, ra=at, form=IMM, imm=31, lut=0xC0, rc=RZ)


def _access(ops: Ops, place: _Place, kind: str, *, own: bool) -> None:
    """own: to the lane's own place."""
    r = ops.rng
    load, store, atomic = _SPACES[place.space]
    where = {"ra": place.base}
    width, size = r.choice([w for w in WIDTHS if w[1] <= place.stride and (ops.options.wide or w[1] <= 4)])
    units = max(1, size // 4)
    if kind == "atomic" or (ops.options.neighbours == "loom" and ops.options.atomics and r.random() < 0.1):
        moff = place.moff + _distance(ops, place, 4, own=own)
        free = RZ if kind == "atomic" else _free(ops, place, 1)
        ops.put(atomic, ops.guard(), rd=free, **where, rb=ops.src(), moff=moff, aop=r.choice([0, 1, 2]))
        return
    moff = place.moff + _distance(ops, place, size, own=own)
    if kind == "load":
        ops.put(load, ops.guard(), units=units, rd=_free(ops, place, units), **where, moff=moff, width=width)
    else:
        ops.put(store, ops.guard(), **where, rb=ops.src(units), moff=moff, width=width)


def _distance(ops: Ops, place: _Place, size: int, *, own: bool) -> int:
    """Bytes from the own place, a multiple of `size`: in it, or in another lane's near by or far off."""
    r = ops.rng
    inside = size * r.randrange(max(1, place.stride // size))
    if own:
        return inside
    far = (_MIDDLE - 16) // place.stride
    lanes = r.choice([0, 1, -1, r.randrange(-3, 4), min(far, 31), -min(far, 16), r.randrange(-min(far, 16), far + 1)])
    return inside + place.stride * lanes


def _between(ops: Ops, place: _Place) -> None:
    """Now and then a value made of two others."""
    if ops.rng.random() < 0.4:
        ops.put("IADD3", rd=_free(ops, place, 1), ra=ops.src(), rb=ops.src(), rc=RZ)


def _free(ops: Ops, place: _Place, units: int) -> int:
    """A register group to write that is no part of the address."""
    kept = range(place.base, place.base + 2)
    found = [x for x in ops.groups(units) if all(x + k not in kept for k in range(units))]
    return ops.rng.choice(found) if found else RZ


def _meet(ops: Ops) -> None:
    """All lanes of the warp meet, and see what the others did."""
    r = ops.rng
    waits: list[Callable[[], None]] = [
        lambda: ops.put("WARPSYNC", ALWAYS, form=IMM, imm=0xFFFFFFFF),
        lambda: ops.put("BAR", ALWAYS, form=IMM, imm=0),
    ]
    r.choice(waits if r.random() < 0.5 else waits[:1])()
